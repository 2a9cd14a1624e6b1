"""What every backend offers: jobs run to their end, and sessions in which a program answers byte frames."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

from reasongym.sandbox.jobs import Job, Result

__all__ = ["Sandbox", "Session"]


class Session(Protocol):
    """A running program that is spoken to in frames of bytes, over a channel that its standard streams do not touch.

    The program finds the channel as file descriptor 3, a stream socket; a frame is its length (4 bytes, big endian),
    then that many bytes. Everything that comes out of it is the program's word and may be forged.
    """

    def send(self, frame: bytes, *, timeout_s: float) -> None:
        """Raises EOFError where the program has ended or closed the channel, TimeoutError past the deadline."""

    def receive(self, *, timeout_s: float, limit_bytes: int) -> bytes:
        """The next frame. Raises EOFError, TimeoutError, and ValueError for a frame longer than the limit."""

    def finish(self) -> Result:
        """Kill what is left of the program and everything it started, and say how it ended. May be repeated."""


class Sandbox(Protocol):
    """A pool of warm workers behind one backend; every method may be called from any thread."""

    name: str

    def run(self, job: Job) -> Result:
        """Run to the end. Blocks while every worker is busy. Raises SandboxError for a failure of the sandbox, after
        one more try on a fresh worker."""

    def open(self, job: Job) -> Session:
        """Start the program and leave it running; the session holds a worker until it is finished."""

    def layers(self) -> tuple[str, ...]:
        """Names of the layers of isolation that are active here."""

    def close(self) -> None:
        """Kill every job and worker. May be repeated."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None: ...
