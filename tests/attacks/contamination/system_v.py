# tries: to leave System V memory, semaphores and messages, which belong to no process
# stopped by: seccomp ipc
# ends: exited 0
# open without: seccomp
from attack import attempt, held, syscall

attempt("memory", syscall, "shmget", 0x52474159, 4096, 0o1666)
attempt("semaphores", syscall, "semget", 0x52474159, 1, 0o1666)
attempt("messages", syscall, "msgget", 0x52474159, 0o1666)
held()
