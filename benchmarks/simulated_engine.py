"""An engine in simulated time: every open answer gains a token a decode step, and a step takes as long as reading the
weights once and the keys and values of every open answer."""

from __future__ import annotations

import heapq
import math
from collections import deque
from typing import NamedTuple

from reasongym.rollout.requests import EngineSettings, Request

__all__ = ["DecodeRate", "SimulatedEngine"]

TOLERANCE = 1e-6
"""Decode steps: what ends within this of one another ends together, whatever rounding did to the clock."""


class DecodeRate(NamedTuple):
    """Seconds of a decode step: `step_s`, and `context_s` a token that the open answers and their prompts hold."""

    step_s: float
    context_s: float


class SimulatedEngine:
    """The length of an answer is its request's `max_new_tokens`. busy_s: seconds in which something was sampled.

    load: requests that it was asked and has not answered; `settings.max_num_seqs` are sampled at one time. serving: it
    may be asked. paused: frozen in a transfer. accepting: what is asked begins at once; else it is held until `resume`.
    """

    def __init__(self, settings: EngineSettings, rate: DecodeRate) -> None:
        self.settings, self._rate = settings, rate
        self._now, self._steps, self._context = 0.0, 0.0, 0.0
        self._open: list[tuple[float, int, Request]] = []  # a heap by the decode step at which each ends
        self._waiting: deque[Request] = deque()
        self._held: list[Request] = []
        self._begun = 0
        self.load, self.busy_s = 0, 0.0
        self.serving, self.paused, self.accepting = True, False, True

    @property
    def is_drained(self) -> bool:
        """Nothing that it accepted is left."""
        return not self._open and not self._waiting

    def ask(self, request: Request) -> None:
        """At the time that `advance` was last told."""
        self.load += 1
        self._take(request)

    def advance(self, now: float) -> None:
        """Sample until `now`, which is not past `next_end`."""
        elapsed, self._now = now - self._now, now
        if not self._open or self.paused or elapsed <= 0:
            return
        # n answers: x steps take b x + n c x^2 / 2 seconds, where b is the present step and c what a token adds to one.
        base, growth = self._step_s(), self._rate.context_s * len(self._open)
        steps = 2 * elapsed / (base + math.sqrt(base * base + 2 * growth * elapsed))
        self._steps += steps
        self._context += steps * len(self._open)
        self.busy_s += elapsed

    def next_end(self) -> float:
        """When the first open answer ends, if nothing is asked meanwhile; infinity where there is none."""
        if not self._open or self.paused:
            return math.inf
        steps = max(0.0, self._open[0][0] - self._steps)
        return self._now + steps * (self._step_s() + self._rate.context_s * len(self._open) * steps / 2)

    def ended(self) -> list[Request]:
        """Answers that are complete by now; waiting ones take their places."""
        found = []
        while self._open and self._open[0][0] <= self._steps + TOLERANCE:
            request = heapq.heappop(self._open)[2]
            self._context -= len(request.prompt.token_ids) + request.max_new_tokens
            found.append(request)
        self.load -= len(found)
        while self._waiting and len(self._open) < self.settings.max_num_seqs:
            self._begin(self._waiting.popleft())
        return found

    def resume(self, now: float) -> None:
        """After a transfer: sample on, what was held too."""
        self.advance(now)
        self.paused, self.accepting = False, True
        held, self._held = self._held, []
        for request in held:
            self._take(request)

    def die(self) -> list[Request]:
        """What it had been asked; none of it is answered."""
        lost = [*(request for _, _, request in sorted(self._open)), *self._waiting, *self._held]
        self._open, self._waiting, self._held, self._context = [], deque(), [], 0.0
        self.serving, self.load = False, 0
        return lost

    def _take(self, request: Request) -> None:
        if not self.accepting:
            self._held.append(request)
        elif len(self._open) >= self.settings.max_num_seqs:
            self._waiting.append(request)
        else:
            self._begin(request)

    def _begin(self, request: Request) -> None:
        self._begun += 1
        heapq.heappush(self._open, (self._steps + request.max_new_tokens, self._begun, request))
        self._context += len(request.prompt.token_ids)

    def _step_s(self) -> float:
        return self._rate.step_s + self._rate.context_s * max(0.0, self._context)
