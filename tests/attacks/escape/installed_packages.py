# tries: to import what is installed on the machine, answers of data sets among it
# stopped by: mount
# ends: exited 0
import glob
import sys

from attack import breach, held

for name in ("reasongym", "pytest", "datasets", "numpy", "torch", "pip"):
    for path in ("", *glob.glob("/usr/lib/python3*/*-packages"), *glob.glob(sys.prefix + "/lib/python3*/*-packages")):
        sys.path.append(path)
        try:
            __import__(name)
            breach(name)
        except ImportError:
            pass
held()
