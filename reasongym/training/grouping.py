"""Completions in, complete groups out, for sampling that goes on by itself: nothing here waits."""

from __future__ import annotations

import collections
import queue
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Future

from reasongym.errors import ScoringError, message
from reasongym.records import Completion, Group, Rollout
from reasongym.rollout.requests import Request
from reasongym.scoring import ScoringPool, reward
from reasongym.tasks import RewardPart
from reasongym.verifiers import Verdict

__all__ = ["Grouping"]

MOST_UNSCORED = 200
"""Answers that the scoring pool has at one time: fewer than its queue holds, so that its `submit` never blocks."""


class Grouping:
    """Requests are known by their key: (ticket of the group, sample). size: answers of a group. timeout_s: a verdict's.

    For one thread.
    """

    def __init__(self, scoring: ScoringPool, parts: Sequence[RewardPart], *, size: int, timeout_s: float) -> None:
        self._scoring, self._parts, self._size, self._timeout_s = scoring, parts, size, timeout_s
        self._sampled: collections.deque[tuple[Request, Completion]] = collections.deque()
        self._scored = queue.SimpleQueue[tuple[Request, Completion, Future[dict[str, Verdict]]]]()
        self._unscored = 0
        self._groups: dict[int, dict[int, Rollout]] = {}
        self._heard = time.monotonic()

    def add(self, sampled: Iterable[tuple[Request, Completion]]) -> None:
        """They will be scored as the pool has room."""
        self._sampled.extend(sampled)

    def complete(self) -> list[tuple[int, Group]]:
        """Tickets and groups whose last verdict came since the last call.

        Raises ScoringError where no verdict comes, and what a verdict's future raises.
        """
        while self._sampled and self._unscored < MOST_UNSCORED:
            self._score(*self._sampled.popleft())
        found = []
        while not self._scored.empty():
            request, completion, verdicts = self._scored.get()
            self._unscored -= 1
            self._heard = time.monotonic()
            ticket, sample = request.key
            rollouts = self._groups.setdefault(ticket, {})
            rollouts[sample] = Rollout(prompt=request.prompt, completion=completion, verdicts=verdicts.result(),
                                       reward=reward(verdicts.result(), self._parts))
            if len(rollouts) == self._size:
                del self._groups[ticket]
                in_order = tuple(rollouts[sample] for sample in range(self._size))
                found.append((ticket, Group(prompt=request.prompt, rollouts=in_order)))
        self._check_silence()
        return found

    def _score(self, request: Request, completion: Completion) -> None:
        if not self._unscored:
            self._heard = time.monotonic()
        self._unscored += 1
        verdicts = self._scoring.submit(completion.text, request.prompt.example)
        verdicts.add_done_callback(lambda done: self._scored.put((request, completion, done)))

    def _check_silence(self) -> None:
        limit = self._timeout_s * (2 + self._unscored)
        if self._unscored and time.monotonic() - self._heard > limit:
            raise ScoringError(message("the scoring pool stands still", expected="a verdict for every answer",
                                       got=f"{self._unscored} answers and no verdict in {limit:.0f} s",
                                       remedy="raise scoring.workers"))
