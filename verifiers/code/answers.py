"""What a candidate answered, read from what its process said: its word, and whatever that is, an answer.

Nothing here raises on any bytes: an answer that made the host fail would leave its group whenever it pleased.
"""

from __future__ import annotations

import math
import os
import signal
from enum import StrEnum
from typing import NamedTuple

from reasongym.verifiers.code.inside.values import decode

__all__ = ["NONSENSE", "Answer", "Kind", "read_loaded", "read_returned"]

_TEXT = 200
"""Characters of what it says that are kept."""


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
    """Of a call, or of loading. value: where the kind is VALUE; a bool where it is ODD. name, base: the exception's
    class, and the built-in one that it is of. text: for a person. arguments: what the exception was made of."""

    kind: Kind
    value: object = None
    name: str = ""
    base: str = ""
    text: str = ""
    arguments: tuple[object, ...] = ()

    @property
    def described(self) -> str:
        return f"{self.name}: {self.text}" if self.name and self.text else self.name or self.text


NONSENSE = Answer(Kind.DIED, text="the program wrote to the channel itself")


def read_loaded(said: object, num_choices: int) -> Answer:
    """VALUE with the index of the source that was loaded, or why none was."""
    match said:
        case ("loaded", int(index)) if index in range(num_choices):
            return Answer(Kind.VALUE, index)
        case ("none", str(why)):
            return Answer(Kind.NONE, text=why[:_TEXT])
        case ("failed", str(name), str(base), str(text)):
            return Answer(Kind.RAISED, name=name[:_TEXT], base=base[:_TEXT], text=text[:_TEXT])
    return NONSENSE


def read_returned(said: object, limit_s: float) -> Answer:
    """One call's end: the wait status of its process, its CPU seconds, and what it left."""
    match said:
        case ("ended", int(status), float(cpu_s), bytes(left)) if _is_end(status) and 0 <= cpu_s < math.inf:
            return _read_end(status, cpu_s, left, limit_s)
    return NONSENSE


def _is_end(status: int) -> bool:
    """Of a process that is over: 0x137f is of one that is stopped."""
    return 0 <= status <= 0xFFFF and (os.WIFEXITED(status) or os.WIFSIGNALED(status))


def _read_end(status: int, cpu_s: float, left: bytes, limit_s: float) -> Answer:
    killed_by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    # Half of it: the kernel counts towards the limit by ticks, which run ahead of what it reports as used.
    if killed_by == signal.SIGXCPU or (killed_by == signal.SIGKILL and cpu_s >= limit_s / 2) or cpu_s > limit_s:
        return Answer(Kind.TIMEOUT, text=f"more than {limit_s:g} s of CPU time")
    if killed_by:
        return Answer(Kind.DIED, text=f"the call ended by signal {killed_by}")
    if status != 0:
        return Answer(Kind.DIED, text=f"the call ended its process with status {os.waitstatus_to_exitcode(status)}")
    return _read_left(left)


def _read_left(left: bytes) -> Answer:
    try:
        match decode(left):
            case ("value", value):
                return Answer(Kind.VALUE, value)
            case ("raised", str(name), str(base), str(text), tuple(arguments)):
                return Answer(Kind.RAISED, name=name[:_TEXT], base=base[:_TEXT], text=text[:_TEXT],
                              arguments=arguments)
            case ("odd", str(why), bool(truth)):
                return Answer(Kind.ODD, truth, text=why[:_TEXT])
    except ValueError as error:
        if left:
            return Answer(Kind.DIED, text=f"what the call left is no plain value within the bounds: {error}")
    return Answer(Kind.DIED, text="the call ended its process without an answer")
