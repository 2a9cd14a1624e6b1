"""A worker: one agent inside one set of walls, spoken to over its control socket. The same for every backend.

A backend brings `Walls`, which build `Enclosure`s; all else (jobs, descriptors, deadlines, cleaning) is here and in
`running.py`, and the far end of the control socket is `agent.py`.
"""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from reasongym.sandbox.descriptors import Descriptors
from reasongym.sandbox.jobs import Job, Limits, Result, SandboxError
from reasongym.sandbox.running import Memory, RunningJob, packet

__all__ = ["Enclosure", "Memory", "Walls", "Worker"]

START_S = 20.0
TEAR_DOWN_ADVICE = "try again; `reasongym sandbox info` says what is available here"


class Enclosure(Protocol):
    """Walls that stand, with `agent.py` running as PID 1 inside.

    control: the host's end of an AF_UNIX SOCK_SEQPACKET socket, whose other end is the agent's. The agent ends, and all
    inside with it, when this end is closed.
    settings: what the agent is told first; see `agent.Settings` for its keys.
    """

    control: socket.socket
    settings: Mapping[str, object]

    def prepare(self, limits: Limits) -> None:
        """Set what is set from outside (control groups) for the next job, and begin counting anew. Walls that cannot be
        set otherwise may be put up again: `control` then is another socket, with an agent that knows no settings."""

    def memory(self) -> Memory:
        """Asked after each job, and after the agent died."""

    def tear_down(self) -> str:
        """Kill all that is inside and free what the walls took. May be repeated. Returns why the agent had ended, where
        that is known (its last words): for messages."""


class Walls(Protocol):
    """name: of the backend. layers: what each job runs behind, strongest claim first."""

    name: str
    layers: tuple[str, ...]

    def build(self) -> Enclosure:
        """Start an agent. Raises SandboxError saying what is missing."""

    def close(self) -> None:
        """Free what all enclosures share. May be repeated."""


class Worker:
    """Serves one job at a time, from one thread at a time. After SandboxError it is no longer of use: `kill` it."""

    def __init__(self, walls: Walls) -> None:
        self._walls = walls
        self._enclosure = walls.build()
        self._greet()

    def _greet(self) -> None:
        """Once for each agent."""
        self._control = self._enclosure.control
        try:
            self._control.settimeout(START_S)
            with contextlib.suppress(BrokenPipeError):  # it has given up, and said why
                self._say({"settings": dict(self._enclosure.settings)})
            reply = self._hear()
            if "ready" not in reply:
                raise SandboxError(f"the agent of the {self._walls.name} sandbox did not start: "
                                   f"{reply.get('failed', reply)}")
        except OSError as error:
            raise SandboxError(self._last_words(f"the agent did not start within {START_S:.0f} s ({error})")) from error
        except SandboxError:
            self.kill()
            raise

    def start(self, job: Job, *, with_channel: bool) -> RunningJob:
        """The job begins; everything else is asked of what is returned."""
        descriptors = Descriptors(job, with_channel=with_channel)
        try:
            self._enclosure.prepare(job.limits)
            if self._enclosure.control is not self._control:
                self._greet()
            # The program itself is not in this message: the agent, which outlives the job, never reads it.
            self._say({"run": _limits_of(job.limits)}, descriptors.inner)
        except BaseException as error:  # any: descriptors are closed by nobody else
            descriptors.close()
            if isinstance(error, OSError):
                raise SandboxError(self._last_words(f"the agent took no job ({error})")) from error
            raise
        descriptors.close_inner()
        return RunningJob(job, self._control, descriptors, self._enclosure.memory,
                          self._enclosure.tear_down, self._walls.layers)

    def run(self, job: Job) -> Result:
        """From start to end."""
        return self.start(job, with_channel=False).finish(stop=False)

    def kill(self) -> None:
        """End everything inside. May be repeated."""
        self._control.close()
        self._enclosure.tear_down()

    def _last_words(self, what: str) -> str:
        self._control.close()
        words = self._enclosure.tear_down()
        return f"{self._walls.name} sandbox: {what}{': ' + words if words else ''}; remedy: {TEAR_DOWN_ADVICE}"

    def _say(self, message: Mapping[str, object], descriptors: Sequence[int] = ()) -> None:
        socket.send_fds(self._control, [json.dumps(message).encode()], list(descriptors))

    def _hear(self) -> dict[str, Any]:
        try:
            data = packet(self._control)
        except ConnectionResetError:  # it ended with our message unread; what it had said before is still to be had
            data = packet(self._control)
        if not data:
            raise OSError("it ended")
        reply: dict[str, Any] = json.loads(data)
        return reply


def _limits_of(limits: Limits) -> dict[str, float]:
    """What the agent itself watches; the rest travels with the job."""
    return {"wall_s": limits.wall_s, "cpu_s": limits.cpu_s, "memory_mb": limits.memory_mb, "work_mb": limits.work_mb}
