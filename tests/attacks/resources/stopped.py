# tries: to stop itself, so that it neither runs nor ends
# stopped by: watch
# ends: wall_time
# limits: wall_s=0.5
import os
import signal

os.kill(os.getpid(), signal.SIGSTOP)
