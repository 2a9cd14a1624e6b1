"""State, headline and findings of a run: what stands above its curves, and is made anew while it goes on."""

from __future__ import annotations

from typing import NamedTuple

from reasongym.tracking.overview.findings import findings
from reasongym.tracking.overview.run import Run
from reasongym.tracking.printable import printable
from reasongym.tracking.report.axis import number
from reasongym.tracking.step_line import duration

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
                  _tiles(run), [(f"{one.what}, since step {one.since:,}.", f"{one.remedy}.") for one in findings(run)])


def _tiles(run: Run) -> list[tuple[str, str, str]]:
    best, reward, tokens = run.best, run.curve("reward/mean").values, sum(run.curve("rollout/tokens").values)
    told = [("Steps", f"{run.steps:,}", f"of {run.planned:,}" if run.planned else "")]
    if best:
        interval = f"{best.interval.low:.3f} to {best.interval.high:.3f}, " if best.interval else ""
        told.append((f"Best held-out {printable(best.name.rpartition('/')[2])}", f"{best.value:.3f}",
                     f"{interval}step {best.step:,}"))
    if reward:
        told.append(("Last reward", f"{reward[-1]:.3f}", f"{reward[0]:.3f} at the first step"))
    if tokens:
        told.append(("Tokens sampled", number(tokens), ""))
    if run.seconds:
        told.append(("Training time", duration(run.seconds), f"{number(run.seconds / max(run.steps, 1))} s a step"))
    return told
