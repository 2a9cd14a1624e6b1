# tries: to start threads without end
# stopped by: rlimits cgroup watch
# ends: cpu_time
import _thread
import time

while True:
    try:
        _thread.start_new_thread(time.sleep, (3600,))
    except RuntimeError:
        pass
