"""What a sandbox that is ended from outside leaves on the machine, and who clears that away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reasongym.sandbox import Job, open_sandbox
from reasongym.sandbox.leftovers import ending_cleanly, lives, prefix, started, sweep

HOLDS = """
import signal, sys, tempfile, time
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever runs the tests may have had it ignored
from reasongym.sandbox.leftovers import ending_cleanly, prefix
with ending_cleanly(), tempfile.TemporaryDirectory(prefix=prefix("image")) as folder:
    print(folder, flush=True)
    time.sleep(60)
"""


@contextmanager
def holder(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A process with a temporary folder of its own, which it clears away when it ends."""
    with subprocess.Popen([sys.executable, "-c", HOLDS], stdout=subprocess.PIPE,
                          env={**os.environ, "TMPDIR": str(folder)}) as process:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().decode().strip())


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_who_is_asked_to_end_clears_away_first(elsewhere: Path, number: signal.Signals) -> None:
    with holder(elsewhere) as (process, folder):
        assert folder.is_dir()
        process.send_signal(number)
        assert process.wait(20) == 128 + number
    assert not folder.exists()


def test_the_next_sandbox_clears_away_what_a_killed_one_left(elsewhere: Path) -> None:
    with holder(elsewhere) as (process, folder):
        (folder / "a").mkdir()
        (folder / "a" / "link").symlink_to(elsewhere)
        sweep()
        assert folder.is_dir(), "it is in use"
        process.kill()
    with open_sandbox("local", workers=1) as sandbox:
        assert sandbox.run(Job(files={"main.py": b""})).status == 0
    assert not folder.exists()
    assert elsewhere.exists()


def test_nothing_else_is_swept(elsewhere: Path) -> None:
    """A process of another namespace cannot be seen from here; a link leads where nobody asked to clear."""
    own = prefix("agent")
    gone = own.replace(f"-{os.getpid()}-", "-999999999-")
    kept = [elsewhere / name for name in (f"{own}x", "reasongym-agent-x", f"reasongym-agent-1-999999999-{started()}-x")]
    for path in kept:
        path.mkdir()
    link, taken = elsewhere / f"{gone}link", elsewhere / f"{gone}taken"
    link.symlink_to(kept[0])
    taken.mkdir()
    sweep()
    assert all(path.is_dir() for path in (*kept, link))
    assert not taken.exists()


def test_a_number_that_another_process_has_by_now_is_not_the_one_that_is_gone() -> None:
    assert lives(str(os.getpid()), started())
    assert not lives(str(os.getpid()), "1")


def test_signals_that_were_to_be_ignored_are_and_all_are_as_before_afterwards() -> None:
    before, term = signal.signal(signal.SIGHUP, signal.SIG_IGN), signal.getsignal(signal.SIGTERM)
    try:
        with ending_cleanly():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        assert signal.getsignal(signal.SIGTERM) is term
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_folder_does_not_tell_when_the_last_job_ended() -> None:
    """Wiping changes it then: the next job would read how long the last one took."""
    look = b"""import os, time
ticks = int(open("/proc/self/stat").read().rpartition(")")[2].split()[19])
began = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + ticks / os.sysconf("SC_CLK_TCK")
print([os.stat(folder).st_ctime > began - 0.05 for folder in ("/tmp", "/dev/shm")])"""
    with open_sandbox("local", workers=1) as sandbox:
        sandbox.run(Job(files={"main.py": b""}))
        time.sleep(0.1)
        assert sandbox.run(Job(files={"main.py": look})).stdout == b"[True, True]\n"
