# tries: to leave processes that are stopped, or wait in the kernel, and so may not answer a signal
# stopped by: pid cleaning
# ends: exited 0
import os
import signal

from attack import held

for kind in range(4):
    if os.fork() == 0:
        if kind == 0:
            os.kill(os.getpid(), signal.SIGSTOP)
        elif kind == 1:
            os.read(os.pipe()[0], 1)
        elif kind == 2:
            os.mkfifo("/tmp/never")
            os.open("/tmp/never", os.O_RDONLY)
        signal.pause()
held()
