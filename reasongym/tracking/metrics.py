"""The numbers of a run: metrics.jsonl, one object a line, and TensorBoard's event files beside it."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from reasongym.errors import DataError, message
from reasongym.files import cannot_write, write_atomic
from reasongym.tracking.folder import RunFolder

__all__ = ["MetricsLog", "read_metrics"]

NO_TENSORBOARD = ("TensorBoard is not installed: no event files are written; metrics.jsonl has every number "
                  "(pip install tensorboard)")
TENSORBOARD_ERRORS = (OSError, RuntimeError, ValueError)
"""What its writer raises: from its own thread too, whose error the next call gets."""


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The rows of a metrics.jsonl in the order written; a last line that a crash cut short is left out.

    A missing file has no rows. Raises DataError for a broken line before the last.
    """
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    rows = []
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        if not line.endswith("\n"):  # a line is written together with its end: this one is torn, even where it parses
            break
        row = _parse(line)
        if row is None:
            raise DataError(message(f"line {number} of {path} is damaged", got=line.strip()[:80],
                                    expected='an object such as {"step": 1, "reward/mean": 0.5}',
                                    remedy="delete that line"))
        rows.append(row)
    return rows


class MetricsLog:
    """Appends to a run's metrics. `notes` says what could not be set up, for the console.

    Opening a file whose last line a crash cut short drops that line, so that the next one does not join it.
    """

    def __init__(self, folder: RunFolder, tensorboard: bool,
                 onward: Callable[[Mapping[str, Any]], None] = lambda row: None,
                 tell: Callable[[str], None] = lambda line: None) -> None:
        """onward: takes each row once it is on the disk. tell: takes what goes wrong later, for the console."""
        self._path, self._onward, self._tell = folder.metrics, onward, tell
        self._events_folder = folder.tensorboard
        self._purge_step: int | None = None
        self._writer: Any = None
        self.notes: tuple[str, ...] = ()
        self._tensorboard = tensorboard and self._import_writer() is not None
        if self._path.exists() and not self._path.read_bytes().endswith(b"\n"):
            self._replace(self.read())

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Append one row: `step`, `time` (seconds since 1970), the values; one that is not finite is written as null.

        Flushed and synced before it returns. Raises ResourceError on a full disk; the file then ends where it did.
        """
        assert not {"step", "time"} & values.keys(), "step and time are the row's own keys"
        row = {"step": step, "time": round(time.time(), 3), **{name: _number(value) for name, value in values.items()}}
        self._append((json.dumps(row, allow_nan=False) + "\n").encode())
        if self._tensorboard:
            self._show_events(step, row)
        self._onward(row)

    def read(self) -> list[dict[str, Any]]:
        """Every row so far, in the order written. Raises DataError."""
        return read_metrics(self._path)

    def truncate_after(self, step: int) -> None:
        """Drop rows of later steps, before a run is resumed at `step`; in TensorBoard they are hidden."""
        self._replace([row for row in self.read() if row["step"] <= step])
        self._purge_step = step + 1

    def close(self) -> None:
        """Flush TensorBoard's events."""
        writer, self._writer = self._writer, None
        if writer is not None:
            with contextlib.suppress(*TENSORBOARD_ERRORS):
                writer.close()

    def _append(self, line: bytes) -> None:
        size = self._path.stat().st_size if self._path.exists() else 0
        try:
            with self._path.open("ab") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            if self._path.exists():
                os.truncate(self._path, size)  # half a line would make the next one unreadable
            raise cannot_write(self._path, len(line), error) from error

    def _replace(self, rows: list[dict[str, Any]]) -> None:
        write_atomic(self._path, "".join(json.dumps(row) + "\n" for row in rows))

    def _import_writer(self) -> Any:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            self.notes = (*self.notes, NO_TENSORBOARD)
            return None
        _hush_writers()
        return SummaryWriter

    def _show_events(self, step: int, row: Mapping[str, Any]) -> None:
        """A picture of what metrics.jsonl holds already: no reason to stop a run where it cannot be written."""
        try:
            self._write_events(step, row)
        except TENSORBOARD_ERRORS as error:
            self._tensorboard = False
            self._tell(f"warning: TensorBoard's files end before step {step}: {error}; metrics.jsonl goes on")

    def _write_events(self, step: int, row: Mapping[str, Any]) -> None:
        if self._writer is None:
            self._writer = self._import_writer()(log_dir=str(self._events_folder), purge_step=self._purge_step)
        for name, value in row.items():
            if name not in {"step", "time"} and value is not None:
                self._writer.add_scalar(name, value, global_step=step)
        self._writer.flush()


def _parse(line: str) -> dict[str, Any] | None:
    """The row of a line, or None where it is not one."""
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) and isinstance(row.get("step"), int) else None


def _number(value: float) -> float | int | None:
    """JSON has no NaN or infinity. Whole numbers stay whole; tensors and numpy scalars become plain."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    plain = float(value)
    return plain if math.isfinite(plain) else None


@functools.cache
def _hush_writers() -> None:
    """What a thread of TensorBoard's fails by is raised by its writer's next call: its traceback says nothing more."""
    shown = threading.excepthook

    def show(failure: threading.ExceptHookArgs) -> None:
        if not type(failure.thread).__module__.startswith("tensorboard."):
            shown(failure)

    threading.excepthook = show
