# tries: to keep a file alive in a message on a pair of sockets, which nobody ever reads
# stopped by: seccomp
# ends: exited 0
# open without: seccomp
import os
import socket

from attack import attempt, held

left, right = socket.socketpair()
attempt("send", socket.send_fds, left, [b"x"], [os.open("/tmp", os.O_RDONLY), right.fileno()])
held()
