"""DAPO: which groups have a signal, what a long answer costs, and a clip that leaves more room upwards."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from token_batches import one_token_rows

from reasongym.algorithms import dapo

pytestmark = pytest.mark.stack


def penalty(num_tokens: int, *, limit: int = 4096, buffer: int = 1024, factor: float = 1.0) -> float:
    return dapo.overlong_penalty(num_tokens, max_new_tokens=limit, overlong_buffer=buffer, overlong_factor=factor)


@pytest.mark.parametrize(("num_tokens", "expected"), [
    (0, 0.0), (3072, 0.0),  # 4096 - 1024 is free
    (3073, -1 / 1024), (3584, -0.5),  # (3072 - 3584) / 1024
    (4096, -1.0), (5000, -1.0)])  # (3072 - 5000) / 1024 would be -1.88
def test_penalty_grows_over_the_buffer_and_stops_at_its_end(num_tokens: int, expected: float) -> None:
    assert penalty(num_tokens) == expected
    assert penalty(num_tokens, factor=0.5) == expected / 2


def test_no_buffer_is_no_slope_and_no_division_by_zero() -> None:
    assert penalty(4096, buffer=0) == 0.0
    assert penalty(4097, buffer=0) == -1.0


def test_free_answer_costs_zero_and_not_minus_zero() -> None:
    # -0.0 in a metrics file reads as a penalty that was rounded away.
    assert math.copysign(1, penalty(3072)) == 1.0


@pytest.mark.parametrize("buffer", [-1, 4097])
def test_buffer_outside_the_limit_is_refused(buffer: int) -> None:
    # limit - buffer < 0: an empty answer would have a penalty.
    with pytest.raises(ValueError, match=r"0\.\.max_new_tokens \(4096\), got"):
        penalty(10, buffer=buffer)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 500), st.integers(1, 500), st.integers(0, 700), st.floats(0, 3))
def test_penalty_agrees_with_the_three_cases_of_the_paper(limit: int, buffer: int, num_tokens: int,
                                                          factor: float) -> None:
    buffer = min(buffer, limit)
    if num_tokens <= limit - buffer:
        case = 0.0
    elif num_tokens <= limit:
        case = ((limit - buffer) - num_tokens) / buffer
    else:
        case = -1.0
    assert penalty(num_tokens, limit=limit, buffer=buffer, factor=factor) == pytest.approx(factor * case)


@pytest.mark.parametrize(("rewards", "expected"), [
    ([1, 0, 0, 0], True), ([0, 0, 0], False), ([1, 1], False), ([0.5], False), ([], False),
    ([0.7] * 7, False),  # numpy's std of seven 0.7 is 1.1e-16 and not 0
    ([0.5, 0.5 + 2**-40], True),  # a mean in 0..1 alone does not tell all-correct from half-right
    ([0.25, 0.75], True), ([0.5, 0.5], False)])
def test_a_group_is_informative_when_its_rewards_differ(rewards: list[float], expected: bool) -> None:
    assert dapo.informative(rewards) is expected
    assert any(dapo.advantages(rewards, std="unbiased")) is expected


def test_nan_is_no_sign_of_a_signal() -> None:
    # max([1, nan]) is 1 and max([nan, 1]) is nan: without a check the order of the answers would decide.
    with pytest.raises(ValueError, match="finite"):
        dapo.informative([1.0, math.nan])


def test_clip_higher_leaves_room_upwards_alone() -> None:
    # min(1.25, 1.28) and max-side bound .8 of A = -1: with .2 on both sides the first would be held at 1.2.
    batch = one_token_rows([1.25, 0.75], [1, -1])
    found = dapo.loss(**batch, clip_low=0.2, clip_high=0.28)
    assert found.loss_BT.flatten().tolist() == pytest.approx([-1.25, 0.8])
    assert torch.equal(found.clipped_BT.flatten(), torch.tensor([False, True]))
