"""What the benchmarks of sampling and of whole runs count: the same work for each side, the right steps, all memory."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("torch", reason="the training stack is not installed")
pytest.importorskip("ray", reason="the training stack is not installed")

from benchmarks.rollout_peers import figures
from benchmarks.rollout_sides import GROUP, LONG_TAIL, PROMPT, Turn, work
from benchmarks.trl_grpo import Finished, kind_of, proportional

pytestmark = pytest.mark.stack


def test_each_side_is_given_the_same_work_and_each_turn_another() -> None:
    first, again, other = (work(64, LONG_TAIL, turn) for turn in (0, 0, 1))
    assert first == again
    assert not {*first.prompts} & {*other.prompts}, "a turn would find the prompts of another in a cache"
    assert not {*first.seeds} & {*other.seeds}
    assert len(first.prompts) == len(first.lengths) == len(first.seeds) == 64
    assert len({*first.prompts}) == 64 // GROUP
    assert {len(prompt) for prompt in first.prompts} == {PROMPT}
    assert first.lengths[:GROUP] == [*LONG_TAIL]


def test_a_ratio_is_of_medians_and_overhead_is_outside_the_core() -> None:
    def turn(seconds: float, answer: int = 0) -> Turn:
        return Turn(seconds, core_s=9.0, other_s=1.0, answers=[(answer,) * 500] * 2)

    found = figures({("ours", "even_64"): [turn(10.0), turn(2.0), turn(4.0)],
                     ("vllm", "even_64"): [turn(5.0), turn(5.0, answer=1), turn(90.0)]})
    assert found["even_64_ours_tokens_per_second"] == 250.0  # 1,000 tokens in 4 s
    assert found["even_64_ours_over_vllm"] == 1.25  # 5 s / 4 s
    assert found["even_64_ours_overhead"] == 1.0  # 1 s for 1,000 tokens
    assert found["even_64_same_answers"] == pytest.approx(2 / 3)


def test_the_warm_up_is_no_step_that_is_counted() -> None:
    run = Finished(ends=[100.0, 110.0, 130.0, 140.0], lengths=[], flat=[], first_s=90.0, peak={})
    assert run.step_s == pytest.approx(40.0 / 3)  # of 10, 20, 10; the first took 90 and more


def test_memory_counts_this_process() -> None:
    sizes = proportional(os.getpid())
    assert sum(sizes.values()) > 10
    assert proportional(2**22 + 1) == {}


def test_a_process_is_known_by_its_command() -> None:
    assert kind_of("ray::Rank.train") == "rank"
    assert kind_of("VLLM::EngineCore") == "vLLM's core"
    assert kind_of("python -m reasongym train --recipe cpu") == "driver"
    assert kind_of("raylet --x") == "Ray and others"
