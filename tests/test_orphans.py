"""vLLM's processes end with their engine: shown with processes that `multiprocessing` has started, as vLLM does."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from processes import has_ended

from reasongym.sync.orphans import IN_ENGINE

ENDS_S = 60.0
SCRIPT = """
import multiprocessing, os, sys, threading, time
from reasongym.sync import orphans

def registered():
    orphans.end_with_engine()
    print(os.getpid(), threading.active_count(), flush=True)
    time.sleep(600)

if __name__ == "__main__":
    method, = sys.argv[1:]
    if method == "none":
        registered()
    process = multiprocessing.get_context(method).Process(target=registered)
    process.start()
    process.join()
"""


@contextlib.contextmanager
def started(folder: Path, method: str, *,
            in_engine: bool) -> Iterator[tuple[subprocess.Popen[str], psutil.Process, int]]:
    """The parent, the process that has called `end_with_engine`, and how many threads that has."""
    (folder / "script.py").write_text(SCRIPT)
    environment = {key: value for key, value in os.environ.items() if key != IN_ENGINE}
    environment |= {IN_ENGINE: "1"} if in_engine else {}
    with subprocess.Popen([sys.executable, folder / "script.py", method], env=environment, stdout=subprocess.PIPE,
                          text=True) as parent:
        assert parent.stdout is not None
        number, threads = map(int, parent.stdout.readline().split())
        child = psutil.Process(number)
        try:
            yield parent, child, threads
        finally:
            parent.kill()
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()


def test_a_process_of_an_engine_ends_with_the_one_that_started_it(tmp_path: Path) -> None:
    with started(tmp_path, "spawn", in_engine=True) as (parent, child, _):
        parent.kill()
        deadline = time.monotonic() + ENDS_S
        while not has_ended(child.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert has_ended(child.pid)


@pytest.mark.parametrize(("method", "in_engine"), [("spawn", False), ("none", True)])
def test_a_process_of_no_engine_and_one_that_nobody_started_are_left_alone(tmp_path: Path, method: str,
                                                                           in_engine: bool) -> None:
    with started(tmp_path, method, in_engine=in_engine) as (_, _, threads):
        assert threads == 1, "it watches its parent"
