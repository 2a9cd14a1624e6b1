# tries: to lock memory, so that the machine cannot swap it out
# stopped by: rlimits seccomp
# ends: exited 0
from attack import attempt, held, syscall

attempt("mlockall", syscall, "mlockall", 1 | 2)
held()
