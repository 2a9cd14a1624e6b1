# tries: to leave POSIX message queues, by their call and by the file system that shows them
# stopped by: seccomp rlimits ipc mount
# ends: exited 0
# open without: seccomp rlimits
import ctypes
import os

from attack import attempt, held, syscall

attempt("queue", syscall, "mq_open", ctypes.c_char_p(b"reasongym-attack"), os.O_CREAT | os.O_RDWR, 0o666, 0)
attempt("file", os.open, "/dev/mqueue/reasongym-attack", os.O_CREAT | os.O_RDWR)
held()
