"""A connection to a server of pages, for the tests of leaderboards and of runs."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit


@contextmanager
def connected_to(server: Any) -> Iterator[http.client.HTTPConnection]:
    """While it lasts, `server` runs in a thread."""
    thread = threading.Thread(target=server.run)
    thread.start()
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(server.address).port, timeout=60)
    try:
        yield connection
    finally:
        connection.close()
        server.stop()
        thread.join(10)
