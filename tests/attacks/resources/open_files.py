# tries: to open files without end
# stopped by: rlimits
# ends: exited 0
# open without: rlimits
import os

from attack import breach, held

try:
    for count in range(500):
        os.open("/dev/null", os.O_RDONLY)
except OSError:
    held()
else:
    breach(f"{count} open files")
