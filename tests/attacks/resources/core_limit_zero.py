# tries: to set the core limit to 0, at which a handler of core dumps is started outside, as the machine's root
# stopped by: seccomp
# ends: exited 0
# open without: seccomp
import ctypes

from attack import attempt, held, syscall

RLIMIT_CORE = 4
attempt("core limit", syscall, "prlimit64", 0, RLIMIT_CORE, (ctypes.c_uint64 * 2)(0, 0), 0)
held()
