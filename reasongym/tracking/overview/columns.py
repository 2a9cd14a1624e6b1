"""metrics.jsonl read column by column, and only what is new of it: a run of 10,000 steps is read once."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["Columns", "Curve"]

KEPT_BYTES = 1 << 20
"""Read at once."""
NAMES = 400
"""Metrics of one run; more are left out, whatever a line says."""


class Curve:
    """The values of one metric over the steps, in the order of the steps; of one step's values the last counts."""

    def __init__(self) -> None:
        self.steps, self.values = array("q"), array("d")
        self._sorted = True

    def add(self, step: int, value: float) -> None:
        if self.steps and step <= self.steps[-1]:
            self._sorted = False
        self.steps.append(step)
        self.values.append(value)

    def tidy(self) -> None:
        """Sorted, and one value a step: a run that was resumed may have written a step twice."""
        if self._sorted:
            return
        merged = dict(zip(self.steps, self.values, strict=True))
        steps = sorted(merged)
        self.steps, self.values = array("q", steps), array("d", (merged[step] for step in steps))
        self._sorted = True


class Columns:
    """What a metrics.jsonl says, brought up to date by `refresh`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._forget()

    def _forget(self) -> None:
        self._identity, self._offset = 0, 0
        self.curves: dict[str, Curve] = {}
        self.damaged = 0

    def refresh(self) -> None:
        """Read what was appended; all of it where the file was replaced, as it is when a run is resumed.

        A last line without its end is left for the next time. Lines that are damaged are counted.
        """
        try:
            with self._path.open("rb") as file:
                about = self._path.stat()
                if about.st_ino != self._identity or about.st_size < self._offset:
                    self._forget()
                    self._identity = about.st_ino
                file.seek(self._offset)
                rest = b""
                while block := file.read(KEPT_BYTES):
                    *lines, rest = (rest + block).split(b"\n")
                    for line in lines:
                        self._take(line)
                        self._offset += len(line) + 1
        except OSError:
            self._forget()
        for curve in self.curves.values():
            curve.tidy()

    def _take(self, line: bytes) -> None:
        try:
            row: Any = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, Mapping) or not _is_step(row.get("step")):
            self.damaged += 1
            return
        for name, value in row.items():
            if name != "step" and _is_number(value) and (name in self.curves or len(self.curves) < NAMES):
                self.curves.setdefault(str(name), Curve()).add(row["step"], float(value))


def _is_step(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False
