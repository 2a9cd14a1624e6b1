# tries: to leave processes that start each other faster than they are killed
# stopped by: pid cleaning
# ends: exited 0 or cpu_time
import os

from attack import held

for _ in range(3):
    if os.fork() == 0:
        while True:
            try:
                if os.fork() != 0:
                    os._exit(0)
                os.setsid()
            except OSError:
                pass
held()
