# tries: to use rights of a superuser: read what nobody may read, change owners, raise them from what is left
# stopped by: capabilities
# ends: exited 0
# open without: capabilities
import ctypes
import os

from attack import breach, held, libc

for line in open("/proc/self/status"):
    if line.startswith(("CapInh", "CapPrm", "CapEff", "CapAmb")) and int(line.split()[1], 16):
        breach(line.split())
with open("own", "w") as file:
    file.write("x")
os.chmod("own", 0)
try:
    open("own").close()
    breach("read what nobody may read")
except OSError:
    pass
header = (ctypes.c_uint32 * 2)(0x20080522, 0)
if libc.capset(header, (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6)) == 0:
    breach("capset")
held()
