"""Folders that this process makes on the machine for a while, named for it, and those that a killed one left there.

A process is known by its number and start time in its namespace of processes. Does not cover folders of processes in
other namespaces, which may share the folder for temporary files: they cannot be seen from here, and so are kept.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

__all__ = ["ending_cleanly", "lives", "namespace", "prefix", "started", "sweep"]

_NAME = re.compile(r"reasongym-[a-z]+-([0-9]+)-([0-9]+)-([0-9]+)-[^/]+")


def namespace() -> str:
    """Of processes, as the kernel names it: `pid:[4026531836]`."""
    return os.readlink("/proc/self/ns/pid")


def started(pid: str = "self") -> str:
    """In ticks since the machine was. Raises OSError where there is no such process."""
    return Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[19]


def lives(pid: str, start: str) -> bool:
    """Its number may be another process's by now, but not with the same start time."""
    try:
        return started(pid) == start
    except OSError:
        return False


def prefix(kind: str) -> str:
    """Of the names of temporary folders. kind: a word in small letters."""
    return f"reasongym-{kind}-{_digits(namespace())}-{os.getpid()}-{started()}-"


def sweep() -> None:
    """Removes the folders of this namespace whose processes are gone; no link is followed."""
    ours = _digits(namespace())
    for path in Path(tempfile.gettempdir()).glob("reasongym-*"):
        found = _NAME.fullmatch(path.name)
        if found is None or found[1] != ours or lives(found[2], found[3]):
            continue
        with contextlib.suppress(OSError):
            status = path.lstat()
            if stat.S_ISDIR(status.st_mode) and os.geteuid() in (0, status.st_uid):
                shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def ending_cleanly() -> Iterator[None]:
    """SIGTERM and SIGHUP end the main thread by SystemExit, so that what it holds is freed; a second one does nothing.

    One that whoever started this process had it ignore, as `nohup` does, still is.
    """
    before: dict[signal.Signals, Any] = {}

    def end(number: int, frame: FrameType | None) -> None:
        for each in before:
            signal.signal(each, signal.SIG_IGN)
        raise SystemExit(128 + number)

    try:
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, end)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _digits(name: str) -> str:
    return "".join(letter for letter in name if letter.isdigit())
