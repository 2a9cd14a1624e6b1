# tries: to trace the agent and its own parent, and to read and write another process's memory
# stopped by: seccomp capabilities
# ends: exited 0
# open without: seccomp
import ctypes
import os

from attack import held, in_child, syscall

buffer = ctypes.create_string_buffer(64)
vector = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 64)
for process in (1, os.getpid()):
    in_child(f"attach to {process}", syscall, "ptrace", 0x4206, process, 0, 0)
    in_child(f"read {process}", syscall, "process_vm_readv", process, vector, 1, vector, 1, 0)
    in_child(f"write {process}", syscall, "process_vm_writev", process, vector, 1, vector, 1, 0)
    in_child(f"compare {process}", syscall, "kcmp", process, process, 0, 0, 0)
in_child("be traced", syscall, "ptrace", 0, 0, 0, 0)
held()
