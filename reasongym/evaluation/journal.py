"""Answers as they come, so that none is asked for twice: `answers.jsonl`, a line an answer, each synced to disk.

The first line says what was asked; a journal of anything else is refused. A line that a kill or a full disk cut off is
dropped when the file is opened again. One process at a time may hold it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import fcntl
import json
import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from reasongym.errors import ConfigError, DataError, message
from reasongym.evaluation.samples import Answer
from reasongym.files import cannot_write, make_folder

__all__ = ["JOURNAL", "Journal"]

JOURNAL = "answers.jsonl"
FORM = 1

Key = tuple[int, int]


class _Read(NamedTuple):
    """length: bytes of the lines that are whole. seconds: of sampling, over all sessions."""

    answers: dict[Key, Answer]
    seconds: float
    length: int


class Journal:
    """A context manager. plan: digest of what is asked. known: answers of earlier sessions; seconds: their sampling.

    Raises ConfigError where another process writes the same journal, or where it is of another plan; DataError where
    the file is damaged before its last line; ResourceError where it cannot be written.
    """

    def __init__(self, folder: Path, plan: str) -> None:
        self.path = make_folder(folder) / JOURNAL
        self._lock = threading.Lock()
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise cannot_write(self.path, 0, error) from error
        try:
            self._hold()
            found = _read(self.path, plan)
            self.known, self.seconds = found.answers, found.seconds
            os.ftruncate(self._file, found.length)
            if not found.length:
                self._append({"form": FORM, "plan": plan})
            self._append({"session": time.time()})
        except BaseException:  # closed, and raised again
            os.close(self._file)
            raise
        self._started = time.monotonic()

    def keep(self, key: Key, answer: Answer) -> None:
        """On disk when this returns. Any thread may call it. Raises ResourceError."""
        self._append({"key": key, "at": round(time.monotonic() - self._started, 3),
                      "answer": dataclasses.asdict(answer)})

    def remove(self) -> None:
        """The result is whole: the journal has done its work."""
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        os.close(self._file)

    def _hold(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ConfigError(message(f"another process evaluates into {self.path.parent}", got="a locked journal",
                                      expected="one process at a time", remedy="wait for it, or end it")) from error

    def _append(self, record: Mapping[str, Any]) -> None:
        line = json.dumps(record, separators=(",", ":")).encode("ascii") + b"\n"
        with self._lock:
            whole = os.fstat(self._file).st_size
            try:
                # A write may be short on a full disk, without an error.
                if os.write(self._file, line) != len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(self._file)
            except OSError as error:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._file, whole)  # else the next line would be written behind half of this one
                raise cannot_write(self.path, len(line), error) from error


def _read(path: Path, plan: str) -> _Read:
    answers: dict[Key, Answer] = {}
    seconds = at = 0.0
    length, lines = 0, path.read_bytes().splitlines(keepends=True)
    for number, line in enumerate(lines, start=1):
        try:
            if not line.endswith(b"\n"):
                raise ValueError("a line without an end")
            record = json.loads(line)
            if not isinstance(record, dict):
                raise ValueError("no JSON object")
            if number == 1:
                _check_plan(path, record, plan)
            elif "session" in record:
                seconds, at = seconds + at, 0.0
            else:
                group, sample = record["key"]
                answers.setdefault((int(group), int(sample)), _answer(record["answer"]))
                at = max(at, float(record["at"]))
        except (ValueError, KeyError, TypeError) as error:
            if number == len(lines) and not isinstance(error, ConfigError):
                break
            if isinstance(error, ConfigError):
                raise
            raise DataError(message(f"{path} is damaged", got=f"line {number}: {error}"[:200],
                                    expected="lines that `reasongym eval` wrote",
                                    remedy="delete the line, and its answer is asked for again")) from error
        length += len(line)
    return _Read(answers, seconds + at, length)


def _check_plan(path: Path, record: Mapping[str, Any], plan: str) -> None:
    if record.get("form") != FORM or record.get("plan") != plan:
        raise ConfigError(message(f"{path.parent} holds answers to other questions",
                                  got="another model, data, prompts or decoding than when it was begun",
                                  expected="the same", remedy="evaluate into a new --output"))


def _answer(record: Mapping[str, Any]) -> Answer:
    lists = {name: None if record[name] is None else tuple(record[name]) for name in ("token_ids", "logprobs")}
    return Answer(**{**record, **lists})
