# tries: to burn time in many processes, each far from its own limit
# stopped by: watch
# ends: cpu_time
import os
import time

for _ in range(6):
    if os.fork() == 0:
        os.setsid()
        while True:
            pass
time.sleep(3600)
