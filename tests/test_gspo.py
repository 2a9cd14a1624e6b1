"""GSPO: one ratio a sequence, and the gradient of the paper's sequence form from losses of tokens."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from token_batches import TokenBatch, random_batch
from torch import Tensor

from reasongym.algorithms import gspo
from reasongym.algorithms.aggregation import aggregate, denominator

pytestmark = pytest.mark.stack

seeds = st.integers(0, 2**31)
relaxed = settings(deadline=None, max_examples=60)


def one_row(ratios: list[float], advantages: list[float]) -> TokenBatch:
    ratio_BT = torch.tensor([ratios], dtype=torch.float64)
    return {"logprobs_BT": ratio_BT.log() - 1, "old_logprobs_BT": -torch.ones_like(ratio_BT),
            "advantages_BT": torch.tensor([advantages], dtype=torch.float64), "weights_BT": torch.ones_like(ratio_BT),
            "mask_BT": torch.ones_like(ratio_BT, dtype=torch.bool)}


def near_batch(seed: int) -> TokenBatch:
    """A batch near enough to the old policy that some sequences lie within the bounds; one advantage a row."""
    batch = random_batch(seed)
    batch["old_logprobs_BT"] = batch["logprobs_BT"] + 0.2 * (batch["old_logprobs_BT"] - batch["logprobs_BT"])
    batch["advantages_BT"] = batch["advantages_BT"][:, :1].expand_as(batch["mask_BT"])
    return batch


def sequence_form(batch: TokenBatch, low: float, high: float) -> Tensor:
    """The paper's loss, row by row: -mean over sequences of w_i min(s_i A_i, clip(s_i) A_i), all through s_i."""
    losses = []
    for b, mask_T in enumerate(batch["mask_BT"]):
        if mask_T.any():
            logs = (batch["logprobs_BT"][b] - batch["old_logprobs_BT"][b])[mask_T]
            ratio, advantage = (logs.sum() / len(logs)).exp(), batch["advantages_BT"][b, 0]
            gain = torch.minimum(ratio * advantage, ratio.clamp(1 - low, 1 + high) * advantage)
            losses.append(-batch["weights_BT"][b][mask_T][0] * gain)
    return torch.stack(losses).mean() if losses else batch["logprobs_BT"].sum() * 0.0


def test_ratio_is_the_geometric_mean_of_the_sequence() -> None:
    # (.5 x 1 x 1.5)^(1/3) = .75^(1/3) = .9085603, within .8..1.2; A sums to 2: -.9085603 x 2 / 3 = -.6057069.
    found = gspo.loss(**one_row([0.5, 1, 1.5], [1, -1, 2]), clip_low=0.2, clip_high=0.2)
    assert found.ratio_BT[0].tolist() == pytest.approx([0.9085603] * 3, abs=1e-7)
    assert found.loss_BT.mean().item() == pytest.approx(-0.6057069, abs=1e-7)


def test_length_enters_by_the_mean_and_not_by_the_product() -> None:
    # Means of .5 and 1 in log: e^.5 and e^1. Products would be e^1 and e^3.
    for logs, mean in (([0.5, 0.5], 0.5), ([1.0, 1.0, 1.0], 1.0)):
        row = one_row([math.exp(log) for log in logs], [1.0] * len(logs))
        assert gspo.loss(**row, clip_low=0.2, clip_high=0.2).ratio_BT[0, 0].item() == pytest.approx(math.exp(mean))


@relaxed
@given(seeds, st.sampled_from([(0.2, 0.2), (0.05, 0.1), (3e-4, 4e-4)]))
def test_gradient_is_that_of_the_sequence_form(seed: int, bounds: tuple[float, float]) -> None:
    batch = near_batch(seed)
    batch["weights_BT"] = batch["weights_BT"][:, :1].expand_as(batch["mask_BT"])  # one weight a sequence
    logprobs_BT = batch["logprobs_BT"].requires_grad_()
    found = gspo.loss(**batch, clip_low=bounds[0], clip_high=bounds[1])
    divisor = denominator(num_tokens=0, num_sequences=int(batch["mask_BT"].any(-1).sum()), kind="sequence",
                          constant=None)
    ours = aggregate(found.loss_BT, batch["mask_BT"], kind="sequence", denominator=divisor)
    paper = sequence_form(batch, *bounds)
    assert ours.item() == pytest.approx(paper.item(), abs=1e-12)
    for one, other in zip(*(torch.autograd.grad(loss, logprobs_BT) for loss in (ours, paper)), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-13)


def test_a_sequence_is_clipped_whole() -> None:
    # Ratios 1.5 and .9: 1.35^(1/2) = 1.162 > 1.1. By token the second, .9, would still have a gradient.
    row = one_row([1.5, 0.9], [1, 1])
    logprobs_BT = row["logprobs_BT"].requires_grad_()
    found = gspo.loss(**row, clip_low=0.1, clip_high=0.1)
    found.loss_BT.sum().backward()
    assert found.clipped_BT.all()
    assert torch.equal(logprobs_BT.grad, torch.zeros(1, 2, dtype=torch.float64))


def test_advantages_of_both_signs_are_clipped_each_by_its_own() -> None:
    # s = 1.5 > 1.2: the gain of A = 1 is stopped, A = -1 must come back: gradient -1.5 x -1.
    row = one_row([1.5, 1.5], [1, -1])
    logprobs_BT = row["logprobs_BT"].requires_grad_()
    found = gspo.loss(**row, clip_low=0.2, clip_high=0.2)
    found.loss_BT.sum().backward()
    assert found.clipped_BT.tolist() == [[True, False]]
    assert logprobs_BT.grad[0].tolist() == pytest.approx([0.0, 1.5])


def test_a_rejected_token_has_no_gradient() -> None:
    # Through s_i alone both tokens would have the mean weight, (0 + 2) / 2 = 1.
    row = one_row([1.0, 1.0], [1, 1])
    row["weights_BT"] = torch.tensor([[0.0, 2.0]]).double()
    logprobs_BT = row["logprobs_BT"].requires_grad_()
    gspo.loss(**row, clip_low=0.2, clip_high=0.2).loss_BT.sum().backward()
    assert logprobs_BT.grad.tolist() == [[0.0, -2.0]]


def test_bounds_of_a_few_ten_thousandths_are_resolved_in_float32() -> None:
    # e^(2e-4) is within 1 + 4e-4, e^(5e-4) is not; float32 steps by 1.2e-7 above 1.
    logprobs_BT = torch.full((2, 3), -2.0) + torch.tensor([[2e-4], [5e-4]])
    ones_BT = torch.ones(2, 3)
    found = gspo.loss(logprobs_BT=logprobs_BT, old_logprobs_BT=torch.full((2, 3), -2.0), advantages_BT=ones_BT,
                      mask_BT=ones_BT.bool(), weights_BT=ones_BT, clip_low=3e-4, clip_high=4e-4)
    assert found.clipped_BT.tolist() == [[False] * 3, [True] * 3]


def test_a_token_that_the_policy_rules_out_poisons_no_neighbour() -> None:
    # log 0 = -inf, held at -80: the mean is (-80 + 0) / 2 = -40, finite, and so is every gradient.
    logprobs_BT = torch.tensor([[-math.inf, -1.0]], requires_grad=True)
    ones_BT = torch.ones(1, 2)
    found = gspo.loss(logprobs_BT=logprobs_BT, old_logprobs_BT=-ones_BT, advantages_BT=ones_BT, mask_BT=ones_BT.bool(),
                      weights_BT=ones_BT, clip_low=0.2, clip_high=0.2)
    found.loss_BT.sum().backward()
    assert found.ratio_BT.log().tolist() == [[pytest.approx(-40.0)] * 2]
    assert logprobs_BT.grad.isfinite().all()
