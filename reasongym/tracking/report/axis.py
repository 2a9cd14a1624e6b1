"""Axes: a scale and round numbers for its ticks."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["Axis", "step_ticks"]

LARGEST, SMALLEST = 1e300, 1e-300
"""The span of an axis stays a number, also for a run that diverges."""
ROUNDING = 1e-12
"""A smaller part of the values is no difference."""


class Axis:
    """A linear scale from [low, high] in the data to [start, end] in pixels. `low` and `high` are rounded outwards."""

    def __init__(self, values: Sequence[float], start: float, end: float, *, from_zero: bool = True) -> None:
        low, high = (min(max(bound, -LARGEST), LARGEST) for bound in (min(values), max(values)))
        low = min(0.0, low) if from_zero else low
        if high - low <= max(SMALLEST, ROUNDING * max(abs(low), abs(high))):
            high = low + (abs(low) if abs(low) > SMALLEST else 1.0)
        self.step = _round_step((high - low) / 4)
        self.low = math.floor(low / self.step + 1e-9) * self.step
        self.high = math.ceil(high / self.step - 1e-9) * self.step
        self._start, self._end = start, end

    @property
    def ticks(self) -> list[float]:
        count = round((self.high - self.low) / self.step)
        return [self.low + i * self.step for i in range(count + 1)]

    def at(self, value: float) -> float:
        return self._start + (value - self.low) / (self.high - self.low) * (self._end - self._start)


def step_ticks(first: int, last: int) -> list[int]:
    """About six whole steps from `first` to `last`, round ones."""
    size = max(1, round(_round_step(max(1, last - first) / 6)))
    return list(range(math.ceil(first / size) * size, last + 1, size))


def _round_step(rough: float) -> float:
    """The smallest of 1, 2, 2.5, 5 and 10 times a power of ten that is not below `rough`."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * (1 - 1e-9))
