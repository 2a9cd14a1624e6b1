# tries: to connect to another machine, to a cloud's metadata service and to a name server
# stopped by: seccomp network
# ends: exited 0
# open without: seccomp
import socket

from attack import attempt, held

for family, kind, address in ((socket.AF_INET, socket.SOCK_STREAM, ("169.254.169.254", 80)),
                              (socket.AF_INET, socket.SOCK_DGRAM, ("192.0.2.1", 53)),
                              (socket.AF_INET6, socket.SOCK_STREAM, ("2001:db8::1", 443))):
    attempt(f"socket {family.name}", socket.socket, family, kind)
    try:
        with socket.socket(family, kind) as reached:
            reached.settimeout(1)
            reached.connect(address)
            print("BREACH reached", address)
    except OSError:
        pass
held()
