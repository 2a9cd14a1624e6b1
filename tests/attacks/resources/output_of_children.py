# tries: to keep its output open after its end, so that the host waits for more
# stopped by: pid cleaning
# ends: exited 0
import os
import time

from attack import held

held()
if os.fork() == 0:
    os.setsid()
    while True:
        os.write(1, b"x" * 1000)
time.sleep(0.01)
