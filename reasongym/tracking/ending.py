"""How a run ended, in its folder: what tells a run that was stopped from one that failed or was killed."""

from __future__ import annotations

import contextlib
import fcntl
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from reasongym.errors import CheckpointError, ResourceError, UserError
from reasongym.files import write_atomic

__all__ = ["Ending", "State", "failure_recorded", "state_of", "write_ending"]

State = Literal["running", "finished", "stopped", "failed"]
FILE = "ended.json"
LOCK = ".lock"


class Ending(NamedTuple):
    """why: empty, or what went wrong, or what the state was taken from."""

    state: State
    why: str = ""


def write_ending(folder: Path, state: State, why: str = "") -> None:
    """ended.json of a run's folder. Raises ResourceError."""
    write_atomic(folder / FILE, json.dumps({"state": state, "time": round(time.time(), 3), "why": why}) + "\n")


@contextlib.contextmanager
def failure_recorded(folder: Path) -> Iterator[None]:
    """Around a whole run: what it raises is recorded before it goes on its way; a run that is resumed has no end yet.

    Where resuming was refused, the run has ended as it had before.
    """
    before = _recorded(folder / FILE)
    (folder / FILE).unlink(missing_ok=True)
    try:
        yield
    except BaseException as error:  # an interrupt too: the run is over, whatever ended it
        state: State = "stopped" if isinstance(error, KeyboardInterrupt) else "failed"
        ending = Ending(state, f"{type(error).__name__}: {error}"[:2000])
        if before and isinstance(error, UserError | CheckpointError):
            ending = before
        with contextlib.suppress(ResourceError):  # a full disk may be what ended it, and that must be what is raised
            write_ending(folder, *ending)
        raise


def state_of(folder: Path) -> Ending:
    """Whether a run goes on and, if not, how it ended. Of a run without a record of that, what its files tell.

    A run goes on while its process holds the folder's lock and has recorded no end; over a network file system that
    does not share locks, a run of another machine counts as failed until it has ended.
    """
    recorded = _recorded(folder / FILE)
    if recorded:
        return recorded
    if _is_locked(folder / LOCK):
        return Ending("running")
    if (folder / "final").is_dir():
        return Ending("finished")
    return Ending("failed", "no process writes to it, and it recorded no end: it was killed")


def _is_locked(path: Path) -> bool:
    """A shared lock for an instant: nothing is written, and it is refused where the run holds its own."""
    try:
        with path.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _recorded(path: Path) -> Ending | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        state, why = found["state"], str(found.get("why", ""))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    return Ending(state, why) if state in {"finished", "stopped", "failed"} else None
