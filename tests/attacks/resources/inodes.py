# tries: to use up the file system's inodes with empty files, folders, links and pipes
# stopped by: mount
# ends: exited 0
# limits: cpu_s=5
import itertools
import os

from attack import breach, held

count = 0
for folder in ("/work", "/tmp", "/dev/shm"):
    for make in (lambda path: os.close(os.open(path, os.O_CREAT)), os.mkdir, os.mkfifo,
                 lambda path: os.symlink("x", path)):
        try:
            for number in itertools.count():
                make(f"{folder}/{make.__name__}{number}")
                count += 1
                if count > 20000:
                    breach("20,000 files")
                    raise SystemExit
        except OSError:
            pass
held()
