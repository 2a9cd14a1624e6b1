# tries: to change, relax or shadow the filter on its system calls
# stopped by: seccomp
# ends: exited 0
import ctypes

from attack import attempt, held, in_child, libc, syscall


def prctl(*arguments):
    if libc.prctl(*[ctypes.c_ulong(value) for value in arguments]) == -1:
        raise OSError(ctypes.get_errno(), "prctl")


program = (ctypes.c_ubyte * 8)(6, 0, 0, 0, 0, 0, 0xFF, 0x7F)
filters = (ctypes.c_void_p * 2)(1, ctypes.addressof(program))
in_child("seccomp", syscall, "seccomp", 1, 0, filters)
in_child("strict", prctl, 22, 1, 0, 0, 0)
in_child("filter", prctl, 22, 2, ctypes.addressof(filters), 0, 0)
attempt("dumpable", prctl, 4, 1, 0, 0, 0)
attempt("subreaper", prctl, 36, 1, 0, 0, 0)
attempt("keep capabilities", prctl, 8, 1, 0, 0, 0)
attempt("ambient", prctl, 47, 2, 21, 0, 0)
attempt("tracer", prctl, 0x59616D61, (1 << 64) - 1, 0, 0, 0)
attempt("memory map", prctl, 35, 6, 0, 0, 0)
held()
