# tries: to take the time of its tests while it is loaded, so that they end before their first call and look broken
# stopped by: separation watch
# tests: check asserts lazy
# verdict: wrong timeout
# limits: wall_s=2 total_wall_s=2
import time

start = int(open("/proc/self/stat").read().rpartition(")")[2].split()[19]) / 100
time.sleep(max(0, start + 1.9 - time.clock_gettime(time.CLOCK_BOOTTIME)))


def add(a, b):
    return 0
