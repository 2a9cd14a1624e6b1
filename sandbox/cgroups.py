"""Control groups, where this user may make them: memory and processes of a worker counted and limited by the kernel.

Both kinds: the controllers of version 1, each with a tree of its own, and the one tree of version 2. A group is made
below the one this process is in, or, in version 2, beside it, never elsewhere: what limits this process goes on to
limit what it runs. Does not cover machines where neither can be written to: there the agent's own counting is all.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from pathlib import Path

from reasongym.sandbox.jobs import Limits
from reasongym.sandbox.running import Memory

__all__ = ["ControlGroup", "Groups"]

MIB = 2**20
OVERHEAD_MB = 48
"""The agent and its waiting interpreter are in the group, and so are pipes, sockets and page tables."""
OVERHEAD_PROCESSES = 2
_numbers = itertools.count()


class Groups:
    """Finds where groups can be made, and makes them. mounts, membership: other files in tests."""

    def __init__(self, *, mounts: Path = Path("/proc/self/mounts"),
                 membership: Path = Path("/proc/self/cgroup")) -> None:
        self._parents = _parents(mounts.read_text(), membership.read_text())
        self.available = False
        if self._parents:
            self.close()
            with contextlib.suppress(OSError):
                self.make(None).remove()
                self.available = True

    def make(self, pid: int | None) -> ControlGroup:
        """A new group with the process in it. Raises OSError."""
        name = f"reasongym-{os.getpid()}-{next(_numbers)}"
        group = ControlGroup({controller: parent / name for controller, parent in self._parents.items()})
        try:
            group.create(pid)
        except OSError:
            group.remove()
            raise
        return group

    def close(self) -> None:
        """Groups of processes that are gone, of a host that was killed too, are removed."""
        for parent in self._parents.values():
            for left in parent.glob("reasongym-*-*"):
                pid = left.name.split("-")[1]
                if not Path("/proc", pid).exists():
                    with contextlib.suppress(OSError):
                        left.rmdir()


def _parents(mounts: str, membership: str) -> dict[str, Path]:
    """Controller -> folder below which groups may be made, both memory and pids or none."""
    own: dict[str, str] = {}
    for line in membership.splitlines():
        _, controllers, path = line.split(":", 2)
        own |= {controller: path.lstrip("/") for controller in controllers.split(",")}
    found: dict[str, Path] = {}
    for line in mounts.splitlines():
        _, place, kind, options = line.split()[:4]
        if kind == "cgroup":
            found |= {name: Path(place, own[name]) for name in ("memory", "pids")
                      if name in options.split(",") and name in own}
        elif kind == "cgroup2" and "" in own and (parent := _unified_parent(Path(place), Path(place, own[""]))):
            found |= dict.fromkeys(("memory", "pids"), parent)
    writable = all(os.access(parent, os.W_OK | os.X_OK) for parent in found.values())
    return found if len(found) == 2 and writable else {}


def _unified_parent(root: Path, own: Path) -> Path | None:
    """The own group, with this process in it, can have none below it; so one beside it, where that escapes no limit."""
    for folder in (own, own.parent):
        if not folder.is_relative_to(root):
            return None
        with contextlib.suppress(OSError):
            if {"memory", "pids"} <= set((folder / "cgroup.subtree_control").read_text().split()):
                return folder
            limits = {(folder / name).read_text().strip() for name in ("memory.max", "pids.max")}
            if limits - {"max"}:
                return None
    return None


class ControlGroup:
    """The folders of one worker, one or two of them."""

    def __init__(self, folders: dict[str, Path]) -> None:
        self._folders = folders
        memory = folders["memory"]
        self._unified = memory == folders["pids"]
        self._limits: Limits | None = None
        self._killed_before = 0
        self._peak = memory / ("memory.peak" if self._unified else "memory.max_usage_in_bytes")
        self._events = memory / ("memory.events" if self._unified else "memory.oom_control")

    def create(self, pid: int | None) -> None:
        """Raises OSError."""
        for folder in set(self._folders.values()):
            folder.mkdir()
            if pid is not None:
                (folder / "cgroup.procs").write_text(str(pid))

    def prepare(self, limits: Limits) -> None:
        """Set the limits where they differ from the last job's, and count anew."""
        if self._limits is None or (self._limits.memory_mb, self._limits.processes) != (
                limits.memory_mb, limits.processes):
            self._set(limits)
        if not self._unified:
            self._peak.write_text("0")
        self._killed_before = self._killed()

    def _set(self, limits: Limits) -> None:
        memory = self._folders["memory"]
        size = str((limits.memory_mb + OVERHEAD_MB) * MIB)
        if self._unified:
            (memory / "memory.max").write_text(size)
            swap = memory / "memory.swap.max"
            if swap.exists():
                swap.write_text("0")
        else:
            (memory / "memory.limit_in_bytes").write_text(size)
        (self._folders["pids"] / "pids.max").write_text(str(limits.processes + OVERHEAD_PROCESSES))
        self._limits = limits

    def memory(self) -> Memory:
        """Of the unified kind the peak is of the worker's whole life where the kernel cannot count it anew."""
        try:
            peak_mb = None if self._unified else int(self._peak.read_text()) / MIB
            return Memory(peak_mb, ran_out=self._killed() > self._killed_before)
        except OSError:
            return Memory(None, ran_out=False)

    def _killed(self) -> int:
        for line in self._events.read_text().splitlines():
            name, _, value = line.partition(" ")
            if name == "oom_kill":
                return int(value)
        return 0

    def remove(self) -> None:
        """A group empties a moment after its last process was reaped."""
        for folder in set(self._folders.values()):
            for wait_s in (0.0, 0.01, 0.05, 0.2, 0.5):
                time.sleep(wait_s)
                try:
                    folder.rmdir()
                except FileNotFoundError:
                    break
                except OSError:
                    continue
                break
