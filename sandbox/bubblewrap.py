"""Walls by bubblewrap, for machines that let this program make namespaces where they let no other: the agent inside and
everything around it are the local backend's.

Covers what `local.py` covers, with these differences: the kernel's settings in /proc can be read; what is written can
be executed; memory is bounded by the agent's watch, not by control groups; and the writable folders have a fixed size,
so that a job that asks for less is refused. Not for root, whom bubblewrap would leave root's own files.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection
from pathlib import Path

from reasongym.sandbox import boot
from reasongym.sandbox.jobs import Limits, SandboxError
from reasongym.sandbox.local import LAYERS, hidden_folders, shown_folders
from reasongym.sandbox.namespaces import DEVICES, INNER_ID, LINKS, PARTS, STREAMS
from reasongym.sandbox.process import ChildEnclosure

__all__ = ["BubblewrapWalls"]

AGENT_AT = "/agent"
PART_MB = 8
RESIDENTS = 1
NAMESPACES = {"pid": "--unshare-pid", "network": "--unshare-net", "ipc": "--unshare-ipc", "uts": "--unshare-uts"}


class FixedEnclosure(ChildEnclosure):
    """Its writable folders cannot be given another size."""

    def prepare(self, limits: Limits) -> None:
        """As Enclosure.prepare. Raises ValueError for a limit that would not hold."""
        if limits.work_mb < PART_MB * len(PARTS):
            raise ValueError(f"bubblewrap's folders have a fixed size: got work_mb={limits.work_mb}, expected at least "
                             f"{PART_MB * len(PARTS)}; remedy: allow more, or use local or docker")


class BubblewrapWalls:
    """without: as of LocalWalls, but that the root of its own stays."""

    name = "bubblewrap"

    def __init__(self, *, without: Collection[str] = ()) -> None:
        if "mount" in without:
            raise ValueError("bubblewrap is a root of its own: got without mount; remedy: use local")
        program = shutil.which("bwrap")
        if program is None:
            raise SandboxError("bubblewrap is not installed: got no bwrap on PATH; remedy: install bubblewrap")
        if os.geteuid() == 0:
            raise SandboxError("bubblewrap would give jobs root's files: got user 0; remedy: use local")
        self._program = program
        self._without = sorted(without)
        self.layers = tuple(layer for layer in LAYERS if layer not in without)
        self._python = boot.interpreter()

    def build(self) -> ChildEnclosure:
        """As Walls.build."""
        settings = {"work": PARTS["work"], "writable": list(PARTS.values()), "without": self._without,
                    "resizable": False, "residents": RESIDENTS}
        return FixedEnclosure(self._command, settings)

    def close(self) -> None:
        """As Walls.close."""

    def _command(self, control_fd: int) -> list[str]:
        inner = boot.command("agent", control_fd, python=self._python, folder=AGENT_AT)
        return [self._program, *self._namespaces(), *self._files(), "--chdir", "/", "--", *inner]

    def _namespaces(self) -> list[str]:
        flags = [flag for layer, flag in NAMESPACES.items() if layer not in self._without]
        return ["--unshare-user", "--unshare-cgroup-try", *flags, "--uid", str(INNER_ID), "--gid", str(INNER_ID),
                *(["--as-pid-1"] if "pid" not in self._without else []), "--cap-drop", "ALL",
                *(["--hostname", "sandbox"] if "uts" not in self._without else [])]

    def _files(self) -> list[str]:
        shown = shown_folders(self._python)
        links = [name for name in LINKS if os.path.islink(f"/{name}")]
        arguments = [word for path in shown for word in ("--ro-bind", path, path)]
        arguments += [word for name in links for word in ("--symlink", os.readlink(f"/{name}"), f"/{name}")]
        arguments += [word for name in DEVICES for word in ("--dev-bind", f"/dev/{name}", f"/dev/{name}")]
        for path in hidden_folders(shown):
            arguments += ["--tmpfs", path, "--remount-ro", path]
        for name, target in STREAMS.items():
            arguments += ["--symlink", target, f"/dev/{name}"]
        arguments += ["--ro-bind", str(Path(__file__).resolve().parent), AGENT_AT, "--proc", "/proc"]
        for place in PARTS.values():
            arguments += ["--perms", "0700", "--size", str(PART_MB * 2**20), "--tmpfs", place]
        return [*arguments, "--remount-ro", "/"]
