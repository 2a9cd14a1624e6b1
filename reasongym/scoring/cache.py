"""Verdicts already given: models repeat themselves, above all early and late in a training."""

from __future__ import annotations

import threading
from collections import OrderedDict

from reasongym.verifiers import Status, Verdict

__all__ = ["VerdictCache"]

NOT_KEPT = (Status.ERROR, Status.TIMEOUT)  # they tell of one moment on one machine, not of the answer


class VerdictCache:
    """The `size` answers asked for last. Safe between threads."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._entries: OrderedDict[bytes, dict[str, Verdict]] = OrderedDict()

    def get(self, key: bytes) -> dict[str, Verdict] | None:
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def put(self, key: bytes, verdicts: dict[str, Verdict]) -> None:
        """Does nothing where any verdict is ERROR or TIMEOUT."""
        if any(verdict.status in NOT_KEPT for verdict in verdicts.values()):
            return
        with self._lock:
            self._entries[key] = verdicts
            self._entries.move_to_end(key)
            if len(self._entries) > self._size:
                self._entries.popitem(last=False)
