"""GRPO done right: neither the deviation nor the length divides."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch
from token_batches import random_batch

from reasongym.algorithms import dr_grpo, grpo
from reasongym.algorithms.aggregation import aggregate, denominator

pytestmark = pytest.mark.stack


def test_advantages_are_centred_and_keep_their_scale() -> None:
    # Centred on 4.5 and 10.5; divided by a deviation both groups would be +-.707.
    assert dr_grpo.advantages([6, 3]) + dr_grpo.advantages([9, 12]) == [1.5, -1.5, -1.5, 1.5]
    # 1 of 8 right: the winner has 7/8, where GRPO gives (7/8) / sqrt((49/64 + 7/64) / 7) = 2.47.
    assert dr_grpo.advantages([1] + [0] * 7)[0] == 0.875
    assert grpo.advantages([1] + [0] * 7, std="unbiased")[0] == pytest.approx(2.4748737)


def test_a_token_of_a_long_answer_weighs_as_much_as_one_of_a_short() -> None:
    # On policy, A = -1 everywhere: every gradient is 1 / (2 sequences x 8), whatever the answer's own length.
    mask_BT = torch.tensor([[True] * 4, [True, False, False, False]])
    logprobs_BT = torch.full((2, 4), -1.0, requires_grad=True)
    found = dr_grpo.loss(logprobs_BT=logprobs_BT, old_logprobs_BT=logprobs_BT, advantages_BT=-torch.ones(2, 4),
                         mask_BT=mask_BT, weights_BT=torch.ones(2, 4), clip_low=0.2, clip_high=0.2)
    divisor = denominator(num_tokens=5, num_sequences=2, kind="constant", constant=8)
    aggregate(found.loss_BT, mask_BT, kind="constant", denominator=divisor).backward()
    assert torch.equal(logprobs_BT.grad, mask_BT / 16)


def test_loss_of_a_token_is_grpos() -> None:
    batch = random_batch(5)
    ours, theirs = dr_grpo.loss(**batch, clip_low=0.2, clip_high=0.28), grpo.loss(**batch, clip_low=0.2, clip_high=0.28,
                                                                                 dual_clip=None)
    assert all(torch.equal(one, other) for one, other in zip(ours, theirs, strict=True))
