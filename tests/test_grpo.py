"""GRPO's advantages, its dual clip, and how token losses become the loss of an optimizer step."""

from __future__ import annotations

import math
import random

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from token_batches import one_token_rows, random_batch

from reasongym.algorithms import grpo
from reasongym.algorithms.aggregation import aggregate, denominator

pytestmark = pytest.mark.stack

STDS = ("unbiased", "biased", "none")
KINDS = ("token", "sequence", "constant")
seeds = st.integers(0, 2**31)
relaxed = settings(deadline=None, max_examples=40)


def test_std_is_of_the_kind_that_was_named() -> None:
    # mean 1/4; squares 9/16 + 3/16 = 12/16; unbiased sqrt(12/16/3) = 1/2; biased sqrt(12/16/4) = sqrt(3)/4.
    assert grpo.advantages([1, 0, 0, 0], std="unbiased") == pytest.approx([1.5, -0.5, -0.5, -0.5], abs=1e-15)
    assert grpo.advantages([1, 0, 0, 0], std="biased") == pytest.approx([math.sqrt(3)] + [-1 / math.sqrt(3)] * 3)
    # Centred on 4.5 and 10.5.
    assert grpo.advantages([6, 3], std="none") + grpo.advantages([9, 12], std="none") == [1.5, -1.5, -1.5, 1.5]


@pytest.mark.parametrize("std", STDS)
@pytest.mark.parametrize(("reward", "size"), [(0.7, 7), (0.9, 12), (0.3, 6), (0.1, 7)])
def test_equal_rewards_that_binary_cannot_write_give_exactly_zero(reward: float, size: int, std: str) -> None:
    # In float32 the mean of seven 0.7 is off by 6e-8 and so is the std: an eps of 1e-9 beside it gives 0.91.
    for rewards in ([reward] * size, torch.full((size,), reward, dtype=torch.float32).tolist()):
        assert grpo.advantages(rewards, std=std) == [0.0] * size


def test_rounding_apart_is_apart_and_no_eps_shrinks_it() -> None:
    tiny = grpo.advantages([1, 1 + 2**-40], std="unbiased")
    assert tiny == pytest.approx([-math.sqrt(0.5), math.sqrt(0.5)])  # any two values: -+d/2 over d/sqrt(2)
    assert grpo.advantages([0, 1e-200], std="unbiased") == pytest.approx(tiny)  # squares of 1e-200 are 0


@pytest.mark.parametrize("std", STDS)
def test_group_of_one_or_none_has_no_signal(std: str) -> None:
    assert grpo.advantages([3.5], std=std) == [0.0]
    assert grpo.advantages([], std=std) == []


@relaxed
@given(st.lists(st.floats(-10, 10).map(lambda x: round(x, 3)), min_size=2, max_size=16), st.sampled_from(STDS), seeds)
def test_advantages_follow_the_formula_in_any_order(rewards: list[float], std: str, seed: int) -> None:
    got = grpo.advantages(rewards, std=std)
    mean = sum(rewards) / len(rewards)
    spread = 1.0
    if std != "none" and max(rewards) > min(rewards):
        squares = 0.0
        for reward in rewards:
            squares += (reward - mean) ** 2
        spread = math.sqrt(squares / (len(rewards) - (std == "unbiased")))
    assert got == pytest.approx([(reward - mean) / spread for reward in rewards], abs=1e-9)
    order = random.Random(seed).sample(range(len(rewards)), len(rewards))
    assert grpo.advantages([rewards[i] for i in order], std=std) == [got[i] for i in order]


def test_dual_clip_is_off_unless_asked_for() -> None:
    # -min(10 x -4, 1.2 x -4) = 40; bounded at 3 x 4.
    rows = one_token_rows([10.0], [-4.0])
    found = [grpo.loss(**rows, clip_low=0.2, clip_high=0.2, dual_clip=dual).loss_BT.item() for dual in (None, 3.0)]
    assert found == pytest.approx([40.0, 12.0])


LOSSES = torch.tensor([[1.0, 2.0, 3.0, 4.0], [10.0, 0.0, 0.0, 0.0]])
LENGTHS_4_1 = torch.tensor([[1, 1, 1, 1], [1, 0, 0, 0]]).bool()


@pytest.mark.parametrize(("kind", "constant", "expected"), [
    ("token", None, 4.0),  # 20 / 5
    ("sequence", None, 6.25),  # (10/4 + 10/1) / 2
    ("constant", 1, 10.0),  # 20 / 2, the mean over sequences of their sums
    ("constant", 4, 2.5),  # 20 / (2 x 4)
    ("constant", 1024, 0.009765625)])  # 20 / 2048
def test_each_kind_has_its_own_denominator(kind: str, constant: int | None, expected: float) -> None:
    divisor = denominator(num_tokens=5, num_sequences=2, kind=kind, constant=constant)
    assert aggregate(LOSSES, LENGTHS_4_1, kind=kind, denominator=divisor).item() == expected


def test_uneven_micro_batches_give_the_mean_of_all_tokens() -> None:
    # 2 tokens (1, 2) and then 5 (3..7): 28 / 7 = 4. Means of micro-batches would give (1.5 + 5) / 2 = 3.25.
    divisor = denominator(num_tokens=7, num_sequences=2, kind="token", constant=None)
    first = aggregate(torch.tensor([[1.0, 2.0]]), torch.ones(1, 2).bool(), kind="token", denominator=divisor)
    second = aggregate(torch.arange(3.0, 8.0)[None], torch.ones(1, 5).bool(), kind="token", denominator=divisor)
    assert (first + second).item() == pytest.approx(4.0)


def test_empty_completion_neither_counts_nor_divides_by_zero() -> None:
    losses = torch.tensor([[1.0, 3.0], [math.nan, 7.0]], requires_grad=True)
    mask = torch.tensor([[True, True], [False, False]])
    share = aggregate(losses, mask, kind="sequence",
                      denominator=denominator(num_tokens=2, num_sequences=1, kind="sequence", constant=None))
    share.backward()
    assert share.item() == 2.0  # (1 + 3) / 2, over one sequence
    assert torch.equal(losses.grad, torch.tensor([[0.5, 0.5], [0.0, 0.0]]))


@pytest.mark.parametrize("constant", [None, 0, -1])
def test_constant_without_a_constant_is_refused(constant: int | None) -> None:
    with pytest.raises(ValueError, match="constant"):
        denominator(num_tokens=1, num_sequences=1, kind="constant", constant=constant)


@relaxed
@given(seeds, st.sampled_from(KINDS))
def test_aggregate_agrees_with_a_loop_over_sequences(seed: int, kind: str) -> None:
    batch = random_batch(seed)
    losses, mask = batch["logprobs_BT"], batch["mask_BT"]
    sequences = [[x for x, keep in zip(row, kept, strict=True) if keep]
                 for row, kept in zip(losses.tolist(), mask.tolist(), strict=True)]
    filled = [s for s in sequences if s]
    per_row = [sum(s) / len(s) if kind == "sequence" else sum(s) for s in filled]
    divisor = {"token": sum(map(len, filled)), "sequence": len(filled), "constant": 8 * len(filled)}[kind]
    ours = denominator(num_tokens=int(mask.sum()), num_sequences=int(mask.any(-1).sum()), kind=kind, constant=8)
    assert aggregate(losses, mask, kind=kind, denominator=ours).item() == \
        pytest.approx(sum(per_row) / max(divisor, 1), abs=1e-12)
