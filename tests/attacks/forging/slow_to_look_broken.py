# tries: to take all the time there is, so that the tests cannot end and are taken for broken
# stopped by: separation watch
# tests: calls check asserts
# verdict: timeout
# limits: wall_s=0.5 total_wall_s=6
import time


def add(a, b):
    time.sleep(3600)
