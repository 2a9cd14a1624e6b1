"""Docker engines for tests: the one of DOCKER_HOST, or private ones, each with its image, and why there may be none."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reasongym.sandbox import SandboxError, image, image_debian
from reasongym.sandbox.docker_api import Engine, default_host

__all__ = ["PrivateEngine", "engine_for_tests"]

REPO_ROOT = Path(__file__).resolve().parent.parent
CAP_SYS_ADMIN = 21
START_S = 60.0
IMAGE_S = 600.0
CANNOT = "no Docker engine can run here"
"""An expected skip, for tests/conftest.py; any other reason of this module fails CI."""


class PrivateEngine:
    """An engine of the tests' own, in a folder that is gone afterwards."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="reasongym-engine-"))
        self.host = f"unix://{self.folder}/docker.sock"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Returns when it answers. Raises SandboxError with the end of its log."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen([REPO_ROOT / "scripts/docker_engine.sh", "run", self.folder],
                                             stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + START_S
        while True:
            try:
                Engine(self.host, answer_s=START_S).close()
            except SandboxError as error:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    words = (self.folder / "log").read_text(errors="replace")[-1000:]
                    raise SandboxError(f"no Docker engine was started: {error}\n{words}") from error
                time.sleep(0.05)
            else:
                return

    def stop(self) -> None:
        """As its service would be stopped: with all its containers."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(START_S)
            self._process = None

    def remove(self) -> None:
        """With what it has mounted."""
        self.stop()
        mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
        for place in reversed([place for place in mounts if Path(place).is_relative_to(self.folder)]):
            subprocess.run(["umount", "--lazy", place], check=True)
        shutil.rmtree(self.folder)


@contextmanager
def engine_for_tests() -> Iterator[str]:
    """Its address. Where there is none the test is skipped; in CI only a machine that could have none gets away."""
    if found := _engine_that_answers():
        with _skipped_where_it_fails():
            image.build_image(host=found, deadline_s=IMAGE_S)
        yield found
        return
    if reason := why_none_can_run():
        pytest.skip(f"{CANNOT}: {reason}")
    engine = PrivateEngine()
    try:
        with _skipped_where_it_fails():
            engine.start()
            image.import_image(archive(), host=engine.host)
        yield engine.host
    finally:
        engine.remove()


@contextmanager
def _skipped_where_it_fails() -> Iterator[None]:
    try:
        yield
    except SandboxError as error:
        pytest.skip(f"the Docker engine for tests failed: {error}")


def archive() -> Path:
    """The image's root file system, made once: the name holds the hash of its recipe."""
    path = REPO_ROOT / ".cache" / f"{image.tag().replace(':', '-')}.tar"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}.new")
        image_debian.make_archive(unfinished, print, time.monotonic() + IMAGE_S)
        unfinished.rename(path)
    return path


def _engine_that_answers() -> str:
    try:
        Engine().close()
    except SandboxError:
        return ""
    return default_host()


def why_none_can_run() -> str:
    """Empty where one could: on Linux, as a root who may mount, with the engine installed or to be had."""
    if sys.platform != "linux":
        return "this is not Linux, and DOCKER_HOST names none that answers"
    if os.geteuid() != 0:
        return "this user is not root, and DOCKER_HOST names none that answers"
    status = Path("/proc/self/status").read_text()
    if not int(status.partition("CapEff:")[2].split()[0], 16) >> CAP_SYS_ADMIN & 1:
        return "this root may not mount"
    if shutil.which("dockerd") is None and shutil.which("apt-get") is None:
        return "neither dockerd nor apt-get is installed"
    return ""
