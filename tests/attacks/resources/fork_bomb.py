# tries: to fork without end, each child too, none of them waiting for any
# stopped by: rlimits cgroup watch
# ends: cpu_time
import os

while True:
    try:
        os.fork()
    except OSError:
        pass
