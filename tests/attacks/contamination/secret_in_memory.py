# tries: to have its secret, the seventh argument, found in the next program's memory, or in what is written on
# stopped by: separation
# ends: exited 0
import ctypes
import os
import sys

from attack import held

secret = f"TOKEN:{sys.argv[7]}".encode()
copies = [secret + bytes([count % 256]) for count in range(20000)]
block = ctypes.create_string_buffer(secret * 50000)
ours, theirs = os.pipe()
os.write(theirs, secret * 1000)
for folder in ("/work", "/tmp", "/dev/shm"):
    with open(f"{folder}/{secret.decode()}", "wb") as file:
        file.write(secret * 10000)
with open("/dev/null", "wb") as null:
    null.write(secret * 100)
held()
