"""The pages of runs as they are now, for a server."""

from __future__ import annotations

from reasongym.pages.serving import Page, Routes
from reasongym.tracking.overview.data import data_script, pulse_script
from reasongym.tracking.overview.library import Library
from reasongym.tracking.overview.page import run_page, runs_page
from reasongym.tracking.overview.run import glance
from reasongym.tracking.overview.samples import answers_index, file_of_step
from reasongym.tracking.overview.table import table_script

__all__ = ["LivePages"]

SLUG = r"runs/([A-Za-z0-9_-][A-Za-z0-9._-]*)"


class LivePages:
    """What a server answers with."""

    def __init__(self, library: Library, *, title: str) -> None:
        """title: what the pages are headed."""
        self._library, self._title = library, title

    @property
    def routes(self) -> Routes:
        return {r"index\.html": self._index, r"(pulse|table)\.js": self._news, rf"{SLUG}/index\.html": self._run,
                rf"{SLUG}/(data|pulse|index)\.js": self._script,
                rf"{SLUG}/([0-9]{{1,12}})-([0-9]{{1,6}})\.js": self._answers}

    def _index(self) -> Page:
        return Page("html", runs_page(self._library.lines(), title=self._title, live=True))

    def _news(self, what: str) -> Page:
        lines = self._library.lines()
        version = self._library.version(lines)
        return Page("js", pulse_script(version) if what == "pulse" else table_script(version, lines))

    def _run(self, slug: str) -> Page | None:
        run = self._library.run(slug)
        return Page("html", run_page(run, title=self._title, live=True)) if run else None

    def _script(self, slug: str, what: str) -> Page | None:
        run = self._library.run(slug)
        if run is None:
            return None
        make = {"data": lambda: data_script(run, live=True), "pulse": lambda: pulse_script(glance(run.folder)),
                "index": lambda: answers_index(list(run.files))}
        return Page("js", make[what]())

    def _answers(self, slug: str, step: str, chunk: str) -> Page | None:
        run = self._library.run(slug)
        path = run.files.get(int(step)) if run else None
        text = file_of_step(path, int(step), int(chunk)) if path else ""
        return Page("js", text) if text else None
