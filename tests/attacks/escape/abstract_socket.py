# tries: to connect to a service by an abstract name, which no file permission guards; its name is the second argument
# stopped by: seccomp network
# ends: exited 0
# open without: seccomp network
import socket
import sys

from attack import attempt, held


def connect():
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0" + sys.argv[2])
        return "connected"


attempt("connect", connect)
held()
