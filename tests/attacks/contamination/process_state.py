# tries: to leave its umask, folder, limits, priority, processors, signals, timers and environment to the next program
# stopped by: separation
# ends: exited 0
import os
import resource
import signal

from attack import held

os.umask(0)
os.environ["REASONGYM_ATTACK"] = os.environ["LD_PRELOAD"] = "x"
os.chdir("/usr")
os.nice(5)
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
signal.setitimer(signal.ITIMER_REAL, 1000)
signal.alarm(1000)
for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_STACK):
    resource.setrlimit(kind, (32, 32))
held()
