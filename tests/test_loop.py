"""The loop's book-keeping: what is saved when it is interrupted, and when it evaluates and saves."""

from __future__ import annotations

import signal
import time
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the training stack is not installed")

from reasongym.config import load_config  # noqa: E402
from reasongym.errors import ConfigError, EngineError, ScoringError  # noqa: E402
from reasongym.training import loop, sampling  # noqa: E402
from reasongym.training.checkpoints import LoopState  # noqa: E402
from reasongym.training.collect import Collected  # noqa: E402
from reasongym.training.experience import Experience  # noqa: E402
from reasongym.training.learn import Learnt  # noqa: E402
from reasongym.training.session import Interrupted, Stop  # noqa: E402


class Journal:
    """Stands for the session: ranks and engines are not there, what the loop asks of them is written down."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, steps: int, every: int, stop_in: str = "",
                 error: BaseException | None = None) -> None:
        self.saved: list[LoopState] = []
        self.evaluated: list[int] = []
        self.done: list[int] = []
        self.notes: list[str] = []
        self.written: list[int] = []
        self.pushed: list[int] = []
        self._stop_in, self._error = stop_in, error or Interrupted()
        self.session: Any = SimpleNamespace(
            config=load_config(overrides=[f"steps={steps}", f"evaluation.every={every}", f"checkpoint.every={every}"]),
            push_weights=self._push, save_weights=None, held_out=[], scoring=None, parts=(), engines=None, ranks=None,
            place=lambda: (0, ()), ahead=None,
            prompts=SimpleNamespace(position=0, too_long=0, again=[], take_one=lambda: (None, 0)),
            start_at=lambda state: None, folder=SimpleNamespace(path="runs/it"), stop=Stop(),
            release_engines=lambda: None,
            progress=SimpleNamespace(phase=lambda *_: None, note=self.notes.append, evaluation=lambda *_: None),
            metrics=SimpleNamespace(write=lambda step, values: self.evaluated.append(step)),
            checkpoints=SimpleNamespace(steps=lambda: [s.step for s in self.saved],
                                        save=lambda state, write: self.saved.append(state)))
        monkeypatch.setattr(loop, "collect", self._collect)
        monkeypatch.setattr(sampling, "collect", self._collect)
        monkeypatch.setattr(sampling, "group_metrics", lambda groups, seconds: {})
        monkeypatch.setattr(loop, "check_errors", self._check)
        monkeypatch.setattr(loop, "group_metrics", lambda groups, seconds, prefix="": {"eval/reward/mean": 0.5})
        monkeypatch.setattr(loop, "keep_evaluation", lambda *_: None)
        monkeypatch.setattr(loop, "write", self._write)
        monkeypatch.setattr(loop, "record", lambda session, step, values, groups: self.done.append(step))
        monkeypatch.setattr(loop, "prepare", self._prepare)
        monkeypatch.setattr(loop, "learn_from_groups", self._learn)

    def _push(self, version: int) -> dict[str, float]:
        self.pushed.append(version)
        return {}

    def _collect(self, *_: Any, step: int, **__: Any) -> Collected:
        """A step is sampled with its number; an evaluation with 0."""
        if self._stop_in == (f"step {step}" if step else f"evaluation {len(self.done)}"):
            raise self._error
        return Collected([], 0, 0.0)

    def _write(self, session: Any, step: int, groups: Any) -> None:
        time.sleep(0.01)  # longer than what is done beside it
        if self._stop_in == f"write {step}":
            raise self._error
        self.written.append(step)

    def _check(self, groups: Any, share: float) -> None:
        if self._stop_in == f"errors {len(self.done) + 1}":
            raise self._error

    def _prepare(self, session: Any, state: LoopState, groups: Any) -> Experience:
        """Of answers that may not be trusted nothing is made."""
        assert self._stop_in != f"errors {state.step + 1}"
        return Experience([])

    def _learn(self, session: Any, state: LoopState, found: Any) -> Learnt:
        assert self.written[-1] == state.step + 1, "the policy learns from rollouts that are not on disk"
        if self._stop_in == f"update {len(self.done) + 1}":
            raise self._error
        return Learnt({})


def test_evaluations_and_checkpoints_come_when_they_are_due_and_after_the_last_step(
        monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(monkeypatch, steps=5, every=2)
    assert loop.train(journal.session, LoopState()).step == 5
    assert journal.evaluated == [0, 2, 4, 5]
    assert [s.step for s in journal.saved] == [2, 4, 5]


@pytest.mark.parametrize("error", [Interrupted(), EngineError("gone"), ScoringError("all fail"),
                                   ConfigError("no such level")], ids=repr)
@pytest.mark.parametrize(("stop_in", "whole"), [("step 1", 0), ("step 4", 3), ("write 4", 3), ("errors 4", 3),
                                                ("evaluation 2", 2), ("evaluation 0", 0)])
def test_what_stops_the_run_between_updates_saves_the_state_that_the_ranks_hold(
        monkeypatch: pytest.MonkeyPatch, stop_in: str, whole: int, error: Exception) -> None:
    # In an evaluation the weights are already those of the step before it: saved under an earlier step, resuming
    # would make that step twice.
    journal = Journal(monkeypatch, steps=5, every=2, stop_in=stop_in, error=error)
    with pytest.raises(type(error)):
        loop.train(journal.session, LoopState())
    assert (journal.saved[-1].step, journal.saved[-1].version) == (whole, whole)
    assert "--resume runs/it" in journal.notes[-1]


def test_a_run_that_is_told_to_stop_in_an_update_does_so_before_the_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one whose batches are always ready, so that nothing is waited for."""
    journal = Journal(monkeypatch, steps=5, every=2)
    learn = loop.learn_from_groups

    def told(session: Any, state: LoopState, groups: Any) -> Any:
        session.stop.signal = signal.SIGTERM if state.step == 2 else None
        return learn(session, state, groups)

    monkeypatch.setattr(loop, "learn_from_groups", told)
    with pytest.raises(Interrupted):
        loop.train(journal.session, LoopState())
    assert journal.done == [1, 2, 3]
    assert journal.saved[-1].step == 3


def test_a_failure_in_an_update_saves_nothing_as_the_ranks_hold_no_known_step(monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(monkeypatch, steps=5, every=2, stop_in="update 4", error=EngineError("gone"))
    with pytest.raises(EngineError):
        loop.train(journal.session, LoopState())
    assert [s.step for s in journal.saved] == [2]


def test_a_step_that_has_a_checkpoint_is_not_saved_again(monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(monkeypatch, steps=5, every=2, stop_in="step 3")
    with pytest.raises(Interrupted):
        loop.train(journal.session, LoopState())
    assert [s.step for s in journal.saved] == [2]


def test_an_evaluation_that_was_broken_off_is_made_when_the_run_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    first = Journal(monkeypatch, steps=5, every=2, stop_in="evaluation 2")
    with pytest.raises(Interrupted):
        loop.train(first.session, LoopState())
    second = Journal(monkeypatch, steps=5, every=2)
    second.saved = first.saved
    loop.train(second.session, first.saved[-1])
    assert second.evaluated == [2, 4, 5]
    assert second.pushed[0] == 2


def test_a_finished_run_that_is_resumed_trains_nothing_and_saves_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(monkeypatch, steps=5, every=2)
    journal.saved.append(LoopState(step=5, evaluated_step=5))
    assert loop.train(journal.session, journal.saved[0]).step == 5
    assert journal.evaluated == []
    assert len(journal.saved) == 1


def test_the_best_weights_are_saved_though_no_checkpoint_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    # rewards 0.1 at the start, 0.2 after step 2, 0.7 after 4, 0.3 after 6; checkpoints are due after 5 and 6, the last
    rewards = iter([0.1, 0.2, 0.7, 0.3])
    journal = Journal(monkeypatch, steps=6, every=2)
    settings = ["steps=6", "evaluation.every=2", "checkpoint.every=5"]
    journal.session.config = load_config(overrides=settings)
    monkeypatch.setattr(loop, "group_metrics", lambda *_, **__: {"eval/reward/mean": next(rewards)})
    loop.train(journal.session, LoopState())
    assert [(s.step, s.best_step) for s in journal.saved] == [(2, 2), (4, 4), (5, 4), (6, 4)]


def test_a_run_that_never_evaluates_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(monkeypatch, steps=3, every=0)
    loop.train(journal.session, LoopState())
    assert journal.evaluated == []
    assert [s.step for s in journal.saved] == [3]
