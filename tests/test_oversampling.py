"""More prompts begun than trained on: groups that end first are taken, the others' prompts come back, none is lost."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch", reason="the training stack is not installed")

from reasongym.config import load_config
from reasongym.records import Completion, FinishReason, Prompt
from reasongym.rollout.requests import Request
from reasongym.rollout.walk import Walk
from reasongym.tasks import Example, RewardPart
from reasongym.training import sampling
from reasongym.training.checkpoints import LoopState
from reasongym.training.sampling import sample
from reasongym.verifiers import Verdict

pytestmark = pytest.mark.stack


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
    """Answers in an order of its own: slow(row) prompts last. Remembers seeds, and what was broken off."""

    def __init__(self, slow: Callable[[int], bool]) -> None:
        self.slow, self.seeds, self.broken_off = slow, list[int](), list[int]()

    def stream(self, requests: list[Request], idle: Any) -> Iterator[tuple[Request, Completion]]:
        self.seeds += [request.seed for request in requests]
        left = sorted(requests, key=lambda request: self.slow(request.prompt.example.index))
        try:
            while left:
                request = left.pop(0)
                yield request, Completion(token_ids=(1,), logprobs=(-1.0,), mask=(True,), versions=(0,),
                                          text=str(request.key[1]), finish_reason=FinishReason.STOP, seed=request.seed)
        finally:
            self.broken_off.append(len({request.key[0] for request in left}))


class Scoring:
    """Half of a group's answers are right."""

    def submit(self, response: str, example: Example) -> Future[dict[str, Verdict]]:
        found: Future[dict[str, Verdict]] = Future()
        found.set_result({"correct": Verdict.correct() if int(response) % 2 else Verdict.wrong()})
        return found


def session_of(engines: Engines, rows: Rows, *overrides: str) -> Any:
    config = load_config("cpu", overrides=["rollout.prompts_per_step=4", "rollout.group_size=2", *overrides])

    def start_at(state: LoopState) -> None:
        rows.position, rows.again = state.position, list(state.again)

    return SimpleNamespace(config=config, engines=engines, scoring=Scoring(), prompts=rows, start_at=start_at,
                           parts=(RewardPart(name="correct", verifier="exact", weight=1.0),))


@pytest.fixture(autouse=True)
def unwatched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "watching", lambda *_: lambda done, total: None)


def steps(session: Any, count: int, state: LoopState) -> tuple[list[list[int]], LoopState, list[dict[str, float]]]:
    """Rows trained on by step, where the run stands after them, metrics."""
    seen, metrics = [], []
    for step in range(state.step + 1, state.step + count + 1):
        batch = sample(session, state)
        seen.append([group.prompt.example.index for group in batch.chosen])
        metrics.append(batch.metrics)
        state = LoopState(step=step, position=session.prompts.position, again=tuple(session.prompts.again))
    return seen, state, metrics


def test_the_groups_that_end_first_are_taken_and_the_others_broken_off() -> None:
    engines = Engines(lambda row: row in (1, 2))
    session = session_of(engines, Rows(), "rollout.oversample=1.5")
    seen, state, metrics = steps(session, 1, LoopState())
    assert seen == [[0, 3, 4, 5]]
    assert engines.broken_off == [2]
    assert metrics[0]["rollout/abandoned_groups"] == 2
    assert state.again == (1, 2)


def test_without_a_surplus_every_group_is_waited_for() -> None:
    engines = Engines(lambda row: row in (1, 2))
    seen, state, metrics = steps(session_of(engines, Rows()), 1, LoopState())
    assert seen == [[0, 1, 2, 3]]
    assert engines.broken_off == [0]
    assert (metrics[0]["rollout/abandoned_groups"], state.again) == (0, ())


def test_prompts_that_were_broken_off_come_first_in_the_next_step_with_other_seeds() -> None:
    draw = random.Random(0)
    engines = Engines(lambda row: draw.random() < 0.4)
    session = session_of(engines, Rows(), "rollout.oversample=1.5")
    seen, state, _ = steps(session, 25, LoopState())
    trained = [row for rows in seen for row in rows]
    assert len(trained) == len(set(trained)) == 100
    assert sorted([*trained, *state.again]) == list(range(state.position)), "a prompt was lost"
    assert len(engines.seeds) == len(set(engines.seeds))


def test_a_resumed_run_trains_on_each_prompt_once() -> None:
    draw = random.Random(1)
    slow = lambda row: draw.random() < 0.4  # noqa: E731
    first, state, _ = steps(session_of(Engines(slow), Rows(), "rollout.oversample=1.5"), 5, LoopState())
    second, state, _ = steps(session_of(Engines(slow), Rows(), "rollout.oversample=1.5"), 5, state)
    trained = [row for rows in [*first, *second] for row in rows]
    assert sorted([*trained, *state.again]) == list(range(state.position))


def test_dynamic_sampling_uses_no_seed_twice_in_a_step() -> None:
    """A prompt that was broken off in one round is begun anew in the next."""
    engines = Engines(lambda row: row % 3 == 0)
    session = session_of(engines, Rows(), "rollout.oversample=1.5", "algorithm.name=dapo")
    session.scoring = SimpleNamespace(submit=lambda response, example: flat(example.index < 3, response))
    batch = sample(session, LoopState())
    assert batch.metrics["rollout/rounds"] > 1
    assert len(engines.seeds) == len(set(engines.seeds))
    assert len(batch.chosen) == 4


def flat(same: bool, response: str) -> Future[dict[str, Verdict]]:
    found: Future[dict[str, Verdict]] = Future()
    found.set_result({"correct": Verdict.correct() if same or int(response) % 2 else Verdict.wrong()})
    return found
