"""A candidate's session, seen from the host: what comes back is the candidate's word, and is read as such."""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import TracebackType
from typing import NamedTuple, Self

from reasongym.sandbox.backend import Sandbox
from reasongym.sandbox.jobs import Ending, Job
from reasongym.verifiers.code.inside.values import MAX_BYTES, decode, encode
from reasongym.verifiers.code.limits import CodeLimits, out_of_time
from reasongym.verifiers.code.programs import CALLER, program

__all__ = ["FRAME_BYTES", "Answer", "Candidate", "Kind"]

FRAME_BYTES = MAX_BYTES + 2**16


class Kind(StrEnum):
    """VALUE: plain data. RAISED: an exception. ODD: something of which only its truth travels. NONE: no code that can
    be loaded. TIMEOUT: had to be stopped. DIED: ended itself, or spoke nonsense."""

    VALUE = "value"
    RAISED = "raised"
    ODD = "odd"
    NONE = "none"
    TIMEOUT = "timeout"
    DIED = "died"


class Answer(NamedTuple):
    """Of a call, or of loading. value: where the kind is VALUE; a bool where it is ODD. name: the exception's class.
    text: for a person."""

    kind: Kind
    value: object = None
    name: str = ""
    text: str = ""

    @property
    def described(self) -> str:
        return f"{self.name}: {self.text}" if self.name and self.text else self.name or self.text


class Candidate:
    """Loads the first of `sources` that defines the function, then answers calls. Used by one thread.

    Raises SandboxError from any method where the sandbox failed.
    """

    def __init__(self, sandbox: Sandbox, limits: CodeLimits) -> None:
        self._limits = limits
        self._deadline = time.monotonic() + limits.total_wall_s
        self._session = sandbox.open(Job(files=program(CALLER), limits=limits.of_all()))
        self._over: Answer | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._session.finish()

    def load(self, sources: Sequence[str], entry_point: str | None, prelude: str = "") -> Answer:
        """VALUE with the index of the source that was loaded, or why none was. No entry point: none is run."""
        said = self._ask({"choices": list(sources), "entry_point": entry_point, "prelude": prelude},
                         self._limits.wall_s)
        match said:
            case Answer():
                return said
            case ("loaded", int(index)) if index in range(len(sources)):
                return Answer(Kind.VALUE, index)
            case ("none", str(why)):
                return Answer(Kind.NONE, text=why)
            case ("failed", str(name), str(text)):
                return Answer(Kind.RAISED, name=name, text=text)
        return self._nonsense()

    def call(self, name: str, args: Sequence[object], kwargs: Mapping[str, object]) -> Answer:
        """One call, in a process of its own inside the sandbox. Once the session is over all others fail as it did."""
        order = {"name": name, "args": list(args), "kwargs": dict(kwargs), "cpu_s": math.ceil(self._limits.cpu_s)}
        said = self._ask(order, self._limits.wall_s)
        match said:
            case Answer():
                return said
            case ("ended", int(status), float(cpu_s), bytes(answer)):
                return _read(status, cpu_s, answer, self._limits.cpu_s)
        return self._nonsense()

    def _ask(self, order: dict[str, object], wall_s: float) -> object:
        if self._over is not None:
            return self._over
        left = min(wall_s, self._deadline - time.monotonic())
        try:
            if left <= 0:
                raise TimeoutError
            self._session.send(encode(order), timeout_s=left)
            return decode(self._session.receive(timeout_s=left, limit_bytes=FRAME_BYTES))
        except TimeoutError:
            self._over = Answer(Kind.TIMEOUT, text=f"no answer within {min(wall_s, self._limits.total_wall_s):g} s")
        except EOFError:
            self._over = self._obituary()
        except ValueError:
            self._over = self._nonsense()
        return self._over

    def _obituary(self) -> Answer:
        result = self._session.finish()
        if out_of_time(result):
            return Answer(Kind.TIMEOUT, text="all the time there is was used up")
        how = {Ending.EXITED: f"with status {result.status}", Ending.MEMORY: "out of memory"}
        return Answer(Kind.DIED, text=f"the program ended {how.get(result.ending, f'by signal {result.status - 128}')}")

    def _nonsense(self) -> Answer:
        self._over = Answer(Kind.DIED, text="the program wrote to the channel itself")
        return self._over


def _read(status: int, cpu_s: float, answer: bytes, limit_s: float) -> Answer:
    """One call's end: the wait status of its process, and what it left."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        # Half of it: the kernel counts towards the limit by ticks, which run ahead of what it reports as used.
        if number == signal.SIGXCPU or (number == signal.SIGKILL and cpu_s >= limit_s / 2):
            return Answer(Kind.TIMEOUT, text=f"more than {limit_s:g} s of CPU time")
        return Answer(Kind.DIED, text=f"the call ended by signal {number}")
    if status != 0:
        return Answer(Kind.DIED, text=f"the call ended its process with status {os.waitstatus_to_exitcode(status)}")
    try:
        match decode(answer):
            case ("value", value):
                return Answer(Kind.VALUE, value)
            case ("raised", str(name), str(text)):
                return Answer(Kind.RAISED, name=name, text=text)
            case ("odd", str(why), bool(truth)):
                return Answer(Kind.ODD, truth, text=why)
    except ValueError as error:
        if answer:
            return Answer(Kind.DIED, text=f"what the call left is no plain value within the bounds: {error}")
    return Answer(Kind.DIED, text="the call ended its process without an answer")
