# tries: to command a container engine over its socket
# stopped by: mount seccomp
# ends: exited 0
import os
import socket

from attack import attempt, breach, held

for path in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock"):
    if os.path.exists(path):
        breach(path)
    attempt(path, lambda path=path: socket.socket(socket.AF_UNIX).connect(path))
held()
