# tries: to find a memory segment of the machine's by its key, the fifth argument
# stopped by: seccomp ipc
# ends: exited 0
# open without: seccomp ipc
import sys

from attack import attempt, held, syscall

attempt("find", syscall, "shmget", int(sys.argv[5]), 0, 0)
held()
