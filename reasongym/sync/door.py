"""A worker's own way in, past its engine's core.

vLLM's core answers a call between two of its steps, each tens of milliseconds long on a CPU. What an update only
prepares need not wait for that: a thread of the worker takes it through a socket, while the core goes on sampling.
Questions are JSON lists of a name and its arguments; an answer is what went wrong, or nothing.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import sys
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Client, Connection, Listener
from threading import Lock, Thread
from typing import Any

__all__ = ["Door", "Visitor", "can_open"]

Handler = Callable[..., None]
KEY_BYTES, KEY_WITHIN_S, AGAIN_AFTER_S = 32, 10.0, 0.05


def can_open() -> bool:
    """Whether this system has sockets without a file, of which nothing stays behind a killed process."""
    return sys.platform == "linux"


class Door:
    """The worker's half: serves one visitor after another, in a thread. handlers: what may be asked, by name.

    address: the socket's name, and the key that a visitor shows first, both in hexadecimal digits. Every process of the
    machine can knock.
    """

    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        self.handlers, self.closed = handlers, False
        self.key = secrets.token_bytes(KEY_BYTES)
        self.name = f"\0reasongym-{secrets.token_hex(8)}"
        self.address = (self.name.encode().hex(), self.key.hex())
        self.listener = Listener(self.name, family="AF_UNIX")
        Thread(target=self._serve, name="weights-door", daemon=True).start()

    def close(self) -> None:
        self.closed = True
        with contextlib.suppress(OSError):
            Client(self.name, family="AF_UNIX").close()  # the thread wakes up
        self.listener.close()

    def _serve(self) -> None:
        while not self.closed:
            try:
                with self.listener.accept() as visitor:
                    if visitor.poll(KEY_WITHIN_S) and secrets.compare_digest(visitor.recv_bytes(KEY_BYTES), self.key):
                        self._answer_all(visitor)
            except Exception:  # boundary: whatever one visitor does, the next may come in
                time.sleep(AGAIN_AFTER_S)

    def _answer_all(self, visitor: Connection) -> None:
        while True:
            name, *arguments = json.loads(visitor.recv_bytes())
            visitor.send_bytes(self._answer(name, arguments).encode())

    def _answer(self, name: str, arguments: list[Any]) -> str:
        try:
            self.handlers[name](*arguments)
        except Exception as error:  # boundary: the visitor raises it
            return f"{type(error).__name__}: {error}"
        return ""


class Visitor:
    """The other half. One question at a time, whichever threads ask."""

    def __init__(self, name: str, key: str) -> None:
        self.lock = Lock()
        self.connection: Connection = Client(bytes.fromhex(name).decode(), family="AF_UNIX")
        self.connection.send_bytes(bytes.fromhex(key))

    def ask(self, name: str, *arguments: Any, timeout_s: float) -> None:
        """Returns when it is done. Raises RuntimeError where it failed, EOFError or OSError where the worker is gone,
        TimeoutError where it is late: nothing more can be asked then, for the late answer would be taken for another.
        """
        with self.lock:
            self.connection.send_bytes(json.dumps([name, *arguments]).encode())
            if not self.connection.poll(timeout_s):
                self.connection.close()
                raise TimeoutError(f"a vLLM worker did not {name} new weights in {timeout_s:.0f} s")
            wrong = self.connection.recv_bytes().decode()
        if wrong:
            raise RuntimeError(f"a vLLM worker could not {name} new weights: {wrong}")
