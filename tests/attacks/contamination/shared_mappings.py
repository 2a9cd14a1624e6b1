# tries: to write to memory that the agent shares with what it forks
# stopped by: separation
# ends: exited 0
import re

from attack import breach, held

for line in open("/proc/self/maps"):
    if re.match(r"\S+ .w.s ", line):
        breach(line)
held()
