"""Levels that move with success."""

from __future__ import annotations

import pytest
from sample_runs import group, rollout

from reasongym.config import RunConfig, load_config
from reasongym.errors import ConfigError
from reasongym.verifiers import Status

pytest.importorskip("torch", reason="the training stack is not installed")

from reasongym.training.checkpoints import LoopState
from reasongym.training.curriculum import check_levels, level_of, moved, task_at

pytestmark = pytest.mark.stack


def config(*more: str) -> RunConfig:
    return load_config(overrides=["task.name=arithmetic", "task.curriculum.last=3", "task.curriculum.window=2", *more])


def steps(state: LoopState, *scores: float, settings: RunConfig | None = None) -> LoopState:
    """After steps of ten answers, that share of them right."""
    for score in scores:
        answers = [rollout(status=Status.CORRECT if i < 10 * score else Status.WRONG) for i in range(10)]
        state = moved(settings or config(), state, [group(*answers)])
    return state


def test_a_level_is_left_only_after_a_whole_window_and_for_the_mean_of_it() -> None:
    assert level_of(config(), steps(LoopState(), 1.0)) == 1
    assert level_of(config(), steps(LoopState(), 1.0, 0.5)) == 2  # (1 + 0.5) / 2 > 0.7
    assert level_of(config(), steps(LoopState(), 1.0, 0.3)) == 1  # 0.65
    assert steps(LoopState(), 1.0, 0.3) == LoopState(level=1)  # a new window begins


def test_levels_stay_between_the_first_and_the_last() -> None:
    assert level_of(config(), steps(LoopState(), *[1.0] * 20)) == 3
    assert level_of(config(), steps(LoopState(level=2), *[0.0] * 20)) == 1


def test_a_policy_that_fails_at_a_level_goes_back() -> None:
    assert level_of(config(), steps(LoopState(level=3), 0.1, 0.2)) == 2


def test_answers_without_a_verdict_do_not_count_as_failures() -> None:
    failed = group(rollout(None, status=Status.ERROR), rollout(1.0))
    state = moved(config("task.curriculum.window=1"), LoopState(), [failed])
    assert state.level == 2
    assert moved(config(), LoopState(), []) == LoopState()


def test_prompts_are_of_the_present_level_and_the_one_before() -> None:
    # Levels 1 to 3 of arithmetic have operands to 9, 20 and 99.
    largest = max(max(int(word) for word in task_at(config(), LoopState(level=2)).example("train", i)
                      .messages[0]["content"].replace("?", " ").split() if word.isdigit()) for i in range(300))
    assert 9 < largest <= 20
    assert task_at(config(), LoopState()).example("train", 0).messages  # [1, 1] at the first


@pytest.mark.parametrize("wrong", ["task.curriculum.first=4", "task.curriculum.lower_below=0.8"])
def test_bounds_that_contradict_each_other_are_refused(wrong: str) -> None:
    with pytest.raises(ConfigError, match=r"task\.curriculum"):
        config(wrong)


def test_a_level_that_the_task_does_not_have_is_refused_before_the_run_comes_to_it() -> None:
    check_levels(config("task.curriculum.last=5"))
    with pytest.raises(ConfigError, match=r"(?s)level 6: .*from 1 to 5.*lower task\.curriculum\.last"):
        check_levels(config("task.curriculum.last=9"))


def test_a_curriculum_on_a_task_without_levels_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"(?s)level 1: .*no setting 'levels'"):
        check_levels(config("task.name=gsm8k"))
    check_levels(config("task.name=gsm8k", "task.curriculum.last=0"))


def test_a_curriculum_without_sampling_is_refused() -> None:
    with pytest.raises(ConfigError, match="samples none"):
        config("algorithm.name=sft")
