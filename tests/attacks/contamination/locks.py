# tries: to hold locks on files that every program reads
# stopped by: cleaning
# ends: exited 0
import fcntl
import os
import time

from attack import held

if os.fork() == 0:
    for path in (os.__file__, "/usr/bin/env", "/dev/null", "/tmp", "/work"):
        try:
            fcntl.flock(os.open(path, os.O_RDONLY), fcntl.LOCK_EX)
        except OSError:
            pass
    time.sleep(3600)
time.sleep(0.02)
held()
