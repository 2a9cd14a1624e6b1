"""Curves of as many points as a picture can show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reasongym.evaluation import Interval
from reasongym.tracking.overview.columns import Curve

__all__ = ["MAX_POINTS", "drawn", "measured"]

MAX_POINTS = 300


def drawn(curve: Curve, most: int = MAX_POINTS) -> dict[str, Any]:
    """x, y and, of more than `most` points, `low` and `high`: each point is then the mean of as many neighbours, at the
    last step of them, with the least and the largest, so that a spike of one step stays seen."""
    steps, values = curve.steps, curve.values
    size = -(-len(steps) // most)
    if size <= 1:
        return {"x": list(steps), "y": _short(values)}
    chunks = [values[i:i + size] for i in range(0, len(values), size)]
    return {"x": [steps[min(i + size, len(steps)) - 1] for i in range(0, len(steps), size)],
            "y": _short([sum(chunk) / len(chunk) for chunk in chunks]),
            "low": _short([min(chunk) for chunk in chunks]), "high": _short([max(chunk) for chunk in chunks]),
            "steps": size}


def measured(curve: Curve, intervals: Mapping[int, Interval], most: int = MAX_POINTS) -> dict[str, Any]:
    """x, y, and 95 % intervals as `low` and `high`; of more than `most` points every nth and the last."""
    size = max(1, -(-len(curve.steps) // most))
    places = sorted({*range(0, len(curve.steps), size), len(curve.steps) - 1}) if curve.steps else []
    steps = [curve.steps[place] for place in places]
    found: dict[str, Any] = {"x": steps, "y": _short([curve.values[place] for place in places])}
    if all(step in intervals for step in steps):
        found |= {"low": _short([intervals[step].low for step in steps]),
                  "high": _short([intervals[step].high for step in steps]), "interval": True}
    return found


def _short(values: Sequence[float]) -> list[float]:
    """Six digits: a picture shows fewer, and the file is half as large."""
    return [float(f"{value:.6g}") for value in values]
