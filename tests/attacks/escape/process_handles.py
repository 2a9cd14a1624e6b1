# tries: handles on processes: of the agent, and of the host by the far end of its channel
# stopped by: seccomp
# ends: exited 0
# channel: yes
import os
import socket
import struct

from attack import attempt, held, in_child, syscall

SO_PEERPIDFD = 77
attempt("handle", os.pidfd_open, 1)
with socket.socket(fileno=3) as channel:
    process, user, group = struct.unpack("3i", channel.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    if process:
        print("BREACH the host's number is", process)
    try:
        handle = struct.unpack("i", channel.getsockopt(socket.SOL_SOCKET, SO_PEERPIDFD, 4))[0]
    except OSError:
        handle = os.open("/dev/null", os.O_RDONLY)
    in_child("signal it", syscall, "pidfd_send_signal", handle, 0, 0, 0)
    in_child("take its descriptor", syscall, "pidfd_getfd", handle, 0, 0)
    in_child("enter its namespaces", syscall, "setns", handle, 0x20000000)
    in_child("change its memory", syscall, "process_madvise", handle, 0, 0, 21, 0)
    in_child("reap its memory", syscall, "process_mrelease", handle, 0)
    channel.detach()
held()
