"""An OpenAI-compatible endpoint on loopback that does what a test tells it to, and counts what it is asked."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Asked", "Server", "chat", "serving"]


class Asked:
    """One request: its number from 1, its path, headers and body."""

    def __init__(self, number: int, path: str, headers: dict[str, str], body: dict[str, Any]) -> None:
        self.number, self.path, self.headers, self.body = number, path, headers, body

    @property
    def question(self) -> str:
        return str(self.body["messages"][-1]["content"] if "messages" in self.body else self.body["prompt"])


Behaviour = Callable[[Asked, "Handler"], None]


def chat(text: str | None, *, finish: str = "stop", tokens: int = 7, **message: object) -> dict[str, Any]:
    """A reply of status 200."""
    return {"model": "served-model", "system_fingerprint": "fp",
            "usage": {"prompt_tokens": 5, "completion_tokens": tokens},
            "choices": [{"message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}]}


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            asked = Asked(len(self.server.asked) + 1, self.path, dict(self.headers), body)
            self.server.asked.append(asked)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.server.behave(asked, self)
        self.close_connection = True

    def answer(self, record: object, status: int = 200, **headers: str) -> None:
        self.send(json.dumps(record).encode(), status, **headers)

    def send(self, data: bytes, status: int = 200, *, length: int | None = None, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data) if length is None else length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def drip(self, seconds: float) -> None:
        """A byte of a header now and then."""
        until = time.monotonic() + seconds
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while time.monotonic() < until and not self.server.ended.wait(0.02):
            self.wfile.write(b"x")
            self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    """asked: in the order in which requests came."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, behave: Behaviour) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behave, self.asked, self.lock, self.ended = behave, list[Asked](), threading.Lock(), threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request: object, client_address: object) -> None:
        pass


@contextlib.contextmanager
def serving(behave: Behaviour) -> Iterator[Server]:
    with Server(behave) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.ended.set()
            server.shutdown()
            thread.join()
