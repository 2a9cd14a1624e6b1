"""Starts an agent as a child process and ends it: what the walls that need no engine have in common."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reasongym.sandbox.cgroups import ControlGroup, Groups
from reasongym.sandbox.jobs import Limits, SandboxError
from reasongym.sandbox.running import Memory, packet

__all__ = ["ChildEnclosure"]

START_S = 20.0
GOODBYE_S = 5.0


class ChildEnclosure:
    """command: given the number of the agent's end of the control socket. spec: said first, where the command builds
    the walls itself and then answers with the agent's process id. cleanup: called once it is all over."""

    def __init__(self, command: Callable[[int], Sequence[str]], settings: Mapping[str, object], *,
                 groups: Groups | None = None, spec: Mapping[str, object] | None = None,
                 cleanup: Callable[[], None] | None = None) -> None:
        self.settings = settings
        self._cleanup = cleanup
        self._words = os.memfd_create("words", os.MFD_CLOEXEC)
        self._groups = groups if groups is not None and groups.available else None
        self._group: ControlGroup | None = None
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(command(theirs.fileno()), pass_fds=[theirs.fileno()], cwd="/",
                                             env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                             stderr=self._words)
        try:
            self.control.settimeout(START_S)
            self._agent_pid = self._process.pid if spec is None else self._introduce(spec)
        except OSError as error:
            raise SandboxError(f"no agent in walls ({error}): {self.tear_down()}") from error
        except SandboxError:
            self.tear_down()
            raise

    def _introduce(self, spec: Mapping[str, object]) -> int:
        self.control.send(json.dumps(spec).encode())
        said: dict[str, Any] = json.loads(packet(self.control) or b"{}")
        if "agent" not in said:
            raise SandboxError(f"no walls of namespaces: {said.get('failed') or self.tear_down() or 'no word'}")
        return int(said["agent"])

    def prepare(self, limits: Limits) -> None:
        """As Enclosure.prepare. The group is joined before the first job: a start that failed has said why."""
        if self._group is None and self._groups is not None:
            self._group = self._groups.make(self._agent_pid)
        if self._group is not None:
            self._group.prepare(limits)

    def memory(self) -> Memory:
        """As Enclosure.memory."""
        return self._group.memory() if self._group is not None else Memory(None, ran_out=False)

    def tear_down(self) -> str:
        """As Enclosure.tear_down. The end of the control socket ends the agent, and all inside; else it is killed."""
        self.control.close()
        try:
            self._process.wait(GOODBYE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._group is not None:
            self._group.remove()
            self._group = self._groups = None
        if self._cleanup is not None:
            self._cleanup()
            self._cleanup = None
        if self._words == -1:
            return ""
        words = os.pread(self._words, 4000, 0).decode(errors="replace").strip()
        os.close(self._words)
        self._words = -1
        return words


def environment() -> dict[str, str]:
    """Nothing of the host's. One arena: each further one reserves address space, of which a job has little."""
    return {"LANG": "C.UTF-8", "PATH": "/usr/bin:/bin", "MALLOC_ARENA_MAX": "1"}
