"""What the scripts of the pages draw of a run, as one object."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from reasongym.pages.answers import call
from reasongym.printable import printable
from reasongym.tracking.definitions import metric_info
from reasongym.tracking.numbers import percent
from reasongym.tracking.overview.columns import Curve
from reasongym.tracking.overview.figures import Figure, figures, points
from reasongym.tracking.overview.health import health
from reasongym.tracking.overview.run import Run
from reasongym.tracking.overview.thinning import drawn

__all__ = ["data_script", "pulse_script"]


def data_script(run: Run, *, live: bool) -> str:
    """data.js of a run: its figures and their series. live: whether the page is to ask for newer ones."""
    shown = list(figures(run))
    names = dict.fromkeys(metric for figure in shown for metric, _ in figure.curves)
    return call("given", f"data/{run.slug}", {
        "version": run.version, "live": live, "name": printable(run.name), "health": health(run)._asdict(),
        "figures": list(map(_figure, shown)),
        "series": {name: points(run, name) for name in names}, "hours": drawn(_hours(run))})


def pulse_script(version: str) -> str:
    """pulse.js: what is asked for every few seconds."""
    return call("given", "pulse", version)


def _figure(figure: Figure) -> dict[str, Any]:
    info = metric_info(figure.curves[0][0])
    return {"title": figure.title, "curves": figure.curves, "percent": figure.show is percent,
            "zero": figure.from_zero, "caption": info.definition if info else "",
            "hint": info.bad_value_means if info else ""}


def _hours(run: Run) -> Curve:
    """Hours of training at the end of each step."""
    seconds, hours = run.curve("step/seconds"), Curve()
    for step, total in zip(seconds.steps, accumulate(seconds.values), strict=True):
        hours.add(step, total / 3600)
    return hours
