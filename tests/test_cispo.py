"""CISPO: a bounded weight that carries no gradient, and two meanings of its bound."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from token_batches import one_token_rows, random_batch

from reasongym.algorithms import cispo

pytestmark = pytest.mark.stack


@pytest.mark.parametrize(("cap", "floor", "kind", "expected", "first_is_bounded"), [
    # Ratios .5, 1, 1.5; A 1, -1, 2; log pi -1, -.5, -2: -(.8 x 1 x -1) = .8, -(1 x -1 x -.5) = -.5,
    # -(1.2 x 2 x -2) = 4.8; (.8 - .5 + 4.8) / 3.
    (0.2, 0.2, "above_one", 1.7, True), (1.2, 0.8, "absolute", 1.7, True),
    # No lower bound: .5 for .8; cap 1.28: 5.12 for 4.8; (.5 - .5 + 5.12) / 3.
    (1.28, None, "absolute", 1.7066667, False), (0.28, None, "above_one", 1.7066667, False)])
def test_bounds_are_of_the_kind_that_was_named(cap: float, floor: float | None, kind: str, expected: float,
                                               first_is_bounded: bool) -> None:
    batch = one_token_rows([0.5, 1, 1.5], [1, -1, 2])
    batch["logprobs_BT"] = torch.tensor([[-1.0], [-0.5], [-2.0]]).double()
    batch["old_logprobs_BT"] = batch["logprobs_BT"] - torch.tensor([[0.5], [1.0], [1.5]]).double().log()
    found = cispo.loss(**batch, cap=cap, floor=floor, cap_kind=kind)
    assert found.loss_BT.mean().item() == pytest.approx(expected, abs=1e-7)
    assert found.clipped_BT.flatten().tolist() == [first_is_bounded, False, True]


def test_no_token_is_silenced_and_none_says_more_than_the_cap() -> None:
    # PPO's clip would give the first and the last 0. Bounds are .8 and 1.28, and rho is a constant: gradient -rho A.
    batch = one_token_rows([1.5, 1.1, 0.9, 0.5], [1, 1, -1, -1])
    logprobs_BT = batch["logprobs_BT"].requires_grad_()
    found = cispo.loss(**batch, cap=0.28, floor=0.2, cap_kind="above_one")
    found.loss_BT.sum().backward()
    assert logprobs_BT.grad.flatten().tolist() == pytest.approx([-1.28, -1.1, 0.9, 0.8])
    assert found.clipped_BT.flatten().tolist() == [True, False, False, True]
    assert found.ratio_BT.flatten().tolist() == pytest.approx([1.5, 1.1, 0.9, 0.5])  # as it was


@pytest.mark.parametrize(("cap", "floor", "kind"), [
    (0.28, 0.0, "absolute"),  # every gradient would be scaled to .28
    (5.0, 1.2, "absolute"), (-0.1, 0.0, "above_one"), (0.2, -0.1, "above_one")])
def test_bounds_without_the_ratio_of_the_first_pass_are_refused(cap: float, floor: float, kind: str) -> None:
    with pytest.raises(ValueError, match="1 between them"):
        cispo.bounds(cap=cap, floor=floor, cap_kind=kind)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**31), st.sampled_from([0.0, 0.2, 1.0]))
def test_loss_and_gradient_agree_with_a_loop_over_tokens(seed: int, floor: float) -> None:
    batch = random_batch(seed)
    logprobs_BT = batch["logprobs_BT"].requires_grad_()
    found = cispo.loss(**batch, cap=0.28, floor=floor, cap_kind="above_one")
    found.loss_BT.sum().backward()
    plain = {name: value.tolist() for name, value in batch.items()}
    for b, kept in enumerate(plain["mask_BT"]):
        for t, keep in enumerate(kept):
            logprob = plain["logprobs_BT"][b][t]
            ratio = min(max(math.exp(logprob - plain["old_logprobs_BT"][b][t]), 1 - floor), 1.28)
            slope = -plain["weights_BT"][b][t] * ratio * plain["advantages_BT"][b][t] if keep else 0.0
            assert found.loss_BT[b, t].item() == pytest.approx(slope * logprob, abs=1e-12)
            assert logprobs_BT.grad[b, t].item() == pytest.approx(slope, abs=1e-12)
