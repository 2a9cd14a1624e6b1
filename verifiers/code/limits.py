"""How long and how large a candidate may be. CPU time decides, so that a busy machine turns nothing right into wrong;
wall time is for what sleeps."""

from __future__ import annotations

import difflib
import math
import signal
from collections.abc import Mapping
from dataclasses import dataclass

from reasongym.sandbox.jobs import Ending, Limits, Result

__all__ = ["CodeLimits", "out_of_time", "read_limits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeLimits:
    """cpu_s, wall_s: of one test, or one call that a test makes. total_cpu_s, total_wall_s: of all tests of an answer.
    memory_mb: MiB of address space of each process."""

    cpu_s: float = 5.0
    wall_s: float = 8.0
    total_cpu_s: float = 15.0
    total_wall_s: float = 60.0
    memory_mb: int = 512

    def of_one(self) -> Limits:
        return Limits(cpu_s=self.cpu_s, wall_s=self.wall_s, memory_mb=self.memory_mb)

    def of_all(self) -> Limits:
        return Limits(cpu_s=self.total_cpu_s, wall_s=self.total_wall_s, memory_mb=self.memory_mb)


_USUAL = CodeLimits()
_LEAST_MB = 64
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
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number <= _LARGEST[key]:
            raise ValueError(f"limit {key!r} is a number above 0, at most {_LARGEST[key]:g}, got {number!r:.40}")
        if key == "memory_mb" and number < _LEAST_MB:
            raise ValueError(f"limit 'memory_mb' is at least {_LEAST_MB}, which Python itself needs, got {number!r}")
    cpu_s = float(value.get("cpu_s", _USUAL.cpu_s))
    total_cpu_s = float(value.get("total_cpu_s", 3 * cpu_s))
    wall_s = float(value.get("wall_s", max(_USUAL.wall_s, 2 * cpu_s)))
    total_wall_s = float(value.get("total_wall_s", max(_USUAL.total_wall_s, 4 * total_cpu_s)))
    return CodeLimits(cpu_s=cpu_s, wall_s=wall_s, total_cpu_s=total_cpu_s, total_wall_s=total_wall_s,
                      memory_mb=math.ceil(value.get("memory_mb", _USUAL.memory_mb)))
