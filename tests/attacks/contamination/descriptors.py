# tries: to find descriptors of the agent's, and to speak to its host in its name
# stopped by: separation
# ends: exited 0
import os

from attack import breach, held

for number in range(3, 1024):
    try:
        os.write(number, b'{"ended": {"status": 0, "cause": "", "cpu_s": 0.0, "peak_kb": 0}, "left": ""}')
        breach(f"wrote to {number}")
    except OSError:
        pass
    try:
        breach(f"{number} is {os.readlink(f'/proc/self/fd/{number}')}")
    except OSError:
        pass
held()
