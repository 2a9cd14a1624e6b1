# tries: namespaces of its own, in which it would have every right, by each call that makes one
# stopped by: seccomp user
# ends: exited 0
import ctypes

from attack import held, in_child, syscall

for flag in (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000, 0x80):
    in_child(f"unshare {flag:x}", syscall, "unshare", flag)
    if flag != 0x80:
        in_child(f"clone {flag:x}", syscall, "clone", flag | 17, 0, 0, 0, 0)
    arguments = (ctypes.c_uint64 * 11)(flag, 0, 0, 0, 17)
    in_child(f"clone3 {flag:x}", syscall, "clone3", arguments, 88)
in_child("enter", syscall, "setns", 0, 0)
held()
