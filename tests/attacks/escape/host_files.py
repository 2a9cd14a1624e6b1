# tries: to read the machine's files: passwords, keys, homes, logs; a secret's path is the third argument
# stopped by: mount
# ends: exited 0
# open without: mount
import os
import sys

from attack import attempt, breach, held

for path in ("/etc/shadow", sys.argv[3]):
    attempt(path, open, path)
for folder in ("/root", "/home", "/root/.ssh", "/var/log", "/var/lib/docker", "/srv", "/mnt", "/boot", "/opt",
               "/run/secrets", "/etc/ssh", "/host", os.path.dirname(sys.argv[3])):
    try:
        found = [f"{folder}/{name}" for name in os.listdir(folder)]
    except OSError:
        continue
    # The interpreter may be installed in a home folder, or below /opt: its own folders are shown.
    if found := [path for path in found if not os.path.realpath(os.__file__).startswith(path)]:
        breach(found)
held()
