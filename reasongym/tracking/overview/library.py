"""The runs below some folders, each read when it is shown and again when it has changed."""

from __future__ import annotations

import re
import threading
import zlib
from pathlib import Path

from reasongym.tracking.overview.run import Run, find_runs, glance
from reasongym.tracking.overview.table import Line, line

__all__ = ["Library"]

KEPT = 8
"""Runs whose curves are kept in memory: one of 10,000 steps and 50 metrics takes 8 MB."""


class Library:
    """Safe for several threads: one reads at a time."""

    def __init__(self, folders: tuple[Path, ...]) -> None:
        """folders: runs, or folders of runs; looked through again each time, so that a new run shows."""
        self._folders = folders
        self._lock = threading.Lock()
        self._slugs: dict[Path, str] = {}
        self._runs: dict[str, Run] = {}
        self._lines: dict[str, Line] = {}

    def lines(self) -> list[Line]:
        """A line a run, the newest first."""
        with self._lock:
            found = [self._line(slug, folder) for slug, folder in self._found().items()]
        return sorted(found, key=lambda one: (-one.begun, one.slug))

    def run(self, slug: str) -> Run | None:
        """As it is now; None where there is none."""
        with self._lock:
            folder = self._found().get(slug)
            return None if folder is None else self._read(slug, folder)

    @staticmethod
    def version(lines: list[Line]) -> str:
        """Another one whenever a line has changed."""
        return f"{zlib.crc32(repr([(one.slug, one.version) for one in lines]).encode()):08x}"

    def _found(self) -> dict[str, Path]:
        """Slug -> folder. A run keeps its slug as long as this object lives."""
        found = {}
        for folder in find_runs(self._folders):
            slug = self._slugs.get(folder) or _slug(folder.resolve().name, set(self._slugs.values()))
            self._slugs[folder] = slug
            found[slug] = folder
        return found

    def _line(self, slug: str, folder: Path) -> Line:
        known = self._lines.get(slug)
        if known is None or known.version != glance(folder):
            known = self._lines[slug] = line(self._read(slug, folder))
        return known

    def _read(self, slug: str, folder: Path) -> Run:
        run = self._runs.pop(slug, None) or Run(folder, slug)
        run.refresh()
        self._runs[slug] = run
        while len(self._runs) > KEPT:
            del self._runs[next(iter(self._runs))]
        return run


def _slug(name: str, taken: set[str]) -> str:
    """A name for a folder and an address: letters, digits, `.`, `_` and `-`, and none that is there already."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", name).lstrip(".") or "run"
    return next(slug for slug in (plain, *(f"{plain}-{number}" for number in range(2, len(taken) + 3)))
                if slug not in taken)
