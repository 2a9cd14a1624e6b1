# tries: to keep the processors busy with processes of its own until its tests have run out of time
# stopped by: separation watch
# tests: check asserts lazy
# verdict: wrong timeout
# limits: wall_s=2 total_wall_s=2
import os
import time

start = int(open("/proc/self/stat").read().rpartition(")")[2].split()[19]) / 100
for _ in range(8):
    if os.fork() == 0:
        time.sleep(max(0, start + 1.6 - time.clock_gettime(time.CLOCK_BOOTTIME)))
        while time.process_time() < 0.4:
            pass
        os._exit(0)
time.sleep(max(0, start + 1.8 - time.clock_gettime(time.CLOCK_BOOTTIME)))


def add(a, b):
    return 0
