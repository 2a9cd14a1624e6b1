# tries: to leave a process in a session of its own, adopted by the agent, without streams, deaf to signals
# stopped by: pid cleaning
# ends: exited 0
import os
import signal
import time

from attack import held

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 64)
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        while True:
            try:
                with open("/tmp/reasongym-attack", "w") as file:
                    file.write("alive")
            except OSError:
                pass
            time.sleep(0.001)
    os._exit(0)
os.wait()
held()
