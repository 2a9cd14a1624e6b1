"""Completions become groups: nothing waits for the scoring pool, and one that stands still is said."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

pytest.importorskip("ray", reason="the training stack is not installed")

from reasongym.errors import ScoringError
from reasongym.records import Completion, FinishReason, Prompt
from reasongym.rollout.requests import Request
from reasongym.tasks import Example, RewardPart
from reasongym.training import grouping
from reasongym.training.grouping import MOST_UNSCORED, Grouping
from reasongym.verifiers import Verdict

pytestmark = pytest.mark.stack


class Scoring:
    """Gives a verdict when it is told to."""

    def __init__(self) -> None:
        self.asked: list[Future[dict[str, Verdict]]] = []

    def submit(self, response: str, example: Example) -> Future[dict[str, Verdict]]:
        self.asked.append(Future())
        return self.asked[-1]

    def answer(self, *numbers: int) -> None:
        for number in numbers:
            self.asked[number].set_result({"correct": Verdict.correct()})


def sampled(count: int, size: int = 2) -> list[tuple[Request, Completion]]:
    prompt = Prompt(example=Example(task="t", split="train", index=0, messages=(), reference=""), text="", token_ids=())
    return [(Request(key=divmod(number, size), prompt=prompt, max_new_tokens=1, temperature=1.0, seed=number),
             Completion(token_ids=(1,), logprobs=(-1.0,), mask=(True,), versions=(0,), text="", seed=number,
                        finish_reason=FinishReason.STOP)) for number in range(count)]


def grouping_of(scoring: Any) -> Grouping:
    return Grouping(scoring, [RewardPart(name="correct", verifier="exact", weight=1.0)], size=2, timeout_s=1.0)


def test_a_group_is_complete_with_its_last_verdict_in_the_order_of_its_samples() -> None:
    scoring = Scoring()
    groups = grouping_of(scoring)
    groups.add(sampled(4))
    assert groups.complete() == []
    scoring.answer(3, 1, 2)
    ((ticket, group),) = groups.complete()
    assert (ticket, [rollout.completion.seed for rollout in group.rollouts]) == (1, [2, 3])
    scoring.answer(0)
    assert [ticket for ticket, _ in groups.complete()] == [0]


def test_the_scoring_pool_is_never_given_more_than_its_queue_holds() -> None:
    """Its `submit` would block, and with it the thread that an evaluation waits for."""
    scoring = Scoring()
    groups = grouping_of(scoring)
    groups.add(sampled(MOST_UNSCORED + 50))
    groups.complete()
    assert len(scoring.asked) == MOST_UNSCORED
    scoring.answer(*range(10))
    groups.complete()
    groups.complete()
    assert len(scoring.asked) == MOST_UNSCORED + 10


def test_a_scoring_pool_that_stands_still_is_an_error_and_an_idle_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(grouping.time, "monotonic", lambda: now[0])
    scoring = Scoring()
    groups = grouping_of(scoring)
    now[0] = 1000.0
    groups.add(sampled(1))
    assert groups.complete() == [], "the wait begins with the first answer"
    now[0] += 2.9  # one answer waits: 1 s x (2 + 1)
    assert groups.complete() == []
    now[0] += 0.2
    with pytest.raises(ScoringError, match="stands still"):
        groups.complete()
