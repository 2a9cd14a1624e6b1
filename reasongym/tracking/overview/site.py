"""The pages of runs as files, for any web server and for opening from disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from reasongym.pages.folder import write_pages
from reasongym.pages.markup import asset
from reasongym.tracking.overview.data import data_script
from reasongym.tracking.overview.library import Library
from reasongym.tracking.overview.page import run_page, runs_page
from reasongym.tracking.overview.run import Run
from reasongym.tracking.overview.samples import CHUNK, answers_index, files_of_step

__all__ = ["ASSETS", "write_runs"]

ASSETS = ("board.js", "chart.js", "math.js", "page.js", "run.js", "runs.js", "samples.js", "style.css")
MARK = "assets/runs.js"  # a folder with it is one of ours, and may be replaced
FILES = 5
"""Files of answers that are written of one step."""


def write_runs(library: Library, folder: Path, *, title: str, steps: int) -> Path:
    """The first page of a folder that is there whole or, where something goes wrong, as it was before.

    steps: of each run at most as many have their answers written, evenly chosen. Raises ConfigError where `folder`
    holds something else, ResourceError where it cannot be written.
    """
    return write_pages(folder, _files(library, title, steps), mark=MARK)


def _files(library: Library, title: str, steps: int) -> Iterator[tuple[str, str]]:
    lines = library.lines()
    yield "index.html", runs_page(lines, title=title, live=False)
    for name in ASSETS:
        yield f"assets/{name}", asset(name)
    for one in lines:
        run = library.run(one.slug)
        if run is not None:  # else it was deleted meanwhile
            yield from _run_files(run, title, steps)


def _run_files(run: Run, title: str, steps: int) -> Iterator[tuple[str, str]]:
    folder, chosen = f"runs/{run.slug}", evenly(list(run.files), steps)
    kept = (f"Answers of {len(chosen):,} of {len(run.files):,} steps, at most {FILES * CHUNK:,} of each; all of them "
            "are shown by `reasongym runs serve`.")
    yield f"{folder}/index.html", run_page(run, title=title, live=False, kept=kept)
    yield f"{folder}/data.js", data_script(run, live=False)
    if run.files:
        yield f"{folder}/index.js", answers_index(chosen)
    for step in chosen:
        for name, text in files_of_step(run.files[step], step, FILES):
            yield f"{folder}/{name}.js", text


def evenly(steps: Sequence[int], count: int) -> list[int]:
    """At most `count` of them, the first and the last among them."""
    if len(steps) <= count:
        return list(steps)
    return [steps[round(place * (len(steps) - 1) / max(count - 1, 1))] for place in range(count)] if count else []
