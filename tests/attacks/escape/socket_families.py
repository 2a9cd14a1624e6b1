# tries: a socket of each family: netlink, packets, Bluetooth, virtual machines, the kernel's crypto, and of each kind
# stopped by: seccomp
# ends: exited 0
# open without: seccomp
import socket

from attack import attempt, held, syscall

for family in (*range(47), 0x7FFFFFFF):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        attempt(f"{family} {kind}", syscall, "socket", family, kind, 0)
for family in set(range(47)) - {socket.AF_UNIX}:
    attempt(f"pair {family}", socket.socketpair, family)
held()
