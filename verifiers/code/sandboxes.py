"""The sandboxes that this process has open: one a backend, from the first time it is asked for to the process's end."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable

from reasongym.sandbox import Sandbox, SandboxError, open_sandbox

__all__ = ["PAIRS", "SANDBOXES", "Sandboxes"]

_VARIABLE = "REASONGYM_SANDBOX"
_WORKERS = 2
"""Tests in one, the candidate in the other."""

PAIRS = threading.Lock()
"""Held while two sessions are opened, so that no two threads each hold one and wait for the other's."""


class Sandboxes:
    """Safe between threads. A forked process opens its own."""

    def __init__(self, opener: Callable[[str], Sandbox]) -> None:
        self._opener = opener
        self._lock = threading.Lock()
        self._open: dict[tuple[int, str], Sandbox] = {}

    def get(self, name: str | None) -> Sandbox:
        """Of that backend, else of the one that REASONGYM_SANDBOX names, else `auto`. Raises SandboxError."""
        wanted = name or os.environ.get(_VARIABLE) or "auto"
        with self._lock:
            key = (os.getpid(), wanted)
            if key not in self._open:
                try:
                    self._open[key] = self._opener(wanted)
                except ValueError as error:  # no such backend
                    raise SandboxError(str(error)) from error
            return self._open[key]

    def close(self) -> None:
        """May be repeated; what is asked for afterwards is opened anew."""
        with self._lock:
            ours = [key for key in self._open if key[0] == os.getpid()]
            for key in ours:
                self._open.pop(key).close()


SANDBOXES = Sandboxes(lambda name: open_sandbox(name, workers=_WORKERS))
atexit.register(SANDBOXES.close)
