"""What a container's control group counted, read from the host's own files, where this user may.

Does not cover an engine whose groups are not seen from here: then only the agent's own counting is left.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from reasongym.sandbox.running import Memory

__all__ = ["Counts"]

MIB = 2**20
MOUNT = Path("/sys/fs/cgroup")


class Counts:
    """pid: of the agent, 0 where unknown."""

    def __init__(self, pid: int, *, mount: Path = MOUNT, processes: Path = Path("/proc")) -> None:
        self._folder = _folder(pid, mount, processes)
        self._resettable = False
        self._killed_before = 0

    def begin(self) -> None:
        """Count anew."""
        self._resettable = False
        if self._folder is None:
            return
        with contextlib.suppress(OSError):  # of version 2, or another user's: its peak is then of its whole life
            with (self._folder / "memory.max_usage_in_bytes").open("r+") as file:
                file.write("0")
            self._resettable = True
        self._killed_before = self._killed()

    def memory(self) -> Memory:
        """As Enclosure.memory."""
        peak_mb = None
        if self._folder is not None and self._resettable:
            with contextlib.suppress(OSError):
                peak_mb = int((self._folder / "memory.max_usage_in_bytes").read_text()) / MIB
        return Memory(peak_mb, ran_out=self._killed() > self._killed_before)

    def _killed(self) -> int:
        """How many processes were killed for memory."""
        if self._folder is None:
            return 0
        for name in ("memory.events", "memory.oom_control"):
            with contextlib.suppress(OSError):
                for line in (self._folder / name).read_text().splitlines():
                    if line.startswith("oom_kill "):
                        return int(line.split()[1])
        return 0


def _folder(pid: int, mount: Path, processes: Path) -> Path | None:
    """The group that counts a process's memory: of version 1 where that has the controller, else of version 2."""
    try:
        lines = (processes / str(pid) / "cgroup").read_text().splitlines() if pid else []
    except OSError:
        return None
    paths = {controllers: path.lstrip("/") for _, controllers, path in (line.split(":", 2) for line in lines)}
    choices = [mount / "memory" / path for controllers, path in paths.items() if "memory" in controllers.split(",")]
    choices += [mount / paths[""]] if "" in paths else []
    return next((folder for folder in choices if (folder / "memory.events").exists()
                 or (folder / "memory.oom_control").exists()), None)
