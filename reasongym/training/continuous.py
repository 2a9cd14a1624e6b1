"""Asynchronous sampling: engines go on while the ranks train, within `rollout.max_staleness` versions.

A thread of its own admits prompts as `StalenessGate` allows, hands completions to the verifiers as they end and groups
to the loop as they are complete. The loop takes a batch, trains, sends the weights while requests are in flight
(`rollout.in_flight` says what becomes of them), and says so with `advance`.

The thread alone submits to the engine pool and takes from it, but for what runs inside `held`.
"""

from __future__ import annotations

import bisect
import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from reasongym.algorithms import dapo
from reasongym.config import RunConfig
from reasongym.errors import EngineError, ScoringError, message
from reasongym.records import Group
from reasongym.rollout.pool import EnginePool
from reasongym.rollout.prompts import PromptSource
from reasongym.rollout.requests import Request, requests_for
from reasongym.rollout.staleness import StalenessGate
from reasongym.scoring import ScoringPool
from reasongym.tasks import RewardPart
from reasongym.training.collect import Batch, dynamic_sampling, group_metrics, valid_rewards
from reasongym.training.grouping import Grouping

__all__ = ["Continuous"]

HOLD_TIMEOUT_S = 120.0
CLOSE_TIMEOUT_S = 30.0
TURN_S = 0.1
"""Longest time that the thread waits for completions before it looks at everything else."""
ANY_STEP = -1
"""Stands for the step in seeds: a prompt's place is its position in the walk, which no two groups share."""


@dataclass
class _Clock:
    """since: the last batch, as time.monotonic(). idle: seconds since then without work, of the mean engine."""

    since: float
    idle: float = 0.0


class Continuous:
    """Starts to sample at once, and has to be closed. version: of the policy that the engines hold. steps: how many
    batches will be taken: no more prompts than these need are begun."""

    def __init__(self, config: RunConfig, *, engines: EnginePool, scoring: ScoringPool, parts: Sequence[RewardPart],
                 prompts: PromptSource, version: int, steps: int) -> None:
        self._config, self._engines, self._prompts = config, engines, prompts
        self._gate = StalenessGate(batch=config.rollout.prompts_per_step, bound=config.rollout.max_staleness,
                                   version=version)
        self._grouping = Grouping(scoring, parts, size=config.rollout.group_size, timeout_s=config.scoring.timeout_s)
        self._not_begun = steps * config.rollout.prompts_per_step
        self._positions: dict[int, int] = {}  # in the walk, of the groups admitted and not trained on, by ticket
        self._groups: dict[int, Group] = {}  # of these, the complete ones
        self._flat: list[Group] = []
        self._clock = _Clock(time.monotonic())
        self._failure: Exception | None = None
        self._changed = threading.Condition()
        self._closing, self._holding, self._held = False, False, False
        self._thread = threading.Thread(target=self._run, name="continuous-sampling", daemon=True)
        self._thread.start()

    def batch(self, watch: Callable[[int, int], None]) -> Batch:
        """The next batch, as soon as there is one that keeps every group within its bound, in the order they ended.

        watch(ended, wanted) is called now and then and may raise to break off. Raises what sampling or scoring raised.
        """
        started = time.monotonic()
        while True:
            watch(min(self._gate.num_ended, self._gate.batch), self._gate.batch)
            with self._changed:
                if self._failure is not None:
                    raise self._failure
                if self._gate.num_ended >= self._gate.batch:  # else a look at every group, whenever one ends
                    ages = {ticket: self._gate.staleness(ticket) for ticket in self._groups}
                    if (tickets := self._gate.take()) is not None:
                        return self._batch(tickets, [ages[ticket] for ticket in tickets], time.monotonic() - started)
                self._changed.wait(1.0)

    def advance(self, version: int) -> None:
        """The engines hold `version`: more prompts may be admitted."""
        with self._changed:
            self._gate.advance(version)

    def place(self) -> tuple[int, tuple[int, ...]]:
        """Where a resumed run goes on: the walk's position, and those before it whose groups were not trained on."""
        with self._changed:
            return self._prompts.position, tuple(sorted([*self._positions.values(), *self._prompts.again]))

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """The thread leaves the pool alone, for an evaluation. What is in flight goes on."""
        with self._changed:
            self._holding = True
            if not self._changed.wait_for(lambda: self._held or self._failure is not None, HOLD_TIMEOUT_S):
                raise EngineError(message("sampling does not stop for an evaluation",
                                          expected="a pause between answers", got=f"none in {HOLD_TIMEOUT_S:.0f} s",
                                          remedy="look at Ray's logs; --resume goes on"))
        try:
            yield
        finally:
            with self._changed:
                self._holding = False
                self._changed.notify_all()

    def close(self) -> None:
        """End the thread, and forget what is in flight."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(CLOSE_TIMEOUT_S)
        self._engines.cancel()

    def _batch(self, tickets: list[int], staleness: list[int], waited: float) -> Batch:
        groups = [self._groups.pop(ticket) for ticket in tickets]
        for ticket in tickets:
            del self._positions[ticket]
        flat, self._flat = self._flat, []
        now, clock = time.monotonic(), self._clock
        self._clock = _Clock(now)
        elapsed = max(now - clock.since, 1e-9)
        versions = [rollout.completion.versions for group in groups for rollout in group.rollouts]
        stale = sum(bisect.bisect_left(its, self._gate.version) for its in versions)  # of one answer they only rise
        return Batch([*flat, *groups], groups, group_metrics([*flat, *groups], elapsed) | {
            "rollout/wait_seconds": waited, "rollout/engine_idle_share": clock.idle / elapsed,
            "rollout/staleness_mean": sum(staleness) / len(staleness), "rollout/staleness_max": float(max(staleness)),
            "rollout/stale_token_share": stale / max(sum(map(len, versions)), 1),
            "rollout/queued_groups": float(self._gate.num_ended),
            "rollout/open_groups": float(self._gate.num_open - self._gate.num_ended)})

    def _run(self) -> None:
        try:
            while not self._closing:
                if self._holding:
                    self._wait_while_held()
                self._turn()
        except Exception as error:  # boundary: raised again in the loop's own thread
            with self._changed:
                self._failure = error
                self._changed.notify_all()

    def _turn(self) -> None:
        self._admit()
        begun, idle = time.monotonic(), self._engines.idle_share
        self._grouping.add(self._engines.take(TURN_S))
        if idle == 1.0:  # `take` answered at once: a verdict is waited for, or leave to admit
            with self._changed:
                self._changed.wait(TURN_S / 10)
        self._clock.idle += idle * (time.monotonic() - begun)
        for ticket, group in self._grouping.complete():
            self._hand_over(ticket, group)

    def _wait_while_held(self) -> None:
        with self._changed:
            self._held = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._holding or self._closing)
            self._held = False

    def _admit(self) -> None:
        requests: list[Request] = []
        rollout = self._config.rollout
        with self._changed:
            while self._not_begun and self._gate.may_admit():
                self._not_begun -= 1
                prompt, position = self._prompts.take_one()
                ticket = self._gate.admit()
                self._positions[ticket] = position
                group = requests_for([prompt], samples=rollout.group_size, max_new_tokens=rollout.max_new_tokens,
                                     temperature=rollout.temperature, seed=self._config.seed, step=ANY_STEP,
                                     first_row=position)
                requests += [replace(request, key=(ticket, request.key[1])) for request in group]
        if requests:
            self._engines.submit(requests)

    def _hand_over(self, ticket: int, group: Group) -> None:
        """To the loop; under dynamic sampling not a group whose rewards are all alike, which another one replaces."""
        with self._changed:
            if self._is_passed_over(group):
                self._gate.drop(ticket)
                del self._positions[ticket]
                self._not_begun += 1
                self._flat.append(group)
            else:
                self._gate.end(ticket)
                self._groups[ticket] = group
            self._changed.notify_all()

    def _is_passed_over(self, group: Group) -> bool:
        """Raises ScoringError where too many are."""
        dynamic = dynamic_sampling(self._config)
        if dynamic is None or dapo.informative(valid_rewards(group)):
            return False
        if len(self._flat) >= dynamic.max_rounds * self._gate.batch:
            raise ScoringError(message(
                "too few prompts have answers that differ in reward",
                got=f"{len(self._flat) + 1} prompts for one batch, each with one reward for all its answers",
                expected="some answers to be better than others to the same prompt",
                remedy="easier prompts, a higher rollout.temperature, or algorithm.dynamic_sampling.enabled=false"))
        return True
