"""The results below a folder: of an evaluation on several tasks, of a training run, of all that lie in `evals`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from reasongym.errors import DataError, message
from reasongym.evaluation.journal import JOURNAL
from reasongym.evaluation.record import is_result

__all__ = ["ResultFolders", "result_folders"]

DEEPEST = 3
"""`runs/NAME/evals/step-000010` of `runs`."""


class ResultFolders(NamedTuple):
    """whole: with a result each, by name. unfinished: evaluations that were cut off."""

    whole: tuple[Path, ...]
    unfinished: tuple[Path, ...]


def result_folders(folder: Path) -> ResultFolders:
    """The folder itself where it holds a result, else all below it, at most DEEPEST folders down. Links below are not
    followed.

    Raises DataError where there is none, nor an evaluation that was cut off.
    """
    folder = folder.expanduser()
    if is_result(folder):
        return ResultFolders((folder,), ())
    whole, unfinished = list[Path](), list[Path]()
    for place, below, files in os.walk(folder):
        path = Path(place)
        if is_result(path):
            whole.append(path)
        elif JOURNAL in files:
            unfinished.append(path)
        deep = len(path.relative_to(folder).parts) >= DEEPEST
        below[:] = [] if deep or is_result(path) else sorted(name for name in below if not name.startswith("."))
    if not whole and not unfinished:
        raise DataError(message(f"no result in {folder}", got="no results.json in it, or in a folder below it"
                                if folder.is_dir() else "no such folder",
                                expected="a folder that `reasongym eval` wrote, or one of several",
                                remedy="check the path"))
    return ResultFolders(tuple(whole), tuple(unfinished))
