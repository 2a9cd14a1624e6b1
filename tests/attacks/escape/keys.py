# tries: to leave and to read keys in the kernel, which outlive processes
# stopped by: seccomp
# ends: exited 0
# open without: seccomp
import ctypes

from attack import held, in_child, syscall

text = ctypes.c_char_p
in_child("read the session", syscall, "keyctl", 0, -3, 1)
in_child("read the user", syscall, "keyctl", 0, -4, 1)
in_child("add", syscall, "add_key", text(b"user"), text(b"reasongym-attack"), text(b"x"), 1, -2)
in_child("request", syscall, "request_key", text(b"user"), text(b"reasongym-attack"), 0, -2)
held()
