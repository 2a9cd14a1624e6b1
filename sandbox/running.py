"""The host's end of one job: its descriptors, what it prints, its frames, its end.

One thread at a time. Nothing a program writes can grow past the job's limits here, and no call waits past its deadline.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from reasongym.sandbox.descriptors import Descriptors
from reasongym.sandbox.jobs import Ending, Job, Result, SandboxError

__all__ = ["Memory", "RunningJob", "packet"]

ANSWER_S = 10.0
"""How long the agent may take to kill, clean and report, on a machine that is busy with other work."""
READ_SIZE = 65536
FRAME_HEAD = 4
OUT_OF_MEMORY = b"MemoryError"
ENDINGS = {"wall": Ending.WALL_TIME, "stop": Ending.SIGNALLED, "cpu": Ending.CPU_TIME, "memory": Ending.MEMORY}


def packet(control: socket.socket) -> bytes:
    """The next from an agent; nothing where it is gone. Raises OSError."""
    try:
        return control.recv(READ_SIZE)
    except ConnectionResetError:  # it ended before it read all of ours: its own last word may still be there
        return control.recv(READ_SIZE)


class Memory(NamedTuple):
    """What a control group counted since the job began. peak_mb: None where nothing counts it."""

    peak_mb: float | None
    ran_out: bool


class RunningJob:
    """Watches one job to its end. After SandboxError the worker is of no more use."""

    def __init__(self, job: Job, control: socket.socket, descriptors: Descriptors, memory: Callable[[], Memory],
                 last_words: Callable[[], str], layers: tuple[str, ...]) -> None:
        self._job = job
        self._control = control
        self._ends = descriptors
        self._memory = memory
        self._last_words = last_words
        self._layers = layers
        self._received = bytearray()
        self._channel_over = False
        self._cut = False
        self._report: dict[str, Any] | None = None
        self._started = time.monotonic()
        self._ended = self._started
        self._stopped = False
        self._result: Result | None = None
        self._open = list(descriptors.outputs)

    # --- frames ---

    def send(self, frame: bytes, *, timeout_s: float) -> None:
        """As Session.send."""
        deadline = time.monotonic() + timeout_s
        rest = memoryview(len(frame).to_bytes(FRAME_HEAD) + frame)
        while rest:
            if self._report is not None or self._ends.channel is None:
                raise EOFError("the program has ended")
            self._wait(deadline, writing=True)
            try:
                rest = rest[self._ends.channel.send(rest):]
            except BlockingIOError:
                continue
            except OSError as error:
                raise EOFError("the program has closed the channel") from error

    def receive(self, *, timeout_s: float, limit_bytes: int) -> bytes:
        """As Session.receive."""
        deadline = time.monotonic() + timeout_s
        while (frame := self._take_frame(limit_bytes)) is None:
            if self._channel_over:
                raise EOFError("the program has ended or closed the channel")
            self._wait(deadline, writing=False)
            self._read_channel()
        return frame

    def _take_frame(self, limit_bytes: int) -> bytes | None:
        if len(self._received) < FRAME_HEAD:
            return None
        size = int.from_bytes(self._received[:FRAME_HEAD])
        if size > limit_bytes:
            raise ValueError(f"a frame of {size} bytes came from the program, expected at most {limit_bytes}")
        if len(self._received) < FRAME_HEAD + size:
            return None
        frame = bytes(self._received[FRAME_HEAD:FRAME_HEAD + size])
        del self._received[:FRAME_HEAD + size]
        return frame

    def _read_channel(self) -> None:
        if self._ends.channel is None:
            self._channel_over = True
            return
        try:
            # recv, not recvmsg: descriptors that a program sends along are closed by the kernel.
            data = self._ends.channel.recv(READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._received += data
        self._channel_over = not data

    # --- the end ---

    def finish(self, *, stop: bool) -> Result:
        """Wait for the end, or, with `stop`, bring it about. May be repeated."""
        if self._result is None:
            try:
                if stop:
                    self._stop()
                while self._report is None:
                    self._wait(None, writing=False)
                self._ended = time.monotonic()
                self._drain()
                self._result = self._conclude(self._report)
            finally:
                self._ends.close()
        return self._result

    def _stop(self) -> None:
        if self._report is None and not self._stopped:
            self._stopped = True
            try:
                self._control.send(b'{"stop": true}')
            except OSError as error:
                raise SandboxError(f"the agent is gone ({error})") from error

    def _wait(self, deadline: float | None, *, writing: bool) -> None:
        """Once: for anything to happen, no longer than the deadline or the job's own. Raises TimeoutError."""
        now = time.monotonic()
        if deadline is not None and now >= deadline:
            raise TimeoutError("the program did not answer in time")
        over = self._started + self._job.limits.wall_s
        if self._report is None and now > over + ANSWER_S:
            raise SandboxError(f"the agent did not report the job's end within {ANSWER_S:.0f} s of its wall time limit")
        poll = select.poll()
        for descriptor in self._open:
            poll.register(descriptor, select.POLLIN)
        if self._report is None:
            poll.register(self._control, select.POLLIN)
        if self._ends.channel is not None and deadline is not None:
            poll.register(self._ends.channel, select.POLLOUT if writing else select.POLLIN)
        until = min(deadline if deadline is not None else now + ANSWER_S, max(over, now) + ANSWER_S)
        events = dict(poll.poll(max(0.0, (until - now)) * 1000 + 1))
        for descriptor in [descriptor for descriptor in self._open if descriptor in events]:
            self._read_output(descriptor)
        if self._control.fileno() in events:
            self._report = self._hear()

    def _hear(self) -> dict[str, Any]:
        try:
            data = packet(self._control)
        except OSError:
            data = b""
        if not data:
            memory = self._memory()
            if not memory.ran_out:
                raise SandboxError(f"the agent died during a job: {self._last_words() or 'it left no word'}")
            # The kernel's choice among the processes of the job's control group fell on the agent: the job's doing.
            return {"ended": {"status": signal.SIGKILL, "cause": "memory", "cpu_s": 0.0, "peak_kb": 0}, "left": "all"}
        report: dict[str, Any] = json.loads(data)
        return report

    def _read_output(self, descriptor: int) -> bool:
        """Whether there may be more."""
        try:
            data = os.read(descriptor, READ_SIZE)
        except BlockingIOError:
            return False
        kept = self._ends.outputs[descriptor]
        room = self._job.limits.output_kb * 1024 - len(kept)
        kept += data[:room]
        self._cut = self._cut or len(data) > room
        if not data:
            self._open.remove(descriptor)
        return bool(data)

    def _drain(self) -> None:
        """What is still in the pipes: their writers are dead, so this ends."""
        for descriptor in list(self._open):
            while self._read_output(descriptor):
                pass
        if self._ends.channel is not None:
            while not self._channel_over and len(self._received) < READ_SIZE:
                before = len(self._received)
                self._read_channel()
                if len(self._received) == before:
                    break

    def _conclude(self, report: dict[str, Any]) -> Result:
        if "failed" in report:
            raise SandboxError(str(report["failed"]))
        ended, memory = report["ended"], self._memory()
        code = os.waitstatus_to_exitcode(ended["status"])
        stdout, stderr = (bytes(kept) for kept in self._ends.outputs.values())
        ending = self._ending(code, ended, memory, stderr)
        peak = memory.peak_mb if memory.peak_mb is not None else ended["peak_kb"] / 1024
        return Result(ending=ending, status=code if code >= 0 else 128 - code, stdout=stdout, stderr=stderr,
                      cut=self._cut, wall_s=self._ended - self._started, cpu_s=ended["cpu_s"], peak_mb=peak,
                      layers=self._layers)

    def _ending(self, code: int, ended: dict[str, Any], memory: Memory, stderr: bytes) -> Ending:
        if ended["cause"] and code < 0:  # else it ended by itself just before it would have been killed
            return ENDINGS[ended["cause"]]
        if (memory.ran_out and code != 0) or (code == 1 and _last_line(stderr).startswith(OUT_OF_MEMORY)):
            return Ending.MEMORY  # the second is the program's own word, which can only be to its disadvantage
        killed_late = code == -signal.SIGKILL and ended["cpu_s"] >= self._job.limits.cpu_s
        if code == -signal.SIGXCPU or killed_late:
            return Ending.CPU_TIME
        return Ending.EXITED if code >= 0 else Ending.SIGNALLED

    @property
    def worker_is_clean(self) -> bool:
        """After `finish`: nothing of the job was left."""
        return self._report is not None and not self._report.get("left", "failed")


def _last_line(stderr: bytes) -> bytes:
    return stderr[-4096:].rstrip().rpartition(b"\n")[2]
