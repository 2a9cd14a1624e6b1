# tries: to leave files: hidden, without permissions, of odd names, in locked folders, links, pipes, whiteouts
# stopped by: cleaning
# ends: exited 0
# open without: cleaning
import os
import stat
import sys

from attack import held

for folder in ("/tmp", "/dev/shm", "/work"):
    os.chdir(folder)
    for name in (b".reasongym-attack", b"-rf", b" ", b"\n", bytes(range(128, 255)), b"main.pyc", b"x" * 255):
        with open(name, "w") as file:
            file.write(" ".join(sys.argv))
        os.chmod(name, 0)
    os.makedirs("a/b/.c", exist_ok=True)
    os.symlink("/", "a/b/up")
    os.symlink("a", "loop")
    os.mkfifo("a/pipe")
    os.mknod("a/whiteout", stat.S_IFCHR, os.makedev(0, 0))
    os.link("a/pipe", "a/b/pipe")
    for locked in ("a/b/.c", "a/b", "a"):
        os.chmod(locked, 0)
held()
