"""Verdicts already given: models repeat themselves, above all early and late in a training."""

from __future__ import annotations

from collections import OrderedDict

from reasongym.verifiers import Status, Verdict

__all__ = ["VerdictCache"]

NOT_KEPT = (Status.ERROR, Status.TIMEOUT)  # they tell of one moment on one machine, not of the answer
MAX_KEPT_CHARS = 4096  # of an answer's verdicts: those that quote whole responses would fill the memory


class VerdictCache:
    """The `size` answers asked for last. Not safe between threads: the queue that holds it is."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: OrderedDict[bytes, dict[str, Verdict]] = OrderedDict()

    @property
    def size(self) -> int:
        return self._size

    def __contains__(self, key: bytes) -> bool:
        return key in self._entries

    def get(self, key: bytes) -> dict[str, Verdict] | None:
        if key in self._entries:
            self._entries.move_to_end(key)
        return self._entries.get(key)

    def put(self, key: bytes, verdicts: dict[str, Verdict]) -> None:
        """Does nothing where any verdict is ERROR or TIMEOUT, or their texts are long."""
        chars = sum(len(verdict.reason) + len(verdict.extracted or "") for verdict in verdicts.values())
        if chars > MAX_KEPT_CHARS or any(verdict.status in NOT_KEPT for verdict in verdicts.values()):
            return
        self._entries[key] = verdicts
        self._entries.move_to_end(key)
        if len(self._entries) > self._size:
            self._entries.popitem(last=False)
