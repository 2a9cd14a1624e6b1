# tries: to keep data in pipes, where it belongs to no process
# stopped by: rlimits cgroup
# ends: exited 0
import os

from attack import breach, held

written = 0
try:
    while True:
        _, end = os.pipe()
        os.set_blocking(end, False)
        try:
            while True:
                written += os.write(end, bytes(65536))
        except BlockingIOError:
            pass
except OSError:
    pass
if written > 64 << 20:
    breach(f"{written >> 20} MiB")
held()
