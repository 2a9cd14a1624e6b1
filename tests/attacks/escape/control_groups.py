# tries: to read in its control group how the host calls the worker, and which process the host is
# stopped by: mount
# ends: exited 0
from attack import breach, held

for name in ("/proc/self/cgroup", "/proc/thread-self/cgroup"):
    try:
        with open(name) as file:
            if "reasongym" in (said := file.read()):
                breach(said)
    except OSError:
        pass
held()
