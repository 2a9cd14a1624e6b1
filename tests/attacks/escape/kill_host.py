# tries: to reach a process of the machine by its number there, the fourth argument
# stopped by: pid
# ends: exited 0
# open without: pid
import os
import sys

from attack import breach, held

try:
    os.kill(int(sys.argv[4]), 0)
    breach("signalled")
except ProcessLookupError:
    held()
except PermissionError:
    breach("it is there")
