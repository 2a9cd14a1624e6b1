"""A run as one page that can be kept, mailed and read anywhere; and its reward curve as a picture for a document."""

from __future__ import annotations

from pathlib import Path

from reasongym.errors import DataError, message
from reasongym.files import make_folder, write_atomic
from reasongym.tracking.overview.run import Run
from reasongym.tracking.report.curves import curve_picture
from reasongym.tracking.report.page import page

__all__ = ["write_curve_svg", "write_report"]


def write_report(run: Path) -> Path:
    """`report.html` in the run's folder, from whatever the run has written so far; no script, nothing loaded.

    A damaged file of the run is named on it. Raises ResourceError where the page cannot be written.
    """
    return write_atomic(run / "report.html", page(Run(run)))


def write_curve_svg(run: Path, path: Path, title: str) -> Path:
    """The training and held-out score of each reward part of a run as one SVG file, its folder made where needed.

    Raises DataError where the run has no rewards yet, ResourceError where the file cannot be written.
    """
    picture = curve_picture(Run(run), title)
    if not picture:
        raise DataError(message(f"{run} has no reward to draw", got="no `reward/<part>` in metrics.jsonl",
                                expected="a run of one step or more", remedy="wait for the first step"))
    make_folder(path.parent)
    return write_atomic(path, picture)
