# tries: to sleep for ever, and so to hold a worker for ever
# stopped by: watch
# ends: wall_time
# limits: wall_s=0.5
import time

time.sleep(10**6)
