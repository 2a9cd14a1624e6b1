"""The pages of a store as it is now, over HTTP."""

from __future__ import annotations

import threading

from reasongym.leaderboard.board import Boards, Line, read_boards
from reasongym.leaderboard.formats import as_json
from reasongym.leaderboard.pages import CHUNK, answers_index, board_page, result_page
from reasongym.leaderboard.site import ASSETS
from reasongym.leaderboard.store import Store
from reasongym.pages.answers import answers_file
from reasongym.pages.serving import Page, Routes, Server

__all__ = ["PageServer", "Pages"]


class Pages:
    """What a server answers with. The boards are made anew when the store holds other results."""

    def __init__(self, store: Store, *, title: str) -> None:
        """title: what the pages are headed."""
        self._store, self._title = store, title
        self._lock = threading.Lock()
        self._boards: tuple[tuple[str, ...], Boards] = ((), Boards((), ()))

    @property
    def routes(self) -> Routes:
        """Each raises ReasongymError where the store does not answer."""
        return {r"index\.html": self._index, r"boards\.json": self._json,
                r"results/([0-9a-f]+)/index\.html": self._result, r"results/([0-9a-f]+)/index\.js": self._statuses,
                r"results/([0-9a-f]+)/([0-9]{1,9})\.js": self._answers}

    def boards(self) -> Boards:
        """As the store is now."""
        digests = self._store.digests()  # a number of results would not tell that one took the place of another
        with self._lock:
            if self._boards[0] != digests:
                self._boards = (digests, read_boards(self._store))
            return self._boards[1]

    def _index(self) -> Page:
        return Page("html", board_page(self.boards(), title=self._title))

    def _json(self) -> Page:
        return Page("json", as_json(self.boards()))

    def _result(self, name: str) -> Page | None:
        line = self._line(name)
        return line and Page("html", result_page(line, self._store.record(line.result.id), title=self._title))

    def _statuses(self, name: str) -> Page | None:
        line = self._line(name)
        return line and Page("js", answers_index(self._store.statuses(line.result.id)))

    def _answers(self, name: str, number: str) -> Page | None:
        line = self._line(name)
        samples = self._store.samples(line.result.id, int(number) * CHUNK, CHUNK) if line else []
        return Page("js", answers_file(int(number), samples)) if samples else None

    def _line(self, name: str) -> Line | None:
        lines = (line for board in self.boards().boards for line in board.lines)
        return next((line for line in lines if line.result.name == name), None)


class PageServer(Server):
    """A server of the pages of a store."""

    def __init__(self, store: Store, *, host: str, port: int, title: str) -> None:
        """port: 0 takes a free one. title: what the pages are headed. Raises ResourceError where it cannot listen."""
        super().__init__(Pages(store, title=title).routes, assets=ASSETS, host=host, port=port)
