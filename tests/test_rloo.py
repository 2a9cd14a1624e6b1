"""RLOO: each answer against the mean of the others, and REINFORCE's gradient of whole completions."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from token_batches import random_batch

from reasongym.algorithms import rloo
from reasongym.algorithms.aggregation import aggregate, denominator

pytestmark = pytest.mark.stack


def test_the_baseline_is_the_mean_of_the_others() -> None:
    # Of two it is the other one. A group of one has none: 0, not its raw reward.
    assert rloo.advantages([6, 3]) + rloo.advantages([9, 12]) + rloo.advantages([1]) == [3, -3, -3, 3, 0]
    # 1 - 0; 0 - (1 + 0 + 0) / 3.
    assert rloo.advantages([1, 0, 0, 0]) == pytest.approx([1, -1 / 3, -1 / 3, -1 / 3], abs=1e-15)
    assert rloo.advantages([]) == []


@settings(deadline=None, max_examples=60)
@given(st.lists(st.floats(-10, 10), min_size=2, max_size=16))
def test_advantages_agree_with_a_loop_that_leaves_one_out(rewards: list[float]) -> None:
    expected = []
    for i, reward in enumerate(rewards):
        others = [other for j, other in enumerate(rewards) if j != i]
        expected.append(reward - sum(others) / len(others))
    assert rloo.advantages(rewards) == pytest.approx(expected, abs=1e-12)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**31))
def test_first_pass_is_reinforce_of_whole_completions(seed: int) -> None:
    """(1 / n) sum of A_i grad log pi(o_i), with the constant 1."""
    batch = random_batch(seed)
    batch["mask_BT"][:, 0] = True
    batch["old_logprobs_BT"], batch["weights_BT"] = batch["logprobs_BT"], torch.ones_like(batch["logprobs_BT"])
    batch["advantages_BT"] = batch["advantages_BT"][:, :1].expand_as(batch["mask_BT"])
    ours_BT, paper_BT = (batch["logprobs_BT"].clone().requires_grad_() for _ in range(2))
    found = rloo.loss(**{**batch, "logprobs_BT": ours_BT}, clip_low=0.2, clip_high=0.2)
    divisor = denominator(num_tokens=0, num_sequences=len(ours_BT), kind="constant", constant=1)
    aggregate(found.loss_BT, batch["mask_BT"], kind="constant", denominator=divisor).backward()
    completions_B = torch.where(batch["mask_BT"], paper_BT, 0.0).sum(-1)
    (-(batch["advantages_BT"][:, 0] * completions_B).mean()).backward()
    torch.testing.assert_close(ours_BT.grad, paper_BT.grad, rtol=0, atol=1e-14)
