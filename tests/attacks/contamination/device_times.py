# tries: to leave a message in the times of device files: who may write to a file may set its time to now
# stopped by: mount cleaning
# ends: exited 0
import os
import time

from attack import breach, held

for name in ("null", "full"):
    try:
        os.utime(f"/dev/{name}")
    except OSError:
        pass
    try:
        os.utime(f"/dev/{name}", (1, 1))
        breach(name)
    except OSError:
        pass
time.sleep(0.1)
try:
    os.utime("/dev/zero")
except OSError:
    pass
held()
