"""What the curves of a run say about its health, as lines: what is seen, since when, and what to try."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from reasongym.tracking.overview.columns import Curve
from reasongym.tracking.overview.run import Run
from reasongym.tracking.troubles import OVERFIT, PATIENCE, TROUBLES

__all__ = ["Finding", "findings"]

FALL = 0.05


class Finding(NamedTuple):
    """since: the first step of those up to the last that all show it."""

    what: str
    since: int
    remedies: tuple[str, ...]


def findings(run: Run) -> list[Finding]:
    """TROUBLES that the last steps show, from cause to effect; empty for a run in which nothing is seen."""
    found = [Finding(trouble.what, since, trouble.remedies) for trouble in TROUBLES
             if (since := _since(run.curve(trouble.metric), trouble.shows)) is not None]
    return [*found, *_overfit(run)]


def _since(curve: Curve, shows: Callable[[float], bool]) -> int | None:
    """The first of the last steps that all show it, None where fewer than PATIENCE do."""
    place = len(curve.values)
    while place and shows(curve.values[place - 1]):
        place -= 1
    return curve.steps[place] if len(curve.values) - place >= PATIENCE else None


def _overfit(run: Run) -> list[Finding]:
    """The held-out score is below its best by more than the interval of that, and training has gone on rising."""
    best, trained = run.best, run.curve("reward/mean")
    if best is None or best.interval is None or len(trained.values) < 2 * PATIENCE:
        return []
    curve = run.curve(best.name)
    at_best = [value for step, value in zip(trained.steps, trained.values, strict=True) if step <= best.step]
    rises = bool(at_best) and sum(trained.values[-PATIENCE:]) / PATIENCE > at_best[-1]
    if curve.values[-1] >= best.interval.low - FALL or not rises:
        return []
    return [Finding(OVERFIT, best.step, (f"take the checkpoint of step {best.step}", "train on more prompts"))]
