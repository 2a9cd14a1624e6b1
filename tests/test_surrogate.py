"""The clipped surrogate: what is clipped, what the dual clip adds, where gradients stop, and ratios far out."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from token_batches import one_token_rows, random_batch

from reasongym.algorithms.surrogate import TokenLoss, clipped_surrogate, importance_ratio, selected

pytestmark = pytest.mark.stack

seeds = st.integers(0, 2**31)
relaxed = settings(deadline=None, max_examples=40)


def losses(ratios: list[float], advantages: list[float], high: float = 0.2, dual: float | None = None) -> list[float]:
    found = clipped_surrogate(**one_token_rows(ratios, advantages), clip_low=0.2, clip_high=high, dual_clip=dual)
    return found.loss_BT.flatten().tolist()


def test_clip_bounds_the_gain_only() -> None:
    # min(.5, .8), min(-1, -1), min(3, 1.2 x 2): mean (.5 - 1 + 2.4) / 3; with 1.28: 2.56 for 2.4.
    assert sum(losses([0.5, 1, 1.5], [1, -1, 2])) / 3 == pytest.approx(-0.6333333, abs=1e-7)
    assert sum(losses([0.5, 1, 1.5], [1, -1, 2], high=0.28)) / 3 == pytest.approx(-0.6866667, abs=1e-7)


def test_dual_clip_bounds_the_loss_of_a_negative_advantage() -> None:
    # min(.5, .8) = .5; min(-1, -1) = -1; min(-40, -4.8) = -40, bounded at 3 x -4 = -12: (-.5 + 1 + 40) / 3 and
    # (-.5 + 1 + 12) / 3.
    assert sum(losses([0.5, 1, 10], [1, -1, -4])) / 3 == pytest.approx(13.5)
    assert sum(losses([0.5, 1, 10], [1, -1, -4], dual=3.0)) / 3 == pytest.approx(4.1666667, abs=1e-7)


def test_dual_clip_leaves_positive_advantages_alone() -> None:
    # min(.01 x 1, .8) is far below 3 x 1, which a bound without regard to the sign would raise it to.
    assert losses([0.01, 10], [1, 4], dual=3.0) == losses([0.01, 10], [1, 4]) == pytest.approx([-0.01, -4.8])


@pytest.mark.parametrize(("ratio", "advantage", "dual", "stopped"), [
    (1.5, 1.0, None, True), (0.5, -1.0, None, True),  # already moved the way it should
    (0.5, 1.0, None, False), (1.5, -1.0, None, False),  # moved the wrong way: must come back
    (1.19, 1.0, None, False), (0.81, -1.0, None, False), (1.5, 0.0, None, False),
    (3.1, -1.0, 3.0, True), (2.9, -1.0, 3.0, False), (3.1, 0.0, 3.0, False)])
def test_clip_stops_the_gradient_on_the_gaining_side_and_beyond_the_dual_clip(
        ratio: float, advantage: float, dual: float | None, stopped: bool) -> None:
    batch = one_token_rows([ratio], [advantage], old_logprob=0.0)
    logprobs_BT = batch["logprobs_BT"].requires_grad_()
    found = clipped_surrogate(**batch, clip_low=0.2, clip_high=0.2, dual_clip=dual)
    found.loss_BT.sum().backward()
    assert logprobs_BT.grad is not None
    # d/dx of -exp(x) A is -ratio A.
    assert logprobs_BT.grad.item() == pytest.approx(0.0 if stopped else -ratio * advantage)
    assert found.clipped_BT.item() is stopped
    assert found.ratio_BT.item() == pytest.approx(ratio)
    assert not found.ratio_BT.requires_grad


def test_clipped_token_far_out_has_gradient_zero_and_not_nan() -> None:
    # exp(100) is inf in float32, and 0 x inf would poison every parameter.
    logprobs_BT = torch.tensor([[0.0], [-100.0]], requires_grad=True)
    ones_BT = torch.ones(2, 1)
    found = clipped_surrogate(logprobs_BT=logprobs_BT, old_logprobs_BT=torch.tensor([[-100.0], [0.0]]),
                              advantages_BT=torch.tensor([[1.0], [-1.0]]), mask_BT=ones_BT.bool(), weights_BT=ones_BT,
                              clip_low=0.2, clip_high=0.2)
    found.loss_BT.sum().backward()
    assert found.loss_BT.flatten().tolist() == pytest.approx([-1.2, 0.8])
    assert torch.equal(logprobs_BT.grad, torch.zeros(2, 1))


def test_token_that_the_policy_rules_out_has_no_infinite_ratio() -> None:
    # log 0 = -inf at a trainable token: rho is exp(-80), not 0 whose gradient would be 0 x -inf.
    logprobs_BT = torch.tensor([[-math.inf]], requires_grad=True)
    mask_BT = torch.ones(1, 1).bool()
    ratio_BT = importance_ratio(logprobs_BT=logprobs_BT, old_logprobs_BT=-torch.ones(1, 1), mask_BT=mask_BT)
    ratio_BT.sum().backward()
    assert 0 < ratio_BT.item() < 1e-30
    assert torch.equal(logprobs_BT.grad, torch.zeros(1, 1))


def test_nan_at_a_trainable_token_is_not_hidden() -> None:
    # A model that has diverged must stop the run, not train on as if that token were missing.
    assert math.isnan(losses([math.nan], [1.0])[0])


@relaxed
@given(seeds, st.sampled_from([None, 1.5, 3.0]))
def test_loss_agrees_with_a_loop_over_tokens(seed: int, dual: float | None) -> None:
    batch = random_batch(seed)
    found = clipped_surrogate(**batch, clip_low=0.2, clip_high=0.28, dual_clip=dual)
    plain = {name: value.tolist() for name, value in batch.items()}
    for b, kept in enumerate(plain["mask_BT"]):
        for t, keep in enumerate(kept):
            ratio = math.exp(plain["logprobs_BT"][b][t] - plain["old_logprobs_BT"][b][t])
            advantage = plain["advantages_BT"][b][t]
            gain = min(ratio * advantage, min(max(ratio, 0.8), 1.28) * advantage)
            if dual is not None and advantage < 0:
                gain = max(gain, dual * advantage)
            expected = -plain["weights_BT"][b][t] * gain if keep else 0.0
            assert found.loss_BT[b, t].item() == pytest.approx(expected, abs=1e-12)


def test_live_tensors_elsewhere_do_not_change_the_gradient() -> None:
    # Were old_logprobs differentiated too, the two gradients of an on-policy ratio would cancel to exactly 0.
    live = {name: value if name == "mask_BT" else value.requires_grad_() for name, value in random_batch(3).items()}
    live["old_logprobs_BT"] = live["logprobs_BT"]
    clipped_surrogate(**live, clip_low=0.2, clip_high=0.2).loss_BT.sum().backward()
    expected_BT = -live["weights_BT"] * live["advantages_BT"] * live["mask_BT"]
    torch.testing.assert_close(live["logprobs_BT"].grad, expected_BT.detach())
    assert live["weights_BT"].grad is None
    assert live["advantages_BT"].grad is None


def test_float64_advantages_do_not_widen_the_loss() -> None:
    # Advantages are made in float64; a loss of that dtype would double its memory.
    batch = one_token_rows([1.5], [1.0])
    batch["logprobs_BT"], batch["weights_BT"] = batch["logprobs_BT"].float(), batch["weights_BT"].double()
    found: TokenLoss = clipped_surrogate(**batch, clip_low=0.2, clip_high=0.2)
    assert found.loss_BT.dtype == found.ratio_BT.dtype == torch.float32
    assert selected(batch["weights_BT"], batch["mask_BT"], dtype=torch.float32).dtype == torch.float32
