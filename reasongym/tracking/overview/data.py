"""What the scripts of the pages draw of a run, as one object."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from reasongym.pages.answers import call
from reasongym.tracking.definitions import metric_info
from reasongym.tracking.overview.columns import Curve
from reasongym.tracking.overview.health import health
from reasongym.tracking.overview.run import Run
from reasongym.tracking.overview.thinning import drawn, measured
from reasongym.tracking.printable import printable
from reasongym.tracking.report.axis import percent
from reasongym.tracking.report.curves import FIGURES, Figure

__all__ = ["data_script", "pulse_script"]

SHARES = ("share", "accuracy", "status/")


def data_script(run: Run, *, live: bool) -> str:
    """data.js of a run: its figures and their series. live: whether the page is to ask for newer ones."""
    figures = list(_figures(run))
    names = dict.fromkeys(metric for figure in figures for metric, _ in figure["curves"])
    return call("given", f"data/{run.slug}", {
        "version": run.version, "live": live, "name": printable(run.name), "health": health(run)._asdict(),
        "figures": figures,
        "series": {name: _series(run, name) for name in names}, "hours": drawn(_hours(run))})


def pulse_script(version: str) -> str:
    """pulse.js: what is asked for every few seconds."""
    return call("given", "pulse", version)


def _figures(run: Run) -> Iterator[dict[str, Any]]:
    """Held-out and training scores first, then the figures of the report, then every metric that is in none."""
    told = set[str]()
    parts = [*run.parts, "mean"]
    for figure in (*(_score(part) for part in parts), *FIGURES, *_others(run)):
        curves = [(metric, label) for metric, label in figure.curves
                  if metric not in told and run.curve(metric).steps]
        if len(curves) > 2:  # verdicts that never occur only fill the legend
            curves = [(metric, label) for metric, label in curves if any(run.curve(metric).values)] or curves[:1]
        told |= {metric for metric, _ in figure.curves}
        if curves:
            info = metric_info(curves[0][0])
            yield {"title": figure.title, "curves": curves, "percent": figure.show is percent,
                   "zero": figure.from_zero, "caption": info.definition if info else "",
                   "hint": info.bad_value_means if info else ""}


def _score(part: str) -> Figure:
    title = "Reward" if part == "mean" else f"Score: {part}"
    return Figure(title, ((f"eval/reward/{part}", "held-out"), (f"reward/{part}", "training")))


def _others(run: Run) -> Iterator[Figure]:
    known = {metric for figure in FIGURES for metric, _ in figure.curves} | {"time", "eval/prompts"}
    scores = {f"{prefix}{part}" for prefix in ("eval/reward/", "reward/") for part in (*run.parts, "mean")}
    for name in run.names:
        if name not in known | scores:
            show = {"show": percent} if any(mark in name for mark in SHARES) else {}
            yield Figure(name, ((name, name.rpartition("/")[2]),), **show, from_zero=False)


def _series(run: Run, name: str) -> dict[str, Any]:
    curve = run.curve(name)
    return measured(curve, run.intervals(name) if name.startswith("eval/reward/") and not name.endswith("/mean") else
                    {}) if name.startswith("eval/") else drawn(curve)


def _hours(run: Run) -> Curve:
    """Hours of training at the end of each step."""
    seconds, hours = run.curve("step/seconds"), Curve()
    for step, total in zip(seconds.steps, accumulate(seconds.values), strict=True):
        hours.add(step, total / 3600)
    return hours
