"""What is asked of a sandbox and what comes back: plain values, the same for every backend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["Ending", "Job", "Limits", "Result", "SandboxError"]


class SandboxError(Exception):
    """The sandbox failed, not the program in it: never a verdict on the program, never a reward."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Of one job, all its processes together unless it says otherwise.

    wall_s, cpu_s: seconds; cpu_s is also each process's own limit. memory_mb: MiB; address space of each process, and
    resident memory of all where control groups are available. processes: threads count too. open_files: of each
    process. file_mb: MiB of the largest file. work_mb: MiB of the work folder and /tmp together. output_kb: KiB kept
    of standard output, and as much again of standard error; the rest is read and dropped.
    """

    wall_s: float = 10.0
    cpu_s: float = 10.0
    memory_mb: int = 512
    processes: int = 16
    open_files: int = 64
    file_mb: int = 16
    work_mb: int = 32
    output_kb: int = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A Python program to run.

    files: name -> content, written to the work folder before the program starts; names are plain, without folders.
    main: the one that runs as `__main__`. arguments: `sys.argv[1:]`. stdin: its standard input.
    """

    files: Mapping[str, bytes]
    main: str = "main.py"
    arguments: tuple[str, ...] = ()
    stdin: bytes = b""
    limits: Limits = field(default_factory=Limits)


class Ending(StrEnum):
    """How a job ended. What the limits ended is no infrastructure failure: the program did it."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    WALL_TIME = "wall_time"
    CPU_TIME = "cpu_time"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """status: the exit status, or 128 + the signal's number. cut: output beyond the limit was dropped.

    cpu_s: of all the job's processes. peak_mb: MiB of resident memory at most, None where nothing counts it.
    layers: names of the layers of isolation that were active, strongest claim first; `none` alone where there was none.
    """

    ending: Ending
    status: int
    stdout: bytes
    stderr: bytes
    cut: bool
    wall_s: float
    cpu_s: float
    peak_mb: float | None
    layers: tuple[str, ...]
