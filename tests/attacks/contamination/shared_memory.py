# tries: to leave named shared memory and semaphores
# stopped by: cleaning seccomp
# ends: exited 0
import _multiprocessing
import _posixshmem
import os

from attack import held

try:
    descriptor = _posixshmem.shm_open("/reasongym-attack", os.O_CREAT | os.O_RDWR, 0o666)
    os.write(descriptor, b"message")
    _multiprocessing.SemLock(1, 1, 1, "/reasongym-semaphore", False)
except OSError:
    pass
held()
