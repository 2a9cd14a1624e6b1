"""Which backend runs: by name, or by what the machine has. Nothing weaker than asked for is ever chosen."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from reasongym.sandbox import leftovers
from reasongym.sandbox.bubblewrap import BubblewrapWalls
from reasongym.sandbox.jobs import SandboxError
from reasongym.sandbox.local import LocalWalls, NoWalls
from reasongym.sandbox.pool import Pool

if TYPE_CHECKING:
    from reasongym.sandbox.backend import Sandbox

__all__ = ["BACKENDS", "open_sandbox"]

BACKENDS = ("auto", "docker", "local", "none")


def open_sandbox(name: str = "auto", *, workers: int | None = None, without: Collection[str] = frozenset(),
                 unsafe_no_isolation: bool = False) -> Sandbox:
    """A sandbox whose first worker stands.

    name: `auto` is docker where an engine answers and has the image, else local; `none` isolates nothing and needs
    unsafe_no_isolation. workers: jobs at once, by default one a processor. without: layers given up by name; each
    result names those that were left. Raises SandboxError saying what is missing, ValueError for unknown names.
    """
    workers = workers if workers is not None else len(os.sched_getaffinity(0))
    if name not in BACKENDS:
        raise ValueError(f"no sandbox is named {name!r}; expected one of {', '.join(BACKENDS)}")
    leftovers.sweep()
    if name == "none":
        if not unsafe_no_isolation:
            raise ValueError("the sandbox `none` isolates nothing: got the name alone, expected unsafe_no_isolation "
                             "beside it; remedy: use local or docker, or say so where the code is your own")
        return _standing(Pool(NoWalls(), workers=workers))
    openers: dict[str, Callable[[], Sandbox]] = {"docker": lambda: _open_docker(workers, without),
                                                 "local": lambda: _open_local(workers, without)}
    if name != "auto":
        return openers[name]()
    refusals = []
    for backend, opener in openers.items():
        try:
            return opener()
        except SandboxError as error:
            refusals.append(f"{backend}: {error}")
    raise SandboxError("no sandbox can be had on this machine:\n  " + "\n  ".join(refusals))


def _open_local(workers: int, without: Collection[str]) -> Pool:
    """Of our own namespaces, else of bubblewrap's, which some machines let make them where they let no other program:
    the same layers, so that nothing weaker is had."""
    try:
        return _standing(Pool(LocalWalls(without=without), workers=workers))
    except SandboxError as error:
        if "mount" in without or shutil.which("bwrap") is None or os.geteuid() == 0:
            raise
        try:
            return _standing(Pool(BubblewrapWalls(without=without), workers=workers))
        except SandboxError as other:
            raise SandboxError(f"{error}\n  with bubblewrap: {other}") from other


def _open_docker(workers: int, without: Collection[str]) -> Sandbox:
    try:
        from reasongym.sandbox.docker_engine import open_docker
    except ImportError as error:
        raise SandboxError(f"the docker backend cannot be loaded ({error}); remedy: pip install docker") from error
    return open_docker(workers=workers, without=without)


def _standing(pool: Pool) -> Pool:
    """What is missing is said when a sandbox is opened, not when the first answer is to be scored."""
    try:
        pool.check()
    except BaseException:  # cleaned up, and raised again
        pool.close()
        raise
    return pool
