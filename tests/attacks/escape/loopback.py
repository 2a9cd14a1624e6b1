# tries: to connect to a service of the machine's own that listens on the loopback; its port is the first argument
# stopped by: seccomp network
# ends: exited 0
# open without: seccomp network
import socket
import sys

from attack import attempt, held

attempt("connect", socket.create_connection, ("127.0.0.1", int(sys.argv[1])), 2)
held()
