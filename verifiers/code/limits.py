"""How long and how large a candidate may be. CPU time is for what computes, so that a busy machine turns little that is
right into wrong; wall time for what sleeps, and for what got hardly any processor: see docs/verifiers/code.md."""

from __future__ import annotations

import difflib
import math
import signal
from collections.abc import Mapping
from dataclasses import dataclass

from reasongym.sandbox.jobs import Ending, Limits, Result

__all__ = ["LOADING_S", "MAX_OUTPUT", "CodeLimits", "out_of_time", "read_limits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeLimits:
    """cpu_s, wall_s: of one test, or one call that a test makes. total_cpu_s, total_wall_s: of all tests of an answer.
    memory_mb: MiB of address space of each process.

    By default all of it together ends well before `scoring.timeout_s` (10 s) would: a program that sleeps then gets a
    verdict of its own, with what it had earned, and the scoring pool keeps its worker. One call may take all of that:
    with less, two busy neighbours made a right answer of 3 s of CPU time too slow.
    """

    cpu_s: float = 5.0
    wall_s: float = 8.0
    total_cpu_s: float = 7.0
    total_wall_s: float = 8.0
    memory_mb: int = 512

    def of_one(self, *, left_cpu_s: float = math.inf, left_wall_s: float = math.inf) -> Limits:
        """left: of the time for all."""
        return Limits(cpu_s=max(_LEAST_S, min(self.cpu_s, left_cpu_s)), memory_mb=self.memory_mb,
                      wall_s=max(_LEAST_S, min(self.wall_s, left_wall_s)), output_kb=MAX_OUTPUT // 1024)

    def of_all(self) -> Limits:
        return Limits(cpu_s=self.total_cpu_s, wall_s=self.total_wall_s, memory_mb=self.memory_mb)

    def of_tests(self) -> Limits:
        """Of a session that waits until the candidate is loaded."""
        return Limits(cpu_s=self.total_cpu_s, wall_s=self.total_wall_s + LOADING_S, memory_mb=self.memory_mb)


LOADING_S = 1.0
"""By so much later than the candidate's the time of its tests may end: its loading is none of theirs."""
MAX_OUTPUT = 4 * 2**20
"""Bytes of a program's standard output that are read, and so the most that a test can expect."""
_USUAL = CodeLimits()
_LEAST_MB = 64
_LEAST_S = 0.1
"""What an interpreter on a busy machine may take to begin is less."""
_CHOSEN_WALL_S = 60.0
"""For all tests, where a reference chooses its own CPU time: so much of it may pass on a busy machine."""
_LARGEST = {"cpu_s": 60.0, "wall_s": 600.0, "total_cpu_s": 600.0, "total_wall_s": 3600.0, "memory_mb": 8192.0}


def out_of_time(result: Result) -> bool:
    """SIGXCPU too: the kernel may send it before the time that it reports as used has reached the limit."""
    return result.ending in (Ending.CPU_TIME, Ending.WALL_TIME) or result.status == 128 + signal.SIGXCPU


def read_limits(value: object) -> CodeLimits:
    """From a reference's "limits". What it leaves out follows from `cpu_s`. Raises ValueError."""
    if not isinstance(value, Mapping):
        raise ValueError(f'"limits" is an object, got {type(value).__name__}')
    for key, number in value.items():
        if key not in _LARGEST:
            near = difflib.get_close_matches(str(key), _LARGEST, n=1)
            raise ValueError(f"no limit {key!r:.60}, expected some of {', '.join(_LARGEST)}"
                             + (f"; did you mean {near[0]!r}?" if near else ""))
        least = _LEAST_MB if key == "memory_mb" else _LEAST_S
        if isinstance(number, bool) or not isinstance(number, int | float) or not least <= number <= _LARGEST[key]:
            raise ValueError(f"limit {key!r} is a number from {least:g}, which Python itself needs, to "
                             f"{_LARGEST[key]:g}, got {number!r:.40}")
    cpu_s = float(value.get("cpu_s", _USUAL.cpu_s))
    total_cpu_s = float(value.get("total_cpu_s", 3 * cpu_s if "cpu_s" in value else _USUAL.total_cpu_s))
    wall_s = float(value.get("wall_s", max(_USUAL.wall_s, 2 * cpu_s if "cpu_s" in value else 0)))
    chosen_s = max(_CHOSEN_WALL_S, 4 * total_cpu_s) if {"cpu_s", "total_cpu_s"} & value.keys() else 0
    return CodeLimits(cpu_s=cpu_s, wall_s=wall_s, total_cpu_s=total_cpu_s,
                      total_wall_s=float(value.get("total_wall_s", max(_USUAL.total_wall_s, wall_s, chosen_s))),
                      memory_mb=math.ceil(value.get("memory_mb", _USUAL.memory_mb)))
