# tries: to have programs load its library: by environment, by files that a loader reads, by the interpreter's own start
# stopped by: mount cleaning
# ends: exited 0
import os
import subprocess
import sys

from attack import breach, held

with open("/tmp/usercustomize.py", "w") as file:
    file.write("print('loaded')")
with open("/tmp/fake.so", "wb") as file:
    file.write(b"\x7fELF" + bytes(100))
for path in ("/etc/ld.so.preload", os.path.dirname(os.__file__) + "/sitecustomize.py", sys.prefix + "/pyvenv.cfg"):
    try:
        with open(path, "w") as file:
            file.write("/tmp/fake.so\n")
        breach(path)
    except OSError:
        pass
environment = {"LD_PRELOAD": "/tmp/fake.so", "PYTHONPATH": "/tmp", "PATH": "/usr/bin:/bin"}
subprocess.run(["/usr/bin/env", "true"], env=environment, stderr=subprocess.DEVNULL)
held()
