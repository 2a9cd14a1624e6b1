# tries: to read the environment, memory and open files of whoever started it
# stopped by: separation pid
# ends: exited 0
import glob
import os

from attack import breach, held

for pattern in ("environ", "maps", "mem", "fd/*", "cwd", "exe", "task/*/environ"):
    for path in glob.glob(f"/proc/[0-9]*/{pattern}"):
        if path.split("/")[2] == str(os.getpid()):
            continue
        try:
            breach(f"{path}: {open(path, 'rb').read(64)!r}")
        except OSError:
            pass
for name, value in os.environ.items():
    if name not in ("PATH", "HOME", "LANG", "TMPDIR"):
        breach(f"{name}={value}")
try:
    if b"REASONGYM" in open("/proc/self/environ", "rb").read():
        breach("the environment the interpreter was started with")
except OSError:
    pass
held()
