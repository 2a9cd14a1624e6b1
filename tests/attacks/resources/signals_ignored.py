# tries: to outlive its limit by ignoring each signal that can be ignored, and blocking the rest
# stopped by: rlimits watch
# ends: cpu_time
import signal

for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
while True:
    pass
