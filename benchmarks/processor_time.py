"""Processor time of a run by what its processes are for. Linux only: read from /proc."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

__all__ = ["seconds_by_part"]

PARTS = {"ray::StandInEngine": "engines", "ray::StandInRank": "ranks", "reasongym.scoring.worker": "scoring"}
"""What a command line has in it, and the part that it belongs to; any other process is Ray's."""
PARENT, USER, SYSTEM = 1, 11, 12  # places in /proc/<pid>/stat behind the name, which may hold spaces


def seconds_by_part() -> dict[str, float]:
    """Since each began: of this process, `driver`, and of those that it started and that still run."""
    stats = {pid: fields for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))) if (fields := _stat(pid))}
    parents = {pid: int(fields[PARENT]) for pid, fields in stats.items()}
    found = Counter[str]()
    for pid, fields in stats.items():
        if (part := _part(pid, parents)) is not None:
            found[part] += (int(fields[USER]) + int(fields[SYSTEM])) / os.sysconf("SC_CLK_TCK")
    return dict(found)


def _part(pid: int, parents: dict[int, int]) -> str | None:
    """None where this process did not start it."""
    if pid == os.getpid():
        return "driver"
    above = pid
    while above in parents and above != os.getpid():
        above = parents[above]
    if above != os.getpid():
        return None
    command = _read(pid, "cmdline")
    return next((part for words, part in PARTS.items() if words in command), "ray")


def _stat(pid: int) -> list[str]:
    return _read(pid, "stat").rpartition(")")[2].split()


def _read(pid: int, name: str) -> str:
    """Empty where the process has ended."""
    try:
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    except OSError:
        return ""
