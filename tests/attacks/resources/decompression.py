# tries: a kilobyte that unpacks to gigabytes
# stopped by: rlimits
# ends: memory
import zlib

packed = zlib.compress(bytes(1 << 20), 9)
unpacked = b""
while True:
    unpacked += zlib.decompress(packed) * 16
