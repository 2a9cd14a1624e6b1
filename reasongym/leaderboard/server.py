"""The pages of a store as it is now, over HTTP: read only, for this machine unless told otherwise.

A page of another origin cannot read them through a name that points here (DNS rebinding): while only this machine is
served, a request must name it. Not covered: encryption and logging in; for others, put a server that has both in front,
or write the static site.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import NamedTuple, Self

from reasongym.errors import ReasongymError, ResourceError, message
from reasongym.leaderboard.board import Boards, Line, read_boards
from reasongym.leaderboard.formats import as_json
from reasongym.leaderboard.markup import asset
from reasongym.leaderboard.pages import CHUNK, answers_file, answers_index, board_page, result_page
from reasongym.leaderboard.site import ASSETS
from reasongym.leaderboard.store import Store

__all__ = ["Page", "PageServer", "Pages"]

KINDS = {"html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8",
         "css": "text/css; charset=utf-8", "json": "application/json"}
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; base-uri 'none'; form-action 'none'; "
          "frame-ancestors 'none'")
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
REQUEST_S = 30.0
"""A client that sends or takes nothing for as long is left."""


class Page(NamedTuple):
    """kind: a key of KINDS."""

    kind: str
    text: str


class Pages:
    """Path -> page. The boards are made anew when a result has been entered since."""

    def __init__(self, store: Store, *, title: str) -> None:
        """title: what the pages are headed."""
        self._store, self._title = store, title
        self._lock = threading.Lock()
        self._boards: tuple[int, Boards] = (-1, Boards((), ()))

    def page(self, path: str) -> Page | None:
        """None where there is no such page. Raises ReasongymError where the store does not answer."""
        routes: tuple[tuple[str, Callable[..., Page | None]], ...] = (
            (r"/(?:index\.html)?", self._index), (r"/boards\.json", self._json), (r"/assets/([a-z.]+)", self._asset),
            (r"/results/([0-9a-f]+)/(?:index\.html)?", self._result),
            (r"/results/([0-9a-f]+)/index\.js", self._statuses),
            (r"/results/([0-9a-f]+)/([0-9]{1,9})\.js", self._answers))
        for pattern, make in routes:
            if found := re.fullmatch(pattern, path):
                return make(*found.groups())
        return None

    def boards(self) -> Boards:
        """As the store is now."""
        count = self._store.count()  # results are only ever added
        with self._lock:
            if self._boards[0] != count:
                self._boards = (count, read_boards(self._store))
            return self._boards[1]

    def _index(self) -> Page:
        return Page("html", board_page(self.boards(), title=self._title))

    def _json(self) -> Page:
        return Page("json", as_json(self.boards()))

    def _asset(self, name: str) -> Page | None:
        return Page(name.rpartition(".")[2], asset(name)) if name in ASSETS else None

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


class PageServer:
    """Listens from the start; serves in `run`, until another thread calls `stop`, or an interrupt."""

    def __init__(self, store: Store, *, host: str, port: int, title: str) -> None:
        """port: 0 takes a free one. Raises ResourceError where it cannot listen there."""
        pages = Pages(store, title=title)
        handler = type("Handler", (_Handler,), {"pages": pages, "only_local": host in LOOPBACK})
        try:
            self._server = ThreadingHTTPServer((host, port), handler)
        except OSError as error:
            raise ResourceError(message(f"cannot listen on {host} port {port}", got=error.strerror or str(error),
                                        expected="an address of this machine with a free port",
                                        remedy="choose another --port; 0 takes a free one")) from error
        self.address = f"http://{host}:{self._server.server_address[1]}/"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self._server.server_close()

    def run(self) -> None:
        """Returns after `stop` or Ctrl-C."""
        try:
            self._server.serve_forever(poll_interval=0.1)
        except KeyboardInterrupt:
            return

    def stop(self) -> None:
        """From another thread."""
        self._server.shutdown()


class _Handler(BaseHTTPRequestHandler):
    """GET and HEAD alone; the base class answers any other method with 501."""

    pages: Pages
    only_local: bool
    timeout = REQUEST_S
    protocol_version = "HTTP/1.1"
    server_version = "reasongym"
    sys_version = ""

    def do_GET(self) -> None:
        if self.only_local and not self._names_this_machine():
            self._answer(HTTPStatus.FORBIDDEN, Page("json", '{"error": "not a name of this machine"}\n'))
            return
        try:
            page = self.pages.page(self.path.partition("?")[0])
        except ReasongymError as error:
            self.log_error("%s", error)
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, Page("json", '{"error": "the store does not answer"}\n'))
            return
        if page is None:
            self._answer(HTTPStatus.NOT_FOUND, Page("json", '{"error": "no such page"}\n'))
        else:
            self._answer(HTTPStatus.OK, page)

    do_HEAD = do_GET

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Silent: what goes wrong is told, what goes well is not."""

    def _names_this_machine(self) -> bool:
        host = self.headers.get("Host", "")
        name = host.rpartition(":")[0] if re.search(r":[0-9]+$", host) else host
        return name.strip("[]").lower() in LOOPBACK

    def _answer(self, status: HTTPStatus, page: Page) -> None:
        body = page.text.encode("utf-8")
        self.send_response(status)
        for name, value in {"Content-Type": KINDS[page.kind], "Content-Length": str(len(body)),
                            "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff",
                            "Referrer-Policy": "no-referrer", "Cache-Control": "no-cache"}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
