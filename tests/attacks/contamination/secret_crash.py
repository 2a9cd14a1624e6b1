# tries: as the one before, and to leave no time for tidying up: it crashes with its secret everywhere
# stopped by: separation cleaning
# ends: signalled 139
import ctypes
import sys

secret = f"TOKEN:{sys.argv[7]}".encode()
block = ctypes.create_string_buffer(secret * 50000)
ctypes.string_at(0)
