"""Axes: round numbers for ticks, and numbers as people write them."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["Axis", "number", "percent", "step_ticks"]


class Axis:
    """A linear scale from [low, high] in the data to [start, end] in pixels. `low` and `high` are rounded outwards."""

    def __init__(self, values: Sequence[float], start: float, end: float, *, from_zero: bool = True) -> None:
        low, high = min(values, default=0.0), max(values, default=1.0)
        low = min(0.0, low) if from_zero else low
        high = high if high > low else low + (abs(low) or 1.0)
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


def number(value: float) -> str:
    """Three digits that matter: 0.041, 12.3, 4,250, 1.2M, 3.0e-06."""
    size = abs(value)
    if value == 0:
        return "0"
    if size < 1e-3:
        mantissa, _, exponent = f"{value:.1e}".partition("e")
        return f"{mantissa.removesuffix('.0')}e{int(exponent)}"
    if size >= 1e9:
        return f"{value / 1e9:.3g}G"
    if size >= 1e6:
        return f"{value / 1e6:.3g}M"
    return f"{value:,.0f}" if size >= 1000 else f"{value:.3g}"


def percent(value: float) -> str:
    """A share as 41% or 4.1%."""
    return f"{100 * value:.3g}%" if abs(value) < 0.1 else f"{100 * value:.0f}%"


def _round_step(rough: float) -> float:
    """The smallest of 1, 2, 2.5, 5 and 10 times a power of ten that is not below `rough`."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * (1 - 1e-9))
