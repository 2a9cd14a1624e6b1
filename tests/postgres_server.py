"""A PostgreSQL server of the tests' own, and why there may be none."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

__all__ = ["CANNOT", "server_for_tests"]

REPO_ROOT = Path(__file__).resolve().parent.parent
START_S = 60.0
CANNOT = "no PostgreSQL can run here"
"""An expected skip, for tests/conftest.py; any other reason of this module fails CI."""


@contextmanager
def server_for_tests() -> Iterator[str]:
    """`postgresql://` address of an empty database; the folder is gone afterwards. Skips the test where none can run:
    in CI only a machine that could have none gets away."""
    if not _programs_are_there():
        installs = os.geteuid() == 0 and shutil.which("apt-get") is not None
        pytest.skip("PostgreSQL is not installed: scripts/postgres.sh install" if installs else
                    f"{CANNOT}: it is not installed, and this user cannot install it")
    folder = Path(tempfile.mkdtemp(prefix="reasongym-pg-"))
    with (folder.parent / f"{folder.name}.log").open("wb+") as log:
        server = subprocess.Popen([REPO_ROOT / "scripts/postgres.sh", "run", folder], stdin=subprocess.DEVNULL,
                                  stdout=log, stderr=log)
        try:
            _wait(server, folder, Path(log.name))
            yield f"postgresql://postgres@/postgres?host={folder}"
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(START_S)
            shutil.rmtree(folder)
            Path(log.name).unlink()


def _wait(server: subprocess.Popen[bytes], folder: Path, log: Path) -> None:
    import psycopg

    deadline = time.monotonic() + START_S
    while True:
        try:
            psycopg.connect(f"host={folder} user=postgres dbname=postgres", connect_timeout=5).close()
        except psycopg.OperationalError as error:
            if server.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"no server: {error}\n{log.read_text(errors='replace')[-2000:]}") from error
            time.sleep(0.05)
        else:
            return


def _programs_are_there() -> bool:
    return shutil.which("initdb") is not None or any(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
