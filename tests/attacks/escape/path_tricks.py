# tries: to leave its root by relative paths, links, descriptors of folders and the roots of other processes
# stopped by: mount pid
# ends: exited 0
import glob
import os
import sys

from attack import breach, held

for number in range(64):
    try:
        os.fchdir(number)
        breach(f"descriptor {number} is a folder: {os.listdir('.')}")
    except OSError:
        pass
secret = sys.argv[3]
os.symlink(secret, "link")
os.symlink("/proc/self/root", "root")
starts = ["../" * 30, "link", "root/", "/proc/self/cwd/" + "../" * 30, "/proc/self/root/", "/proc/1/root/",
          "/proc/1/cwd/", "/dev/fd/../../../../", "/proc/thread-self/root/", *glob.glob("/proc/self/fd/*"),
          *glob.glob("/proc/*/root/")]
for start in starts:
    for path in (start, start + secret):
        try:
            # Without waiting: a descriptor may be the writing end of a pipe, which is opened anew for reading.
            if os.read(os.open(path, os.O_RDONLY | os.O_NONBLOCK), 64).startswith(b"reasongym-secret"):
                breach(path)
        except OSError:
            pass
held()
