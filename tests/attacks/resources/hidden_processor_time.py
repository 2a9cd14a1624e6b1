# tries: to burn time in short-lived children that the kernel reaps, and whose time nobody is told
# stopped by: seccomp
# ends: exited 0
# open without: seccomp
# limits: cpu_s=0.3
import os
import signal
import time

from attack import attempt, held

attempt("ignore SIGCHLD", signal.signal, signal.SIGCHLD, signal.SIG_IGN)
if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
    for _ in range(30):
        if os.fork() == 0:
            until = time.process_time() + 0.02
            while time.process_time() < until:
                pass
            os._exit(0)
        try:
            os.wait()
        except ChildProcessError:
            pass
held()
