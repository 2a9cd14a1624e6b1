"""The head of the Ray cluster, watched while a run goes on. Without it no call is ever answered: Ray waits for a
minute, and then ends the process without a word of what can be done. Here the run ends before that, as for any
failure."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from typing import Self

from reasongym.errors import TrainerError, message

__all__ = ["Head"]

EVERY_S = 2.0
PATIENCE_S = 20.0
"""Well below Ray's own, 60 s (RAY_gcs_rpc_server_reconnect_timeout_s)."""


class Head:
    """address: HOST:PORT of the head's control store; empty: nothing is watched. A thread of its own tries to connect,
    every `every_s`."""

    def __init__(self, address: str, *, every_s: float = EVERY_S, patience_s: float = PATIENCE_S) -> None:
        self.address, self.gone = address, False
        self._every_s, self._patience_s = every_s, patience_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="head", daemon=True)

    def check(self) -> None:
        """Raises TrainerError where the head has not answered for `patience_s`."""
        if self.gone:
            raise TrainerError(message("the head of the Ray cluster is gone", expected="one that outlives the run",
                                       got=f"{self.address} has not answered for {self._patience_s:.0f} s",
                                       remedy="start a cluster anew and go on from the last checkpoint: --resume, with "
                                              "--ray-address where the address is another one"))

    def unless_gone(self, end: Callable[[], None]) -> None:
        """Call `end`, which speaks to actors. Without a head they end by themselves, within about a minute."""
        if not self.gone:
            end()

    def _watch(self) -> None:
        heard = time.monotonic()
        while not self._ended.wait(self._every_s):
            with contextlib.suppress(OSError):
                self._connect()
                heard = time.monotonic()
            if time.monotonic() - heard > self._patience_s:
                self.gone = True
                return

    def _connect(self) -> None:
        host, _, port = self.address.rpartition(":")
        socket.create_connection((host.strip("[]"), int(port)), timeout=self._every_s).close()

    def __enter__(self) -> Self:
        if self.address:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(2 * self._every_s)
