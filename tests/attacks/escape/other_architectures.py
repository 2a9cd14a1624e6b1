# tries: system calls by numbers that a filter for this architecture does not know: 32-bit calls, and x32's numbers
# stopped by: seccomp
# ends: exited 0
# open without: seccomp
import ctypes
import mmap
import os

from attack import held, in_child


def by_machine_code(code):
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    return ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()


if os.uname().machine == "x86_64":
    # mov eax, 20 (getpid of i386); int 0x80; ret
    in_child("int 0x80", by_machine_code, bytes.fromhex("b814000000cd80c3"))
    # mov eax, 0x40000000 + 39 (getpid of x32); syscall; ret: ENOSYS where the kernel has no x32
    in_child("x32", by_machine_code, bytes.fromhex("b8270000400f05c3"))
    # the same with 41: a socket
    in_child("x32 socket", by_machine_code, bytes.fromhex("bf01000000be01000000ba00000000b8290000400f05c3"))
held()
