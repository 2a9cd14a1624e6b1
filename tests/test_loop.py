"""The loop's book-keeping: what is saved when it is interrupted, and when it evaluates and saves."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the training stack is not installed")

from reasongym.config import load_config  # noqa: E402
from reasongym.training import loop  # noqa: E402
from reasongym.training.checkpoints import LoopState  # noqa: E402
from reasongym.training.session import Interrupted  # noqa: E402


class Journal:
    """Stands for the session: ranks and engines are not there, what the loop asks of them is written down."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, steps: int, every: int, stop_in: str = "") -> None:
        self.saved: list[LoopState] = []
        self.evaluated: list[int] = []
        self.session: Any = SimpleNamespace(
            config=load_config(overrides=[f"steps={steps}", f"evaluation.every={every}", f"checkpoint.every={every}"]),
            push_weights=lambda version: {}, checkpoints=SimpleNamespace(steps=lambda: [s.step for s in self.saved]))

        def train_step(session: Any, state: LoopState) -> LoopState:
            if stop_in == f"step {state.step + 1}":
                raise Interrupted
            return replace(state, step=state.step + 1, version=state.version + 1)

        def evaluate(session: Any, state: LoopState) -> LoopState:
            if stop_in == f"evaluation {state.step}":
                raise Interrupted
            self.evaluated.append(state.step)
            return state

        monkeypatch.setattr(loop, "train_step", train_step)
        monkeypatch.setattr(loop, "evaluate", evaluate)
        monkeypatch.setattr(loop, "save", lambda session, state: self.saved.append(state))


def test_evaluations_and_checkpoints_come_when_they_are_due_and_after_the_last_step(
        monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(monkeypatch, steps=5, every=2)
    assert loop.train(journal.session, LoopState()).step == 5
    assert journal.evaluated == [0, 2, 4, 5]
    assert [s.step for s in journal.saved] == [2, 4, 5]


@pytest.mark.parametrize(("stop_in", "whole"), [("step 1", 0), ("step 3", 2), ("evaluation 2", 2), ("evaluation 0", 0)])
def test_an_interruption_saves_the_state_that_the_ranks_hold(monkeypatch: pytest.MonkeyPatch, stop_in: str,
                                                             whole: int) -> None:
    # In an evaluation the weights are already those of the step before it: saved under an earlier step, resuming
    # would make that step twice.
    journal = Journal(monkeypatch, steps=5, every=2, stop_in=stop_in)
    with pytest.raises(Interrupted):
        loop.train(journal.session, LoopState())
    assert (journal.saved[-1].step, journal.saved[-1].version) == (whole, whole)


def test_a_finished_run_that_is_resumed_trains_nothing_and_saves_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(monkeypatch, steps=5, every=2)
    journal.saved.append(LoopState(step=5))
    assert loop.train(journal.session, LoopState(step=5)).step == 5
    assert journal.evaluated == []
    assert len(journal.saved) == 1
