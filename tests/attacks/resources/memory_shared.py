# tries: memory that processes share, which counts as nobody's own
# stopped by: cgroup watch
# ends: memory
import mmap
import os
import time

for _ in range(6):
    if os.fork() == 0:
        block = mmap.mmap(-1, 80 << 20)
        for at in range(0, len(block), 4096):
            block[at] = 1
        time.sleep(3600)
time.sleep(3600)
