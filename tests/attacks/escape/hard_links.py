# tries: hard links to files that are shown, and between the places it can write to
# stopped by: mount
# ends: exited 0
import os
import sys

from attack import attempt, held

for source in (os.__file__, sys.executable, "/usr/bin/env", "/dev/null", "/proc/self/status"):
    attempt(source, os.link, source, "/work/hard")
    attempt(source, os.link, source, "/tmp/hard")
held()
