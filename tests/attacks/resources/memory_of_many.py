# tries: to take in each of many processes what one may have
# stopped by: cgroup watch
# ends: memory
import os
import time

for _ in range(6):
    if os.fork() == 0:
        block = bytearray(80 << 20)
        for at in range(0, len(block), 4096):
            block[at] = 1
        time.sleep(3600)
time.sleep(3600)
