"""The image that containers run: Python and its standard library, nothing else, built where they are to run.

Two ways: the Dockerfile, which needs the base image here or a registry, and Debian packages, which need `debootstrap`
and apt's mirror. Neither holds code of this project: the agent is shown to each container when it starts.
"""

from __future__ import annotations

import hashlib
import io
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

from reasongym.sandbox import image_debian, leftovers
from reasongym.sandbox.docker_api import Engine
from reasongym.sandbox.jobs import SandboxError

__all__ = ["NAME", "Way", "build_image", "follow", "import_image", "tag"]

NAME = "reasongym-sandbox"
DOCKERFILE = Path(__file__).with_name("Dockerfile")
DEADLINE_S = 900.0
Way = Literal["auto", "pull", "debootstrap"]
Progress = Callable[[str], None]


def tag() -> str:
    """Name and version: an image made by another recipe is not found, and so made anew."""
    recipe = DOCKERFILE.read_bytes() + image_debian.recipe()
    return f"{NAME}:{hashlib.sha256(recipe).hexdigest()[:12]}"


def build_image(*, way: Way = "auto", host: str | None = None, progress: Progress = print, force: bool = False,
                deadline_s: float = DEADLINE_S) -> str:
    """Returns the tag. `auto` is the Dockerfile, and debootstrap where its base image cannot be had.

    progress: called with a line for each step. force: even where the engine has it. Raises SandboxError saying what
    is missing, or what took longer than deadline_s seconds in all.
    """
    if way not in (ways := ("auto", "pull", "debootstrap")):
        raise ValueError(f"no way to build an image is named {way!r}; expected one of {', '.join(ways)}")
    until = time.monotonic() + deadline_s
    leftovers.sweep()
    engine = Engine(host, answer_s=min(deadline_s, 120.0))
    try:
        if engine.has_image(tag()) and not force:
            progress(f"{tag()} is already there")
            return tag()
        if way == "auto":
            way = _chosen_way(engine, progress, until)
        if way == "pull":
            _build_from_dockerfile(engine, progress, until)
        else:
            with tempfile.TemporaryDirectory(prefix=leftovers.prefix("image")) as folder:
                archive = Path(folder, "root.tar")
                image_debian.make_archive(archive, progress, until)
                _import(engine, archive, progress)
    finally:
        engine.close()
    return tag()


def import_image(archive: Path, *, host: str | None = None, progress: Progress = print) -> str:
    """From the archive of a root file system that `image_debian.make_archive` made earlier. Returns the tag."""
    engine = Engine(host, answer_s=120.0)
    try:
        _import(engine, archive, progress)
    finally:
        engine.close()
    return tag()


def _import(engine: Engine, archive: Path, progress: Progress) -> None:
    progress(f"importing {archive.stat().st_size / 2**20:.0f} MiB into the engine as {tag()}")
    with engine.doing("importing the image"), archive.open("rb") as file:
        engine.api.import_image(file, *tag().split(":"))
    if not engine.has_image(tag()):
        raise SandboxError(f"the engine took the archive but has no image {tag()}; remedy: see the engine's log")


def _chosen_way(engine: Engine, progress: Progress, until: float) -> Way:
    try:
        _have_base(engine, progress, until)
        return "pull"
    except SandboxError as error:
        progress(f"the Dockerfile's base image cannot be had ({error}); trying debootstrap")
    return "debootstrap"


def _base() -> str:
    return next(line.split()[1] for line in DOCKERFILE.read_text().splitlines() if line.startswith("FROM "))


def _have_base(engine: Engine, progress: Progress, until: float) -> None:
    if engine.has_image(_base()):
        return
    progress(f"pulling {_base()}")
    repository, _, version = _base().partition(":")
    follow(engine, engine.api.pull, "pull", progress, until, repository=repository, tag=version, stream=True)


def _build_from_dockerfile(engine: Engine, progress: Progress, until: float) -> None:
    _have_base(engine, progress, until)
    progress(f"building {tag()}")
    follow(engine, engine.api.build, "build", progress, until, fileobj=io.BytesIO(DOCKERFILE.read_bytes()), tag=tag(),
           rm=True, forcerm=True, network_mode="none")


def follow(engine: Engine, call: Callable[..., Iterator[dict[str, Any]]], what: str, progress: Progress, until: float,
           **options: object) -> None:
    """Read what the engine says until it is done."""
    with engine.doing(f"its {what}"):
        for said in call(decode=True, **options):
            if "error" in said:
                raise SandboxError(f"{what}: {said['error']}")
            if text := str(said.get("stream", "")).strip():
                progress(text)
            if time.monotonic() > until:
                raise SandboxError(f"{what}: not done in the time it was given; remedy: try again, much of it is "
                                   "kept, or give it a longer deadline")
