# tries: to change the interpreter that the next program gets: modules, builtins, constants, its library's machine code
# stopped by: separation
# ends: exited 0
import builtins
import ctypes
import json
import math
import os
import random
import sys

from attack import libc

for module in list(sys.modules.values()):
    module.reasongym_attack = True
sys.modules["fractions"] = sys.modules["decimal"] = json
builtins.len = builtins.print = builtins.open = lambda *arguments: 42
math.sqrt = math.floor = abs
random.seed(1)
sys.path[:] = ["/tmp"]
sys.setrecursionlimit(77)
sys.setswitchinterval(9)
sys.settrace(None)
address = ctypes.cast(libc.getpid, ctypes.c_void_p).value
libc.mprotect(ctypes.c_void_p(address & ~4095), 8192, 7)
ctypes.memset(address, 0xC3, 1)
ctypes.memmove(id(int("7")) + 24, b"\x08", 1)
os.write(1, b"held\n")
os._exit(0)
