"""The docker backend: walls that a container engine builds, through the Docker SDK.

Covers files (a read-only root from an image of its own), processes, network, IPC and host name by the engine's
namespaces; memory without swap, processes and CPU by its control groups; the kernel's surface by the profile of
`seccomp.json` and, for the job itself, by the same filter as elsewhere. No capability, no new privilege, no user with a
name, nothing of /sys and of /proc only processes. It does not cover faults of the kernel, which all containers share,
unless the runtime is another kernel (`runsc`), nor an engine that itself is not to be trusted: who may speak to its
socket can become root.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import NamedTuple

from reasongym.sandbox import image, leftovers
from reasongym.sandbox.docker_api import Engine
from reasongym.sandbox.docker_container import GVISOR, LABEL, Container, Size, Spec, host_labels
from reasongym.sandbox.jobs import Job, Limits, SandboxError
from reasongym.sandbox.pool import Pool

__all__ = ["LAYERS", "DockerWalls", "Report", "look", "open_docker"]

LAYERS = ("mount", "pid", "network", "ipc", "uts", "cgroup", "seccomp", "capabilities", "rlimits", "watch", "cleaning")
"""Always; before them `gvisor` with that runtime, and `user` where the engine maps users or is itself no root's."""
OPTIONAL = frozenset({"network", "cgroup", "seccomp", "capabilities", "rlimits", "cleaning"})
COUNTED = {"MemoryLimit": "memory", "PidsLimit": "processes", "CpuCfsQuota": "CPU time"}
RUNTIME_VARIABLE = "REASONGYM_DOCKER_RUNTIME"


class Report(NamedTuple):
    """What is there: the engine's version, the image's name, and whether it has been built."""

    version: str
    image: str
    image_is_built: bool


class DockerWalls:
    """without: layers given up by name. runtime: one that the engine knows, empty for its own."""

    name = "docker"

    def __init__(self, engine: Engine, *, without: Collection[str] = (), runtime: str = "") -> None:
        if unknown := set(without) - OPTIONAL:
            raise ValueError(f"no layer of the docker sandbox to go without is named {sorted(unknown)}; expected some "
                             f"of {sorted(OPTIONAL)}")
        _check_engine(engine, without, runtime)
        self._engine = engine
        self._spec = Spec(image=image.tag(), runtime=runtime, without=frozenset(without),
                          swap_can_be_limited=bool(engine.details.get("SwapLimit")))
        self.layers = (*_more_layers(engine, runtime), *(layer for layer in LAYERS if layer not in without))
        self._size = Size.of(Limits())
        remove_orphans(engine)

    def build(self) -> Container:
        """As Walls.build."""
        return Container(self._engine, self._spec, self._size)

    def close(self) -> None:
        """As Walls.close."""
        self._engine.close()


def open_docker(*, workers: int, without: Collection[str] = frozenset(), host: str | None = None,
                runtime: str | None = None) -> Pool:
    """A sandbox whose first container stands.

    host: of the engine, `unix://PATH`; by default DOCKER_HOST's, the system's or this user's. runtime: by default what
    REASONGYM_DOCKER_RUNTIME names, else the engine's. Raises SandboxError saying what is missing.
    """
    chosen = runtime if runtime is not None else os.environ.get(RUNTIME_VARIABLE, "")
    engine = Engine(host)
    try:
        walls = DockerWalls(engine, without=without, runtime=chosen)
    except BaseException:  # any: its connections are nobody else's
        engine.close()
        raise
    pool = Pool(walls, workers=workers)
    try:
        _try_out(pool, chosen)
    except BaseException:  # any: its workers are nobody else's
        pool.close()
        raise
    return pool


def _try_out(pool: Pool, runtime: str) -> None:
    """A kernel that is not Linux may lack what the agent needs during a job alone: gVisor's of 2022 has no pidfd_open,
    and no runtime of its kind passes descriptors unless told to."""
    pool.check()
    if runtime:
        try:
            pool.run(Job(files={"main.py": b""}))
        except SandboxError as error:
            raise SandboxError(f"the runtime {runtime} cannot run a job: {error}; expected one that passes descriptors "
                               "over a socket and has pidfd_open; remedy: a newer release, or the engine's own runtime"
                               ) from error


def look(host: str | None = None) -> Report:
    """Raises SandboxError where no engine answers."""
    engine = Engine(host)
    try:
        return Report(str(engine.details["ServerVersion"]), image.tag(), engine.has_image(image.tag()))
    finally:
        engine.close()


def _check_engine(engine: Engine, without: Collection[str], runtime: str) -> None:
    known = sorted(engine.details.get("Runtimes") or {})
    if runtime and runtime not in known:
        raise SandboxError(f"the Docker engine knows no runtime {runtime!r}, only {', '.join(known)}; remedy: install "
                           "it and add it to the engine's configuration, or use the engine's own")
    absent = [what for key, what in COUNTED.items() if not engine.details.get(key)]
    if absent and "cgroup" not in without:
        raise SandboxError(f"the Docker engine cannot limit {', '.join(absent)}; expected control groups that it may "
                           "write to; remedy: delegate them (systemd: Delegate=yes), or go without the layer `cgroup`")
    if not any("seccomp" in option for option in engine.details.get("SecurityOptions") or ()) and (
            "seccomp" not in without):
        raise SandboxError("the Docker engine was built without seccomp; remedy: use another, or go without the layer "
                           "`seccomp`")
    if not engine.has_image(image.tag()):
        raise SandboxError(f"the Docker engine at {engine.host} has no image {image.tag()}; remedy: `reasongym sandbox "
                           "build`")


def _more_layers(engine: Engine, runtime: str) -> tuple[str, ...]:
    options = " ".join(engine.details.get("SecurityOptions") or ())
    mapped = "name=rootless" in options or "name=userns" in options
    return (("gvisor",) if runtime.startswith(GVISOR) else ()) + (("user",) if mapped else ())


def remove_orphans(engine: Engine) -> None:
    """Containers whose host process is gone. Most ended with it; not one that it had made and not yet started."""
    ours = host_labels()
    with engine.doing("listing containers"):
        found = engine.api.containers(all=True, filters={"label": LABEL})
    for container in found:
        labels: Mapping[str, str] = container.get("Labels") or {}
        if labels.get(f"{LABEL}.namespace") == ours[f"{LABEL}.namespace"] and not leftovers.lives(
                labels.get(f"{LABEL}.pid", ""), labels.get(f"{LABEL}.started", "")):
            engine.remove(container["Id"])
