# tries: to fill the process table with children that ended and that nobody waits for
# stopped by: rlimits cgroup
# ends: exited 0
import os

from attack import breach, held

for count in range(1000):
    try:
        if os.fork() == 0:
            os._exit(0)
    except BlockingIOError:
        break
if count > 64:
    breach(f"{count} zombies")
held()
