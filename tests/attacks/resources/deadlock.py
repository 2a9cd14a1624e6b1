# tries: to wait for itself
# stopped by: watch
# ends: wall_time
# limits: wall_s=0.5
import threading

lock = threading.Lock()
lock.acquire()
lock.acquire()
