# tries: as a fork bomb, in sessions of their own, out of reach of a signal to a process group
# stopped by: pid cleaning watch
# ends: cpu_time
import os

while True:
    try:
        if os.fork() == 0:
            os.setsid()
    except OSError:
        pass
