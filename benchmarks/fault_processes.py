"""The processes that runs consist of: found by what they are, adopted where their parent ends before them."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from subprocess import Popen

import psutil

from reasongym.sandbox.linux import prctl

PR_SET_CHILD_SUBREAPER = 36
PATIENCE = float(os.environ.get("PATIENCE", "1"))
"""What each deadline is multiplied by, on a machine with other work."""
POLL_S, WATCH_S, KILLED_S = 0.02, 0.2, 10.0
GONE_S = 30.0 * PATIENCE
"""Longest time in which what belongs to a run has to end after it."""
AGENTS = ("ray::DashboardAgent", "ray::RuntimeEnvAgent")
AGENTS_GONE_S = 90.0 * PATIENCE
"""The same for these of Ray's, which first try for a minute to tell the head that the node has died."""
OURS = ("ray::Engine", "ray::Rank", "VLLM::", "reasongym.scoring", "reasongym train", "fault_driver train")

Find = Callable[[], Sequence[psutil.Process]]
_started: set[int] = set()


def known(process: Popen[bytes]) -> Popen[bytes]:
    """One that is waited for by who started it."""
    _started.add(process.pid)
    return process


@contextlib.contextmanager
def adopting() -> Iterator[None]:
    """What a run leaves behind becomes this process's child, and its end is heard of, as init would hear of it."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    over = threading.Event()
    thread = threading.Thread(target=_reap_until, args=(over,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        prctl(PR_SET_CHILD_SUBREAPER, 0)


def _reap_until(over: threading.Event) -> None:
    while not over.wait(0.1):
        for process in psutil.Process().children():
            if process.pid not in _started and not _lives(process):
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(process.pid, os.WNOHANG)


def descendants() -> list[psutil.Process]:
    """Of this process; those that have ended are not among them."""
    return [process for process in psutil.Process().children(recursive=True) if _lives(process)]


def command_of(process: psutil.Process) -> str:
    """Empty where it has ended."""
    with contextlib.suppress(psutil.Error):
        return " ".join(process.cmdline())
    return ""


def named(*names: str) -> Find:
    """Processes whose command line has one of the names."""
    return lambda: [process for process in descendants() if any(name in command_of(process) for name in names)]


def programs() -> list[psutil.Process]:
    """Untrusted ones, that scoring workers have started: inside walls, and not the first process there."""
    return [process for process in descendants() if _number_inside(process) > 1]


def agents() -> list[psutil.Process]:
    """The first process within each set of walls."""
    return [process for process in descendants() if _number_inside(process) == 1]


class Watch:
    """Sees whether processes of a run outlive it. beside_cluster: new ones of Ray's belong to the cluster, which
    stays."""

    def __init__(self, *, beside_cluster: bool) -> None:
        self._before = {process.pid for process in descendants()}
        self._names = OURS if beside_cluster else ("",)

    def remains(self, *, agents: bool = True) -> list[str]:
        """What is there after its time; it is killed. agents: Ray's are waited for too, not left alone."""
        began = time.monotonic()
        while (left := self._left(agents)) and time.monotonic() - began < min(map(_time_to_end, left)):
            time.sleep(WATCH_S)
        late = [process for process in left if time.monotonic() - began >= _time_to_end(process)]
        told = [f"process {process.pid} was left behind: {command_of(process)[:100]}" for process in late]
        for process in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        killed = time.monotonic()
        while any(map(_lives, left)) and time.monotonic() - killed < KILLED_S:
            time.sleep(POLL_S)
        return told

    def _left(self, agents: bool) -> list[psutil.Process]:
        return [process for process in named(*self._names)()
                if process.pid not in self._before and (agents or not _is_agent(process))]


def _is_agent(process: psutil.Process) -> bool:
    return any(name in command_of(process) for name in AGENTS)


def _time_to_end(process: psutil.Process) -> float:
    return AGENTS_GONE_S if _is_agent(process) else GONE_S


def _lives(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    return False


def _number_inside(process: psutil.Process) -> int:
    """A process's number in the namespace of processes within this one; 0 where it is in none."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
            if line.startswith("NSpid:"):
                _, *inside = line.split()[1:]
                return int(inside[-1]) if inside else 0
    return 0
