# tries: native code of its own, by executable memory and by the C library: the filter must hold whatever runs
# stopped by: seccomp
# ends: signalled 159
import ctypes

from attack import held

ctypes.CDLL(None).unshare(0)
held()
