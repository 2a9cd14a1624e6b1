"""Asynchronous sampling: engines go on while the ranks train, within `rollout.max_staleness` versions.

A thread of its own admits prompts as `StalenessGate` allows, hands completions to the verifiers as they end and groups
to the loop as they are complete. The loop takes a batch, trains, sends the weights while requests are in flight
(`rollout.in_flight` says what becomes of them), and says so with `advance`.

The thread alone speaks to the engine pool, but for what runs inside `held`.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from reasongym.algorithms import dapo
from reasongym.config import RunConfig
from reasongym.errors import EngineError, ScoringError, message
from reasongym.records import Completion, Group, Prompt, Rollout
from reasongym.rollout.pool import EnginePool
from reasongym.rollout.prompts import PromptSource
from reasongym.rollout.requests import Request, requests_for
from reasongym.rollout.staleness import StalenessGate
from reasongym.scoring import ScoringPool, reward
from reasongym.tasks import RewardPart
from reasongym.training.collect import Batch, group_metrics
from reasongym.verifiers import Verdict

__all__ = ["Continuous"]

HOLD_TIMEOUT_S = 120.0
TURN_S = 0.1
"""Longest time that the thread waits for completions before it looks at everything else."""
ANY_STEP = -1
"""Stands for the step in seeds: a prompt's place is its position in the walk, which no two groups share."""


@dataclass
class _Open:
    """A group that is being sampled. position: of its prompt in the walk."""

    prompt: Prompt
    position: int
    rollouts: dict[int, Rollout] = field(default_factory=dict)


@dataclass
class _Clock:
    """since: the last batch, as time.monotonic(). idle: seconds since then without work, of the mean engine."""

    since: float
    idle: float = 0.0


class Continuous:
    """Starts to sample at once, and has to be closed. version: of the policy that the engines hold. steps: how many
    batches will be taken: no more prompts than these need are begun."""

    def __init__(self, config: RunConfig, *, engines: EnginePool, scoring: ScoringPool, parts: tuple[RewardPart, ...],
                 prompts: PromptSource, version: int, steps: int) -> None:
        self._config, self._engines, self._scoring = config, engines, scoring
        self._parts, self._prompts = parts, prompts
        self._gate = StalenessGate(batch=config.rollout.prompts_per_step, bound=config.rollout.max_staleness,
                                   version=version)
        self._not_begun = steps * config.rollout.prompts_per_step
        self._open: dict[int, _Open] = {}
        self._groups: dict[int, Group] = {}
        self._flat: list[Group] = []
        self._passed_over = 0
        self._unscored = 0
        self._scored: queue.SimpleQueue[tuple[Request, Completion, Future[dict[str, Verdict]]]] = queue.SimpleQueue()
        self._clock = _Clock(time.monotonic())
        self._heard = time.monotonic()
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
            with self._changed:
                if self._failure is not None:
                    raise self._failure
                staleness = {ticket: self._gate.staleness(ticket) for ticket in self._groups}
                if (tickets := self._gate.take()) is not None:
                    return self._batch(tickets, [staleness[ticket] for ticket in tickets], time.monotonic() - started)
                self._changed.wait(1.0)
                ended = self._gate.num_ended
            watch(min(ended, self._gate.batch), self._gate.batch)

    def advance(self, version: int) -> None:
        """The engines hold `version`: more prompts may be admitted."""
        with self._changed:
            self._gate.advance(version)

    def place(self) -> tuple[int, tuple[int, ...]]:
        """Where a resumed run goes on: the walk's position, and those before it whose groups were not trained on."""
        with self._changed:
            waiting = [self._open[ticket].position for ticket in sorted(self._open)]
            return self._prompts.position, tuple(sorted(waiting + self._prompts.again))

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """The thread leaves the pool alone, for an evaluation. What is in flight goes on."""
        with self._changed:
            self._holding = True
            if not self._changed.wait_for(lambda: self._held or self._failure is not None, HOLD_TIMEOUT_S):
                raise EngineError(message("sampling does not stop for an evaluation",
                                          expected="a pause between answers", got=f"none in {HOLD_TIMEOUT_S:.0f} s",
                                          remedy="raise scoring.workers"))
        try:
            yield
        finally:
            with self._changed:
                self._holding = False
                self._heard = time.monotonic()
                self._changed.notify_all()

    def close(self) -> None:
        """End the thread, and forget what is in flight."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        self._engines.cancel()

    def _batch(self, tickets: list[int], staleness: list[int], waited: float) -> Batch:
        groups = [self._groups.pop(ticket) for ticket in tickets]
        for ticket in tickets:
            del self._open[ticket]
        flat, self._flat, self._passed_over = self._flat, [], 0
        now, clock = time.monotonic(), self._clock
        self._clock = _Clock(now)
        elapsed = max(now - clock.since, 1e-9)
        versions = [v for group in groups for rollout in group.rollouts for v in rollout.completion.versions]
        return Batch([*flat, *groups], groups, group_metrics([*flat, *groups], elapsed) | {
            "rollout/wait_seconds": waited, "rollout/engine_idle_share": clock.idle / elapsed,
            "rollout/staleness_mean": sum(staleness) / len(staleness), "rollout/staleness_max": float(max(staleness)),
            "rollout/stale_token_share": sum(v < self._gate.version for v in versions) / max(len(versions), 1),
            "rollout/queued_groups": float(self._gate.num_ended),
            "rollout/open_groups": float(self._gate.num_open - self._gate.num_ended)})

    def _run(self) -> None:
        try:
            while not self._closing:
                if self._holding:
                    self._wait_while_held()
                self._admit()
                begun = time.monotonic()
                idle = sum(not load for load in self._engines.load) / len(self._engines.load)
                for request, completion in self._engines.take(TURN_S) or self._pause(idle):
                    self._score(request, completion)
                self._clock.idle += idle * (time.monotonic() - begun)
                self._gather()
        except Exception as error:  # boundary: raised again in the loop's own thread
            with self._changed:
                self._failure = error
                self._changed.notify_all()

    def _wait_while_held(self) -> None:
        with self._changed:
            self._held = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._holding or self._closing)
            self._held = False

    def _pause(self, idle: float) -> tuple[()]:
        """With nothing in flight, `take` answers at once: wait here, for a verdict or for leave to admit."""
        if idle == 1.0:
            with self._changed:
                self._changed.wait(TURN_S / 10)
        return ()

    def _admit(self) -> None:
        requests: list[Request] = []
        rollout = self._config.rollout
        with self._changed:
            while self._not_begun and self._gate.may_admit():
                self._not_begun -= 1
                prompt, position = self._prompts.take_one()
                ticket = self._gate.admit()
                self._open[ticket] = _Open(prompt, position)
                group = requests_for([prompt], samples=rollout.group_size, max_new_tokens=rollout.max_new_tokens,
                                     temperature=rollout.temperature, seed=self._config.seed, step=ANY_STEP,
                                     first_row=position)
                requests += [replace(request, key=(ticket, request.key[1])) for request in group]
        if requests:
            self._engines.submit(requests)

    def _score(self, request: Request, completion: Completion) -> None:
        self._unscored += 1
        verdicts = self._scoring.submit(completion.text, request.prompt.example)
        verdicts.add_done_callback(lambda done: self._scored.put((request, completion, done)))

    def _gather(self) -> None:
        """Verdicts that are there become rollouts, and complete groups are handed over."""
        while not self._scored.empty():
            request, completion, verdicts = self._scored.get()
            self._unscored -= 1
            self._heard = time.monotonic()
            self._keep(request, Rollout(prompt=request.prompt, completion=completion, verdicts=verdicts.result(),
                                        reward=reward(verdicts.result(), self._parts)))
        limit = self._config.scoring.timeout_s * (2 + self._unscored)
        if not self._unscored:
            self._heard = time.monotonic()
        elif time.monotonic() - self._heard > limit:
            raise ScoringError(message("the scoring pool stands still", expected="a verdict for every answer",
                                       got=f"{self._unscored} answers and no verdict in {limit:.0f} s",
                                       remedy="raise scoring.workers"))

    def _keep(self, request: Request, rollout: Rollout) -> None:
        ticket, sample = request.key
        found = self._open[ticket]
        found.rollouts[sample] = rollout
        if len(found.rollouts) < self._config.rollout.group_size:
            return
        group = Group(prompt=found.prompt, rollouts=tuple(found.rollouts[i] for i in range(len(found.rollouts))))
        with self._changed:
            if self._is_passed_over(group):
                self._gate.drop(ticket)
                del self._open[ticket]
                self._not_begun += 1
            else:
                self._gate.end(ticket)
                self._groups[ticket] = group
            self._changed.notify_all()

    def _is_passed_over(self, group: Group) -> bool:
        """Under dynamic sampling, where the group's rewards are all alike. Raises ScoringError where all groups are."""
        dynamic = getattr(self._config.algorithm, "dynamic_sampling", None)
        if dynamic is None or not dynamic.enabled or dapo.informative([
                rollout.reward for rollout in group.valid if rollout.reward is not None]):
            return False
        self._flat.append(group)
        self._passed_over += 1
        if self._passed_over > dynamic.max_rounds * self._gate.batch and not self._groups:
            raise ScoringError(message(
                "no prompt has answers that differ in reward", got=f"{self._passed_over} prompts in a row, each with "
                "one reward for all its answers", expected="some answers to be better than others to the same prompt",
                remedy="easier prompts, a higher rollout.temperature, or algorithm.dynamic_sampling.enabled=false"))
        return True
