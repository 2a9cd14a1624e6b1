# tries: to kill, stop and interrupt the agent, and whatever else can be reached by number
# stopped by: pid
# ends: exited 0
import os
import signal

from attack import held, syscall

for number in signal.valid_signals():
    for target in (1, -1, 0):
        if target == 1 or number == 0:
            try:
                os.kill(target, number)
            except OSError:
                pass
for call, arguments in (("rt_sigqueueinfo", (1, 9, bytes(128))), ("pidfd_open", (1, 0))):
    try:
        syscall(call, *arguments)
    except OSError:
        pass
try:
    os.kill(-1, signal.SIGKILL)
except ProcessLookupError:
    pass
held()
