"""The processes below one, as the machine's own table has them, whether one has ended, and what this one holds open."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import psutil


def below(pid: int) -> list[int]:
    """Children and theirs, in order; none where the process has ended.

    Found by each process's parent: the lists of children under /proc are kept by thread, and change hands as threads
    end.
    """
    try:
        return sorted(process.pid for process in psutil.Process(pid).children(recursive=True))
    except psutil.NoSuchProcess:
        return []


def has_ended(pid: int) -> bool:
    """Reaped, or dead and left to whoever inherited it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def held() -> set[tuple[str, str]]:
    """This process's descriptors, with what they lead to. One that comes was opened meanwhile; one that goes may have
    been an earlier test's garbage."""
    found = set[tuple[str, str]]()
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # the listing's own
            found.add((number, os.readlink(f"/proc/self/fd/{number}")))
    return found
