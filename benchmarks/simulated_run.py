"""A training run in simulated time. What decides is the project's own: `StalenessGate` admits groups and chooses
batches, `Backlog` gives requests to engines, `Grouping` makes groups of answers. Engines, ranks, transfers and deaths
are simulated."""

from __future__ import annotations

import functools
import heapq
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import NamedTuple

from benchmarks.simulated_engine import DecodeRate, SimulatedEngine
from reasongym.records import Completion, FinishReason, Prompt
from reasongym.rollout.dispatch import Backlog
from reasongym.rollout.requests import EngineSettings, Request
from reasongym.rollout.staleness import StalenessGate
from reasongym.tasks import Example, RewardPart
from reasongym.training.grouping import Grouping
from reasongym.verifiers import Verdict

__all__ = ["Deaths", "Figures", "Setup", "SimulatedRun"]

PARTS = (RewardPart(name="correct", verifier="exact", weight=1.0),)
EXAMPLE = Example(task="t", split="train", index=0, messages=(), reference="")
ANSWER = Completion(token_ids=(), logprobs=(), mask=(), versions=(), text="", finish_reason=FinishReason.STOP, seed=0)


class Deaths(NamedTuple):
    """Engines die at random times, `mean_s` apart in the mean for each, and are ready again `restart_s` later."""

    mean_s: float
    restart_s: float
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """engines, bound, drain: as `rollout.engines`, `.max_staleness`, `.in_flight=drain`; bound 0 is a synchronous run.

    most_open: answers that an engine samples at one time. batch: groups of a step. train_s: seconds that the ranks take
    for a batch, by the tokens of each group's answers. transfer_s: seconds from the end of an update to engines that
    sample with its weights.
    """

    engines: int
    bound: int
    batch: int
    decode: DecodeRate
    most_open: int
    train_s: Callable[[Sequence[Sequence[int]]], float]
    transfer_s: float
    prompt_tokens: int
    drain: bool = False
    deaths: Deaths | None = None


class Figures(NamedTuple):
    """Of the steps after the warm-up: seconds each, shares of the time without work, and staleness: groups trained on,
    by the versions between their beginning and their training. queued: complete groups that are left where a batch is
    taken, in batches. deaths: of engines, in all steps."""

    step_s: float
    engine_idle: float
    rank_idle: float
    staleness: dict[int, int]
    queued: float
    deaths: int


class _AtOnce:
    """A scoring pool whose verdicts are there when they are asked for."""

    def __init__(self) -> None:
        self._verdicts: Future[dict[str, Verdict]] = Future()
        self._verdicts.set_result({"correct": Verdict.correct()})

    def submit(self, response: str, example: Example) -> Future[dict[str, Verdict]]:
        return self._verdicts


class SimulatedRun:
    """lengths: of the answers of each group, in the order in which groups begin; all groups have equally many."""

    def __init__(self, setup: Setup, lengths: Iterator[Sequence[int]], *, group_size: int) -> None:
        self._setup, self._lengths = setup, lengths
        self._gate = StalenessGate(batch=setup.batch, bound=setup.bound, version=0)
        self._grouping = Grouping(_AtOnce(), PARTS, size=group_size, timeout_s=1e9)  # type: ignore[arg-type]
        settings = EngineSettings(model="", dtype="", device="", max_tokens=0, max_num_seqs=setup.most_open)
        self._engines = [SimulatedEngine(settings, setup.decode) for _ in range(setup.engines)]
        self._places = {id(engine): index for index, engine in enumerate(self._engines)}
        self._backlog = Backlog()
        self._expected = [0] * setup.engines  # number of each engine's newest event: older ones are void
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._num_events = 0
        self._now, self._version, self._train_s = 0.0, 0, 0.0
        self._training, self._draining = False, False
        self._begun: dict[int, tuple[int, Sequence[int]]] = {}  # by ticket: the version, and the lengths
        self._ready_at: dict[int, float] = {}  # of engines that do not serve
        self._fed: list[int] = []
        self._staleness: Counter[int] = Counter()
        self._queued, self._deaths = 0, 0
        self._prompt_ids = (0,) * setup.prompt_tokens
        if setup.deaths:
            self._draw = random.Random(setup.deaths.seed)
            for index in range(setup.engines):
                self._at(self._draw.expovariate(1 / setup.deaths.mean_s), functools.partial(self._die, index))

    def run(self, steps: int, *, warm_up: int) -> Figures:
        """`steps` steps; the first `warm_up` are not measured. RuntimeError where everything waits for something else
        or a group is trained on beyond its bound."""
        self._until(warm_up)
        begun, trained, busy = self._now, self._train_s, self._busy_s()
        self._staleness.clear()
        self._queued = 0
        self._until(steps)
        elapsed = self._now - begun
        return Figures(step_s=elapsed / (steps - warm_up), rank_idle=1 - (self._train_s - trained) / elapsed,
                       engine_idle=1 - (self._busy_s() - busy) / (elapsed * len(self._engines)),
                       staleness=dict(sorted(self._staleness.items())), deaths=self._deaths,
                       queued=self._queued / (steps - warm_up) / self._setup.batch)

    def _until(self, version: int) -> None:
        while self._version < version:
            self._admit()
            self._train()
            if not (self._training or len(self._backlog) or any(engine.load for engine in self._engines)):
                raise RuntimeError("everything waits for something else")
            self._now, _, event = heapq.heappop(self._events)
            event()

    def _busy_s(self) -> float:
        for engine in self._engines:
            engine.advance(self._now)
        return sum(engine.busy_s for engine in self._engines)

    def _at(self, time: float, event: Callable[[], None]) -> int:
        self._num_events += 1
        heapq.heappush(self._events, (time, self._num_events, event))
        return self._num_events

    def _admit(self) -> None:
        while self._gate.may_admit():
            ticket, lengths = self._gate.admit(), next(self._lengths)
            self._begun[ticket] = (self._version, lengths)
            prompt = Prompt(example=EXAMPLE, text="", token_ids=self._prompt_ids)
            self._backlog.add(Request(key=(ticket, sample), prompt=prompt, max_new_tokens=length, temperature=1.0,
                                      seed=0) for sample, length in enumerate(lengths))
        self._dispatch()

    def _dispatch(self) -> None:
        serving = [engine for engine in self._engines if engine.serving] if len(self._backlog) else []
        touched = set()
        while (turn := self._backlog.next(serving)) is not None:
            engine, requests = turn
            engine.advance(self._now)
            for request in requests:
                engine.ask(request)
            touched.add(self._places[id(engine)])
        for index in sorted(touched):
            self._expect(index)

    def _expect(self, index: int) -> None:
        """The engine's next end, as it looks now."""
        self._expected[index] = 0
        if (end := self._engines[index].next_end()) < float("inf"):
            number = self._num_events + 1
            self._expected[index] = self._at(end, lambda: self._ends(index, number))

    def _ends(self, index: int, number: int) -> None:
        if self._expected[index] != number:
            return
        engine = self._engines[index]
        engine.advance(self._now)
        self._grouping.add([(request, ANSWER) for request in engine.ended()])
        self._expect(index)
        for ticket, _ in self._grouping.complete():
            self._gate.end(ticket)
        self._transfer_if_drained()

    def _train(self) -> None:
        if self._training or (tickets := self._gate.take()) is None:
            return
        self._training = True
        begun = [self._begun.pop(ticket) for ticket in tickets]
        ages = [self._version - version for version, _ in begun]
        if max(ages) > self._setup.bound:
            raise RuntimeError(f"a group {max(ages)} versions old under a bound of {self._setup.bound}")
        self._staleness.update(ages)
        self._queued += self._gate.num_ended
        seconds = self._setup.train_s([lengths for _, lengths in begun])
        self._train_s += seconds
        self._at(self._now + seconds, self._trained)

    def _trained(self) -> None:
        self._draining = self._setup.drain
        for engine in self._engines:
            engine.accepting = not self._draining
        if self._draining:
            self._transfer_if_drained()
        else:
            self._transfer()

    def _transfer_if_drained(self) -> None:
        if self._draining and all(engine.is_drained for engine in self._engines):
            self._draining = False
            self._transfer()

    def _transfer(self) -> None:
        self._fed = self._ready()
        for index, engine in enumerate(self._engines):
            engine.advance(self._now)
            engine.paused = True
            self._expect(index)
        self._at(self._now + self._setup.transfer_s, self._sent)

    def _sent(self) -> None:
        self._version, self._training = self._version + 1, False
        self._gate.advance(self._version)
        for index, engine in enumerate(self._engines):
            engine.resume(self._now)
            self._expect(index)
        self._serve(self._fed)
        self._recover()

    def _die(self, index: int) -> None:
        deaths, engine = self._setup.deaths, self._engines[index]
        assert deaths is not None
        self._deaths += 1
        engine.advance(self._now)
        lost = engine.die()
        self._expect(index)
        self._ready_at[index] = self._now + deaths.restart_s
        self._at(self._ready_at[index], self._recover)
        self._at(self._ready_at[index] + self._draw.expovariate(1 / deaths.mean_s), lambda: self._die(index))
        self._backlog.add_first(lost)
        self._transfer_if_drained()

    def _recover(self) -> None:
        """Where no engine is left to sample, those that are ready get the present weights; but not from ranks that
        train."""
        if not self._training and not any(engine.serving for engine in self._engines):
            self._serve(self._ready())

    def _ready(self) -> list[int]:
        """Engines that were started anew and have no weights yet."""
        return [index for index, time in self._ready_at.items() if time <= self._now]

    def _serve(self, indices: Sequence[int]) -> None:
        for index in indices:
            if self._ready_at.get(index, self._now + 1) <= self._now:  # it has not died again
                del self._ready_at[index]
                self._engines[index].serving = True
