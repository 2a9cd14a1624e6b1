# tries: to leave a message in the times and permissions of the folders that stay
# stopped by: cleaning
# ends: exited 0
import os

from attack import held

for folder in ("/tmp", "/dev/shm", "/work"):
    os.chmod(folder, 0o7777)
    os.utime(folder, ns=(0x5245415347594D01, 0x5245415347594D02))
    os.chmod(folder, 0o2000)
held()
