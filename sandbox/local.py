"""The local backend: walls of Linux namespaces, which need no engine, no image and, where the machine lets users make
namespaces, no rights.

Covers files (a root of its own), processes, network, IPC and host name by namespaces; time, memory and amounts by
limits; the kernel's surface by a filter. It does not cover faults of the kernel itself, which all workers and the host
share: a virtual machine, or gVisor behind the docker backend, does. The system's programs and libraries stay readable.
"""

from __future__ import annotations

import os
import pwd
import shutil
import sys
import tempfile
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

from reasongym.sandbox import boot, leftovers
from reasongym.sandbox.cgroups import Groups
from reasongym.sandbox.jobs import SandboxError
from reasongym.sandbox.namespaces import LINKS, PARTS, RESIDENTS, Spec
from reasongym.sandbox.process import ChildEnclosure

__all__ = ["LAYERS", "LocalWalls", "NoWalls", "hidden_folders", "shown_folders"]

LAYERS = ("user", "mount", "pid", "network", "ipc", "uts", "seccomp", "capabilities", "rlimits", "watch", "cleaning")
"""What the local backend puts in place, with `cgroup` where the machine's control groups can be written to."""
NEEDED = frozenset({"user", "watch"})
PACKAGES = ("site-packages", "dist-packages")
START_MB = 32


class LocalWalls:
    """without: layers given up by name."""

    name = "local"

    def __init__(self, *, without: Collection[str] = ()) -> None:
        known = {*LAYERS, "cgroup"} - NEEDED
        if unknown := set(without) - known:
            raise ValueError(f"no layer to go without is named {sorted(unknown)}; expected some of {sorted(known)}")
        self._without = sorted(without)
        self._groups = None if "cgroup" in without else Groups()
        counted = ("cgroup",) if self._groups is not None and self._groups.available else ()
        gone = {*without} | ({"watch"} if {"mount", "pid"} & {*without} else set())  # it reads the /proc inside
        self.layers = tuple(layer for layer in (*LAYERS, *counted) if layer not in gone)
        self._python = boot.interpreter()
        self._outer_id = unused_id() if os.geteuid() == 0 else None

    def build(self) -> ChildEnclosure:
        """As Walls.build."""
        binds = shown_folders(self._python)
        spec = Spec(host_pid=os.getpid(), binds=binds, masked=hidden_folders(binds), without=tuple(self._without),
                    work_mb=START_MB, outer_id=self._outer_id)
        walled = "mount" not in self._without
        folder, cleanup = (None, None) if walled else temporary_folder(self._outer_id)
        settings = {"work": folder or PARTS["work"], "writable": list(PARTS.values()) if walled else [folder],
                    "without": self._without, "resizable": walled,
                    "residents": RESIDENTS - (self._outer_id is not None)}
        return ChildEnclosure(partial(boot.command, "namespaces", python=self._python), settings, groups=self._groups,
                              spec=spec._asdict(), cleanup=cleanup)

    def close(self) -> None:
        """As Walls.close."""
        if self._groups is not None:
            self._groups.close()


class NoWalls:
    """No isolation: for machines and tests that can have none and say so. Times, sizes and cleaning as elsewhere."""

    name = "none"
    layers: tuple[str, ...] = ("none",)

    def build(self) -> ChildEnclosure:
        """As Walls.build."""
        folder, cleanup = temporary_folder(None)
        settings = {"work": folder, "writable": [folder], "without": ["seccomp", "capabilities"], "resizable": False,
                    "residents": None}
        return ChildEnclosure(partial(boot.command, "agent", python=boot.interpreter()), settings, cleanup=cleanup)

    def close(self) -> None:
        """As Walls.close."""


def temporary_folder(owner: int | None) -> tuple[str, Callable[[], None]]:
    """A folder of the machine's for jobs without a root of their own, and how to remove it."""
    folder = tempfile.mkdtemp(prefix=leftovers.prefix("sandbox"))
    if owner is not None:
        os.chown(folder, owner, owner)
    return folder, partial(shutil.rmtree, folder, ignore_errors=True)


def shown_folders(python: str) -> tuple[str, ...]:
    """What an interpreter needs to read: programs and libraries of the system and of its own prefix, which may lie in a
    home folder and hold environments full of other things. Not all of /usr: projects are put in /usr/src."""
    prefix = Path(sys.base_prefix)
    shown: list[str] = []
    wanted = [*(Path(root, name) for root in ("/", "/usr") for name in LINKS if not Path(root, name).is_symlink()),
              Path("/usr/share/zoneinfo"), prefix / "bin", prefix / "lib", prefix / "lib64",
              Path(python).parent, Path(os.__file__).parent]
    for path in (path.resolve() for path in wanted):
        if path.is_dir() and not any(path.is_relative_to(folder) for folder in shown):
            shown.append(str(path))
    return tuple(shown)


def hidden_folders(shown: Collection[str]) -> tuple[str, ...]:
    """Installed packages, of which one may hold answers, and this project's folder where it lies in what is shown."""
    project = Path(__file__).resolve().parents[1]
    roots = {Path(folder, part) for folder in shown for part in ("", "lib", "lib64")}
    found = {path.resolve() for root in roots for kind in PACKAGES for path in root.glob(f"python3*/{kind}")}
    found |= {project} if any(project.is_relative_to(folder) for folder in shown) else set()
    return tuple(sorted(str(path) for path in found if path.is_dir()))


def unused_id() -> int:
    """A user id that is mapped here and has no name, and so, on a sane machine, neither files nor processes."""
    with open("/proc/self/uid_map") as file:
        ranges = [tuple(int(word) for word in line.split()) for line in file]
    first, _, count = max(ranges, key=lambda one: one[0] + one[2])
    taken = {entry.pw_uid for entry in pwd.getpwall()} | {65534, 65535, 2**32 - 1, 2**32 - 2}
    highest = min(first + count - 1, 2**31 - 4096)
    for candidate in range(highest, max(first, highest - 4096), -1):
        if candidate not in taken:
            return candidate
    raise SandboxError(f"no unused user id for the sandbox: got a range of {count} ids, expected one without a name; "
                       "remedy: run as a user other than root")
