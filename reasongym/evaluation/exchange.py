"""One request over HTTP within a deadline, on the standard library: the light installation brings no HTTP package.

Redirects are not followed, for the key would go with them. Proxies of the environment are used, except for loopback.
"""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import re
import socket
import ssl
import threading
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Self

from reasongym.errors import ConfigError, message

__all__ = ["MAX_REPLY_BYTES", "Address", "Exchanges", "Reply"]

MAX_REPLY_BYTES = 64 * 2**20
SECRET = re.compile(r"key|token|secret|password|sig(nature)?$", re.IGNORECASE)


class Reply(NamedTuple):
    """header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Address:
    """Where requests go. query: with its `?`, or empty."""

    secure: bool
    host: str
    port: int
    path: str
    query: str

    @classmethod
    def parse(cls, url: str) -> Self:
        """Raises ConfigError for what is no http(s) address, and for one with a password or a key in it."""
        try:
            parts = urllib.parse.urlsplit(url.strip())
            port = parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError:
            parts, port = urllib.parse.urlsplit(""), 0
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(message("--endpoint is not an address", got=repr(url)[:120],
                                      expected="http:// or https://, a host, and usually /v1",
                                      remedy="for example http://localhost:8000/v1"))
        if parts.username or parts.password:
            raise ConfigError(message("--endpoint holds a user or a password, which would be written down",
                                      got="an address of the form user:password@host", expected="an address without",
                                      remedy="put the key into an environment variable and name it by --key-env"))
        secret = [name for name, _ in urllib.parse.parse_qsl(parts.query) if SECRET.search(name)]
        if secret:
            raise ConfigError(message("--endpoint holds what looks like a key, which would be written down",
                                      got=f"a parameter {secret[0]!r}", expected="an address without",
                                      remedy="put the key into an environment variable and name it by --key-env"))
        query = f"?{parts.query}" if parts.query else ""
        return cls(parts.scheme == "https", parts.hostname, port, parts.path.rstrip("/"), query)

    @property
    def shown(self) -> str:
        """The address without its query."""
        scheme, usual = ("https", 443) if self.secure else ("http", 80)
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}{'' if self.port == usual else f':{self.port}'}{self.path}"

    def connect(self, timeout_s: float) -> tuple[http.client.HTTPConnection, str]:
        """A connection, not yet open, and what to ask it for."""
        scheme = "https" if self.secure else "http"
        proxy = None if self._is_near() else urllib.request.getproxies().get(scheme)
        if not proxy or urllib.request.proxy_bypass(self.host):
            return self._connection(self.host, self.port, timeout_s), self.path + self.query
        through = urllib.parse.urlsplit(proxy if "//" in proxy else f"http://{proxy}")
        connection = self._connection(through.hostname or "", through.port or 80, timeout_s)
        if not self.secure:
            return connection, self.shown + self.query
        connection.set_tunnel(self.host, self.port)
        return connection, self.path + self.query

    def _connection(self, host: str, port: int, timeout_s: float) -> http.client.HTTPConnection:
        if self.secure:
            return http.client.HTTPSConnection(host, port, timeout=timeout_s, context=ssl.create_default_context())
        return http.client.HTTPConnection(host, port, timeout=timeout_s)

    def _is_near(self) -> bool:
        with contextlib.suppress(ValueError):
            return ipaddress.ip_address(self.host).is_loopback
        return self.host == "localhost"


class Exchanges:
    """Requests in flight. `close` cuts them all off, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: set[http.client.HTTPConnection] = set()
        self._closed = False

    def post(self, address: Address, body: bytes, headers: Mapping[str, str], timeout_s: float) -> Reply:
        """The whole reply. Raises OSError, http.client.HTTPException or ValueError where there is none in time.

        A socket's own timeout is of one read, and a server that sends a byte now and then would never reach it: a
        timer cuts the connection.
        """
        connection, target = address.connect(timeout_s)
        late = threading.Event()

        def cut() -> None:
            late.set()
            _cut(connection)

        timer = threading.Timer(timeout_s, cut)
        timer.daemon = True
        self._enter(connection)
        timer.start()
        try:
            connection.connect()
            with self._lock:
                if self._closed or late.is_set():  # a socket that was not there yet could not be cut
                    raise ConnectionAbortedError("closed")
            connection.request("POST", target, body, dict(headers))
            response = connection.getresponse()
            content = response.read(MAX_REPLY_BYTES + 1)
            if late.is_set():
                raise TimeoutError
            if response.length:  # `read(n)` hands over what there is of a body that was cut off
                raise http.client.IncompleteRead(b"", response.length)
            if len(content) > MAX_REPLY_BYTES:
                raise ValueError(f"a reply of more than {MAX_REPLY_BYTES:,} bytes")
            return Reply(response.status, {name.lower(): value for name, value in response.getheaders()}, content)
        except (OSError, http.client.HTTPException) as error:
            if late.is_set() or isinstance(error, TimeoutError):
                raise TimeoutError(f"no whole reply within {timeout_s:.3g} s") from error
            raise
        finally:
            timer.cancel()
            self._leave(connection)

    def close(self) -> None:
        """Every exchange in flight fails at once, and no other begins."""
        with self._lock:
            self._closed = True
            for connection in self._open:
                _cut(connection)

    def _enter(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if self._closed:
                raise ConnectionAbortedError("closed")
            self._open.add(connection)

    def _leave(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            self._open.discard(connection)
        connection.close()


def _cut(connection: http.client.HTTPConnection) -> None:
    """End a connection that another thread reads from."""
    sock = connection.sock
    with contextlib.suppress(OSError):
        if sock is not None:
            # SSLSocket's own shutdown takes its encryption away under the reader, which would then read plain bytes.
            socket.socket.shutdown(sock, socket.SHUT_RDWR)
