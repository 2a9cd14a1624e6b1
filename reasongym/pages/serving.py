"""Pages over HTTP: read only, for this machine unless told otherwise.

A page of another origin cannot read them through a name that points here (DNS rebinding): while only this machine is
served, a request must name it. Not covered: encryption and logging in; for others, put a server that has both in front,
or write the pages as files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import NamedTuple, Self

from reasongym.errors import ReasongymError, ResourceError, message
from reasongym.pages.markup import asset

__all__ = ["LOOPBACK", "Page", "Routes", "Server"]

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


Routes = Mapping[str, Callable[..., Page | None]]
"""Pattern of a path below the root -> what makes its page of the pattern's groups, None where there is none. A path
that ends with a slash is that of its index.html."""


class Server:
    """Listens from the start; serves in `run`, until another thread calls `stop`, or an interrupt."""

    def __init__(self, routes: Routes, *, assets: Collection[str], host: str, port: int) -> None:
        """routes: called from several threads; a ReasongymError of one is told in the log and answered with 503.
        assets: files of assets/ that the pages load. port: 0 takes a free one. Raises ResourceError where it cannot
        listen."""
        given = {"routes": routes, "assets": assets, "only_local": host in LOOPBACK}
        handler = type("Handler", (_Handler,), given)
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

    routes: Routes
    assets: Collection[str]
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
            page = self._page(self.path.partition("?")[0])
        except ReasongymError as error:
            self.log_error("%s", error)
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, Page("json", '{"error": "cannot be read now"}\n'))
            return
        if page is None:
            self._answer(HTTPStatus.NOT_FOUND, Page("json", '{"error": "no such page"}\n'))
        else:
            self._answer(HTTPStatus.OK, page)

    do_HEAD = do_GET

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Silent: what goes wrong is told, what goes well is not."""

    def log_error(self, format: str, *args: object) -> None:
        """A connection that a browser keeps open and does not use is no error."""
        if "timed out" not in format:
            super().log_error(format, *args)

    def _page(self, path: str) -> Page | None:
        name = path.removeprefix("/") + ("index.html" if path.endswith("/") else "")
        folder, _, file = name.rpartition("/")
        if folder == "assets":
            return Page(file.rpartition(".")[2], asset(file)) if file in self.assets else None
        for pattern, make in self.routes.items():
            if found := re.fullmatch(pattern, name):
                return make(*found.groups())
        return None

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
