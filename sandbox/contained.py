"""The first steps inside a container: connects the agent to the host and becomes the agent.

Everything the agent needs is loaded before the host hears of it: the host then takes these files away.
"""

from __future__ import annotations

import os
import socket

from reasongym.sandbox import agent
from reasongym.sandbox.inner import Program

__all__ = ["FOLDER", "MODULES", "main", "socket_name"]

FOLDER = "/agent"
"""Where the host's folder for this container is shown: these modules and the control socket."""
MODULES = ("agent", "cleaning", "contained", "inner", "linux", "seccomp", "syscalls")


def socket_name(number: int) -> str:
    """File name of the control socket in the folder."""
    return f"control-{number}"


def main(number: int) -> Program:
    """Comes back in a job's process alone, as `agent.main` does. number: of the control socket.

    The host's first packet brings the file that standard error goes to: what the agent says when it fails.
    """
    control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    control.connect(f"{FOLDER}/{socket_name(number)}")
    _, descriptors, _, _ = socket.recv_fds(control, 1, 1)
    if not descriptors:
        raise SystemExit("the host closed the control socket before it said anything")
    os.dup2(descriptors[0], 2)
    os.close(descriptors[0])
    return agent.main(control.detach())
