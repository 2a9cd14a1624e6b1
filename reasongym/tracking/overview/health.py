"""State, headline and findings of a run: what stands above its curves and at the end of its console."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from reasongym.printable import printable
from reasongym.tracking.numbers import duration, number, percent
from reasongym.tracking.overview.columns import Curve
from reasongym.tracking.overview.findings import findings
from reasongym.tracking.overview.run import Run

__all__ = ["Health", "health"]


class Health(NamedTuple):
    """why: how it ended, where that is known. notes: files that cannot be read. tiles: (name, value, below).
    findings: (what, remedy)."""

    state: str
    why: str
    notes: list[str]
    tiles: list[tuple[str, str, str]]
    findings: list[tuple[str, str]]


def health(run: Run) -> Health:
    """As the run is now; its texts are safe to show."""
    return Health(run.ending.state, printable(run.ending.why), [f"not readable: {file}" for file in run.damage],
                  [*_scores(run), *_spent(run)],
                  [(f"{one.what}, since step {one.since:,}.", f"To try: {'; '.join(one.remedies)}.")
                   for one in findings(run)])


def _scores(run: Run) -> Iterator[tuple[str, str, str]]:
    """What was gained: by part on held-out prompts, or in training where there are none; without rewards the loss."""
    prefix, kind = ("eval/reward/", "Held-out") if run.curve("eval/reward/mean").steps else ("reward/", "Training")
    for part in run.parts:
        yield from _change(f"{kind} {printable(part)}", run.curve(f"{prefix}{part}"))
    yield from _change("Held-out reward", run.curve("eval/reward/mean"))
    yield from _change("Training reward", run.curve("reward/mean"))
    if best := run.best:
        interval = f"{best.interval.low:.3f} to {best.interval.high:.3f}, " if best.interval else ""
        yield (f"Best held-out {printable(best.name.rpartition('/')[2])}", f"{best.value:.3f}",
               f"{interval}step {best.step:,}")
    if not run.curve("reward/mean").steps:
        yield from _change("Loss", run.curve("train/loss"))


def _spent(run: Run) -> Iterator[tuple[str, str, str]]:
    tokens, rates = sum(run.curve("rollout/tokens").values), run.curve("rollout/tokens_per_second").values
    seconds, cut = run.curve("step/seconds").values, run.curve("rollout/truncated_share").values
    yield "Steps", f"{run.steps:,}", f"of {run.planned:,}" if run.planned else ""
    if seconds:
        yield "Training time", duration(sum(seconds)), f"{number(median(seconds))} s a step"
    if tokens:
        yield "Tokens sampled", number(tokens), f"{number(median(rates))} a second" if rates else ""
    if cut:
        yield "Cut off at the end", percent(cut[-1]), "of the last step's answers"


def _change(name: str, curve: Curve) -> Iterator[tuple[str, str, str]]:
    if curve.steps:
        first, last = curve.values[0], curve.values[-1]
        yield name, f"{first:.3f} → {last:.3f}", f"{last - first:+.3f}, steps {curve.steps[0]:,} to {curve.steps[-1]:,}"
