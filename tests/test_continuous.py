"""Asynchronous sampling over a stand-in for the engines: batches, bounds, resuming, pauses, failures."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest

pytest.importorskip("torch", reason="the training stack is not installed")

from reasongym.config import RunConfig, load_config
from reasongym.errors import EngineError, ScoringError
from reasongym.records import Completion, FinishReason, Prompt
from reasongym.rollout.walk import Walk
from reasongym.tasks import Example, RewardPart
from reasongym.training.continuous import Continuous
from reasongym.verifiers import Verdict

pytestmark = pytest.mark.stack

PARTS = (RewardPart(name="correct", verifier="exact", weight=1.0),)


class Rows(Walk[Prompt]):
    """Row n's prompt is the token n."""

    def __init__(self) -> None:
        super().__init__(None, random.Random)

    def read(self, row: int) -> Prompt:
        return Prompt(example=Example(task="t", split="train", index=row, messages=(), reference=""), text="",
                      token_ids=(row,))

    def nothing_left(self) -> Any:
        raise AssertionError


class Engines:
    """Completes requests in random order, under the version it holds. failing: raises at that many completions."""

    def __init__(self, *, failing: int | None = None) -> None:
        self.waiting, self.version = [], 0
        self.done, self.failing, self.calls_while_held = 0, failing, 0
        self.held, self.draw, self.seeds = False, random.Random(0), []

    def submit(self, requests: list[Any]) -> None:
        self.calls_while_held += self.held
        self.waiting += requests
        self.seeds += [request.seed for request in requests]

    @property
    def idle_share(self) -> float:
        return float(not self.waiting)

    def take(self, timeout_s: float) -> list[Any]:
        self.calls_while_held += self.held
        if not self.waiting:
            return []
        if self.failing is not None and self.done >= self.failing:
            raise EngineError("the engine is gone")
        request = self.waiting.pop(self.draw.randrange(len(self.waiting)))
        self.done += 1
        return [(request, Completion(token_ids=(1, 2), logprobs=(-1.0, -1.0), mask=(True, True), text=str(self.done),
                                     versions=(self.version,) * 2, finish_reason=FinishReason.STOP, seed=request.seed))]

    def cancel(self) -> None:
        self.waiting = []


class Scoring:
    """Right is every answer whose text is an even number; or none."""

    def __init__(self, *, flat: bool = False) -> None:
        self.flat = flat

    def submit(self, response: str, example: Example) -> Future[dict[str, Verdict]]:
        found: Future[dict[str, Verdict]] = Future()
        right = int(response) % 2 == 0 and not self.flat
        found.set_result({"correct": Verdict.correct() if right else Verdict.wrong()})
        return found


def config_of(**more: object) -> RunConfig:
    settings = {"rollout.mode": "async", "rollout.prompts_per_step": 3, "rollout.group_size": 2,
                "rollout.max_staleness": 2, **more}
    return load_config("cpu", overrides=[f"{key}={value}" for key, value in settings.items()])


@contextlib.contextmanager
def sampling(engines: Engines, *, steps: int = 50, version: int = 0, rows: Rows | None = None, flat: bool = False,
             **more: object) -> Iterator[Continuous]:
    ahead = Continuous(config_of(**more), engines=engines, scoring=Scoring(flat=flat),  # type: ignore[arg-type]
                       parts=PARTS, prompts=rows or Rows(), version=version, steps=steps)  # type: ignore[arg-type]
    try:
        yield ahead
    finally:
        ahead.close()


def never(done: int, total: int) -> None:
    """Watches nothing."""


def indices(groups: list[Any]) -> list[int]:
    return [group.prompt.example.index for group in groups]


def test_every_prompt_is_trained_on_once_within_the_bound_and_no_more_are_begun_than_are_needed() -> None:
    engines, seen = Engines(), []
    with sampling(engines, steps=50) as ahead:
        for version in range(50):
            batch = ahead.batch(never)
            assert len(batch.chosen) == 3
            assert all(len(group.rollouts) == 2 for group in batch.chosen)
            oldest = min(v for group in batch.chosen for rollout in group.rollouts for v in rollout.completion.versions)
            assert version - oldest <= 2
            assert batch.metrics["rollout/staleness_max"] <= 2
            seen += indices(batch.chosen)
            engines.version = version + 1
            ahead.advance(version + 1)
    assert sorted(seen) == list(range(150))
    assert len(engines.seeds) == len(set(engines.seeds)) == 300


def test_a_resumed_run_samples_what_was_not_trained_on_first_and_nothing_twice() -> None:
    rows, seen = Rows(), []
    with sampling(Engines(), rows=rows) as ahead:
        for version in range(4):
            seen += indices(ahead.batch(never).chosen)
            position, again = ahead.place()
            ahead.advance(version + 1)
    assert sorted(seen + list(again)) == list(range(position))
    rows = Rows()
    rows.position, rows.again = position, list(again)
    with sampling(Engines(), rows=rows, version=4, steps=6) as ahead:
        for version in range(4, 10):
            seen += indices(ahead.batch(never).chosen)
            ahead.advance(version + 1)
    assert sorted(seen) == list(range(30))


def test_nothing_touches_the_engines_while_they_are_held() -> None:
    engines = Engines()
    with sampling(engines) as ahead:
        for version in range(10):
            with ahead.held():
                engines.held = True
                time.sleep(0.02)
                engines.held = False
            ahead.batch(never)
            ahead.advance(version + 1)
    assert engines.calls_while_held == 0


def test_a_failed_engine_ends_the_wait_for_a_batch() -> None:
    with sampling(Engines(failing=0)) as ahead, pytest.raises(EngineError, match="the engine is gone"):
        ahead.batch(never)


def test_a_watcher_breaks_off_the_wait() -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with sampling(Engines()) as ahead:
        ahead.batch(never)
        ahead.advance(1)
        with pytest.raises(KeyboardInterrupt):
            ahead.batch(stop)  # also where a batch is ready


def test_dynamic_sampling_passes_over_flat_groups_and_begins_others() -> None:
    with sampling(Engines(), **{"algorithm.name": "dapo"}) as ahead:
        flat = 0
        for version in range(10):
            batch = ahead.batch(never)
            assert not any(group.is_flat for group in batch.chosen)
            flat += len(batch.groups) - len(batch.chosen)
            ahead.advance(version + 1)
    assert flat > 0


def test_dynamic_sampling_says_when_every_group_is_flat() -> None:
    with sampling(Engines(), flat=True, **{"algorithm.name": "dapo"}) as ahead, \
            pytest.raises(ScoringError, match="too few prompts have answers that differ"):
        ahead.batch(never)
