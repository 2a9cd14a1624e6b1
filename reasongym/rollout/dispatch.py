"""Which engine gets which requests: by load against share, the answers to one prompt together.

An engine that has read a prompt samples further answers to it from its prefix cache, so the requests for one prompt go
to one engine as far as that leaves the engines even. What no engine has room for waits here and not in an engine's own
queue: whichever is done first then takes it, and an engine that leaves or dies has less to give back.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from reasongym.rollout.requests import EngineSettings, Request

__all__ = ["AHEAD", "SLACK", "Backlog", "Loaded"]

SLACK = 1.25
"""How far above the even load an engine may come so that a prompt's requests stay together."""
AHEAD = 2
"""Requests that an engine has at most, as a multiple of those it samples at one time: its next ones have to be there
when the first ones end, however long the answers' way to here takes."""


class Loaded(Protocol):
    """An engine's place. load: requests in flight."""

    settings: EngineSettings
    load: int


L = TypeVar("L", bound=Loaded)


class Backlog:
    """Requests that no engine was given yet, in runs of one prompt."""

    def __init__(self) -> None:
        self._runs: deque[deque[Request]] = deque()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, requests: Iterable[Request]) -> None:
        """They come after those that are there; neighbours with the same prompt belong together."""
        for run in _runs(requests):
            self._runs.append(run)
            self._count += len(run)

    def add_first(self, requests: Iterable[Request]) -> None:
        """They come before those that are there: others wait for them already."""
        for run in reversed(_runs(requests)):
            self._runs.appendleft(run)
            self._count += len(run)

    def clear(self) -> None:
        self._runs.clear()
        self._count = 0

    def next(self, engines: Sequence[L]) -> tuple[L, list[Request]] | None:
        """The engine whose turn it is and what it gets; None where nothing waits, or none has room.

        That is the engine with the smallest load for its share, and the first prompt's requests: all of them, unless
        they lift it `SLACK` times above what it had if all that is known were spread evenly; then as many as lead up to
        that. The caller adds to its load before it asks again.
        """
        free = [engine for engine in engines if engine.load < AHEAD * engine.settings.max_num_seqs]
        if not free or not self._runs:
            return None
        chosen = min(free, key=lambda engine: engine.load / engine.settings.share)
        shares = sum(engine.settings.share for engine in engines)
        even = (sum(engine.load for engine in engines) + self._count) * chosen.settings.share / shares
        run = self._runs[0]
        fits = chosen.load + len(run) <= SLACK * even
        taken = [run.popleft() for _ in range(len(run) if fits else max(1, math.ceil(even) - chosen.load))]
        if not run:
            self._runs.popleft()
        self._count -= len(taken)
        return chosen, taken


def _runs(requests: Iterable[Request]) -> list[deque[Request]]:
    return [deque(run) for _, run in itertools.groupby(requests, key=lambda request: id(request.prompt))]
