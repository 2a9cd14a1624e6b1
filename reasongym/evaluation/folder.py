"""The folder of an evaluation: claimed by one process at a time, and left behind only where it holds answers.

A folder is claimed by making `request.json` in it, which one process alone can do, and held by a lock on that file: two
calls of one second take two names, and of two that go on with the same folder the second is refused before it starts
anything.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from reasongym.errors import ConfigError, DataError, message
from reasongym.evaluation.journal import JOURNAL
from reasongym.evaluation.record import RESULTS, is_result, read_result
from reasongym.files import cannot_write, in_use, make_folder, refuse_used

__all__ = ["REQUEST", "begun", "claim_numbered", "is_whole", "read_request", "resumed", "timed_name"]

REQUEST = "request.json"
"""The options that an evaluation was begun with."""
ANOTHER_OUTPUT = "choose another --output; an evaluation that was cut off goes on with --resume"


def timed_name(name: str) -> str:
    """`gsm8k` -> `gsm8k-20260101-120000`, by the local time."""
    return f"{name[:80]}-{time.strftime('%Y%m%d-%H%M%S')}"


def claim_numbered(path: Path) -> Path:
    """A new folder of that name, or with a number behind it where another process or an earlier call has it: `x`,
    `x-2`, `x-3`. Raises ResourceError."""
    for number in itertools.count(1):
        folder = path.with_name(f"{path.name}{f'-{number}' if number > 1 else ''}")
        try:
            folder.mkdir(parents=True)
            break
        except FileExistsError:
            continue
        except OSError as error:
            raise cannot_write(folder, 0, error) from error
    return folder


@contextlib.contextmanager
def begun(path: Path, options: Mapping[str, Any], *, is_numbered: bool, tell: Callable[[str], None]) -> Iterator[Path]:
    """A folder of its own for an evaluation with these options, held until it ends.

    path: a new or empty folder; is_numbered: with a number behind it where it is taken. What goes wrong leaves no
    folder behind, except one that holds answers: then `tell` takes how to go on. Raises ConfigError, ResourceError.
    """
    if not is_numbered:
        refuse_used(path, remedy=ANOTHER_OUTPUT)
    folder = claim_numbered(path) if is_numbered else make_folder(path)
    with _held(folder, os.O_RDWR | os.O_CREAT | os.O_EXCL) as file:
        try:
            _write(file, folder, options)
            yield folder
        except BaseException:  # cleaned up, and raised again
            if _holds_answers(folder):
                tell(f"\nanswers so far are kept: reasongym eval --resume {folder}")
            else:
                _remove(folder)
            raise


@contextlib.contextmanager
def resumed(folder: Path, *, tell: Callable[[str], None]) -> Iterator[Path]:
    """The folder of an evaluation that was begun before, held until it ends.

    Raises ConfigError where another process holds it, DataError where there is none, ResourceError where it cannot be
    written.
    """
    with _held(folder, os.O_RDWR):
        try:
            yield folder
        except BaseException:  # told, and raised again
            tell(f"\nanswers so far are kept: reasongym eval --resume {folder}")
            raise


def read_request(folder: Path) -> dict[str, Any]:
    """The options that an evaluation was begun with. Raises DataError."""
    try:
        stored = json.loads((folder / REQUEST).read_text(encoding="utf-8"))["options"]
        return dict(stored.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _nothing_begun(folder, error) from error


def is_whole(folder: Path) -> bool:
    """Whether the folder holds a result that lacks no answer. Raises DataError for a damaged one."""
    return is_result(folder) and not read_result(folder).partial


@contextlib.contextmanager
def _held(folder: Path, flags: int) -> Iterator[int]:
    """The folder's claim, locked for as long as it is open."""
    try:
        file = os.open(folder / REQUEST, flags | os.O_CLOEXEC, 0o644)
    except FileExistsError as error:  # another process was a moment before
        raise in_use(folder, remedy=ANOTHER_OUTPUT) from error
    except FileNotFoundError as error:
        raise _nothing_begun(folder, error) from error
    except OSError as error:
        raise cannot_write(folder / REQUEST, 0, error) from error
    try:
        _lock(file, folder)
        yield file
    finally:
        os.close(file)


def _lock(file: int, folder: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise ConfigError(message(f"another process evaluates into {folder}", got=f"a locked {REQUEST}",
                                  expected="one process at a time", remedy="wait for it, or end it")) from error
    if not os.fstat(file).st_nlink:  # its holder has just failed, and taken the folder away
        raise _nothing_begun(folder, FileNotFoundError(REQUEST))


def _write(file: int, folder: Path, options: Mapping[str, Any]) -> None:
    text = (json.dumps({"options": dict(options)}, indent=2, default=str) + "\n").encode("ascii")
    try:
        written = os.write(file, text)
        os.fsync(file)
    except OSError as error:
        raise cannot_write(folder / REQUEST, len(text), error) from error
    if written != len(text):  # a full disk, without an error
        raise cannot_write(folder / REQUEST, len(text), OSError("no space left on the device"))


def _holds_answers(folder: Path) -> bool:
    return bool([*folder.rglob(RESULTS)]) or any(b'"answer"' in file.read_bytes() for file in folder.rglob(JOURNAL))


def _remove(folder: Path) -> None:
    """What an evaluation made, and nothing else."""
    with contextlib.suppress(OSError):
        for file in [*folder.rglob(JOURNAL), folder / REQUEST]:
            file.unlink(missing_ok=True)
        for made in [*(entry for entry in folder.iterdir() if entry.is_dir()), folder]:
            made.rmdir()


def _nothing_begun(folder: Path, error: Exception) -> DataError:
    return DataError(message(f"no evaluation to go on with in {folder}", got=f"{type(error).__name__}: {error}",
                             expected=f"a folder with {REQUEST}, as `reasongym eval` makes it",
                             remedy="check the path"))
