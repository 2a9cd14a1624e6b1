"""DPO's and IPO's loss of a pair: values, gradients, and what must not matter."""

from __future__ import annotations

import math
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from reasongym.algorithms import dpo
from reasongym.algorithms.preference import PairLoss, log_ratios

pytestmark = pytest.mark.stack

POISON = (1e4, -1e4, math.inf, -math.inf, math.nan)
PLAIN = {"beta": 0.1, "loss_kind": "sigmoid", "length": "sum", "label_smoothing": 0.0, "nll_coefficient": 0.0}
KINDS = ("sigmoid", "ipo")
LENGTHS = ("sum", "mean")
seeds = st.integers(0, 2**31)
relaxed = settings(deadline=None, max_examples=40)
knobs = st.fixed_dictionaries({"beta": st.sampled_from([0.05, 0.1, 2.0]), "loss_kind": st.sampled_from(KINDS),
                               "length": st.sampled_from(LENGTHS), "label_smoothing": st.sampled_from([0.0, 0.1, 0.5]),
                               "nll_coefficient": st.sampled_from([0.0, 0.7])})


def batch(seed: int, *, pairs: int | None = None) -> dict[str, Tensor]:
    """Random pairs in float64: ragged masks with holes (tool turns), some rows empty."""
    generator = torch.Generator().manual_seed(seed)
    width = int(torch.randint(1, 9, (), generator=generator))
    shape = (2 * (pairs or int(torch.randint(1, 5, (), generator=generator))), width)
    logprobs, reference = (-torch.randn(*shape, generator=generator, dtype=torch.float64).abs() for _ in range(2))
    mask = torch.rand(*shape, generator=generator) < 0.6
    return {"logprobs_BT": logprobs, "reference_logprobs_BT": reference, "mask_BT": mask}


def one_pair(chosen: list[float], rejected: list[float], *, dtype: torch.dtype = torch.float64) -> dict[str, Tensor]:
    """Log-ratios of each token, on a reference of -3 a token; the shorter row is padded and masked."""
    width = max(len(chosen), len(rejected))
    ratios = torch.tensor([row + [0.0] * (width - len(row)) for row in (chosen, rejected)], dtype=dtype)
    mask = torch.tensor([[t < len(row) for t in range(width)] for row in (chosen, rejected)])
    return {"logprobs_BT": ratios - 3, "reference_logprobs_BT": torch.full_like(ratios, -3.0), "mask_BT": mask}


def loss_and_gradient(data: dict[str, Tensor], **options: Any) -> tuple[PairLoss, Tensor]:
    logprobs = data["logprobs_BT"].clone().requires_grad_()
    result = dpo.loss(**{**data, "logprobs_BT": logprobs}, **{**PLAIN, **options})
    result.loss_P.sum().backward()
    assert logprobs.grad is not None
    return result, logprobs.grad


def assert_same(one: tuple[PairLoss, Tensor], other: tuple[PairLoss, Tensor]) -> None:
    for a, b in zip((*one[0], one[1]), (*other[0], other[1]), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


# Log-probabilities -10 and -11, under the reference -12 and -12.5: s = 2 over 5 tokens and 1.5 over 4, h = 0.5.
MARGIN = one_pair([0.4] * 5, [0.375] * 4)


@pytest.mark.parametrize(("options", "expected"), [
    ({}, 0.6684596),  # log(1 + e^-.05)
    ({"beta": 0.5}, 0.5759394),  # log(1 + e^-.25)
    ({"label_smoothing": 0.1}, 0.6734596),  # .6684596 + .1 x .05, since f(-h) = f(h) + beta h
    ({"length": "mean"}, 0.6918980),  # h = .4 - .375 = .025: log(1 + e^-.0025)
    ({"loss_kind": "ipo"}, 20.25),  # (.5 - 5)^2
    ({"loss_kind": "ipo", "length": "mean"}, 24.750625),  # (.4 - .375 - 5)^2
    ({"loss_kind": "ipo", "label_smoothing": 0.1}, 21.25)])  # .9 x 4.5^2 + .1 x 5.5^2
def test_published_margin_gives_another_loss(options: dict[str, Any], expected: float) -> None:
    assert dpo.loss(**MARGIN, **{**PLAIN, **options}).loss_P.tolist() == pytest.approx([expected], abs=5e-8)


def test_implicit_rewards_are_not_those_that_the_loss_compares() -> None:
    for length, rewards in (("sum", (0.2, 0.15)), ("mean", (0.04, 0.0375))):  # .1 x 2, .1 x 1.5; .1 x .4, .1 x .375
        result = dpo.loss(**MARGIN, **{**PLAIN, "length": length})
        assert (result.chosen_reward_P.item(), result.rejected_reward_P.item()) == pytest.approx(rewards)


@relaxed
@given(seeds)
def test_first_step_is_not_log_two(seed: int) -> None:
    data = batch(seed)
    data["reference_logprobs_BT"] = data["logprobs_BT"]
    assert dpo.loss(**data, **PLAIN).loss_P.tolist() == pytest.approx([math.log(2)] * (len(data["mask_BT"]) // 2))


def slow(data: dict[str, Tensor], pair: int, options: dict[str, Any]) -> tuple[float, float, float]:
    """Loss and rewards of one pair, token by token; both branches of the logistic written out."""
    scores, likelihoods = [], []
    for row in (2 * pair, 2 * pair + 1):
        score, likelihood, length = 0.0, 0.0, 0
        for t in range(data["mask_BT"].shape[1]):
            if data["mask_BT"][row, t]:
                score += data["logprobs_BT"][row, t].item() - data["reference_logprobs_BT"][row, t].item()
                likelihood += data["logprobs_BT"][row, t].item()
                length += 1
        scores.append(score / max(length, 1) if options["length"] == "mean" else score)
        likelihoods.append(likelihood / max(length, 1))
    beta, smoothing, margin = options["beta"], options["label_smoothing"], scores[0] - scores[1]
    if options["loss_kind"] == "ipo":
        right, flipped = (margin - 1 / (2 * beta)) ** 2, (-margin - 1 / (2 * beta)) ** 2
    else:
        right, flipped = math.log1p(math.exp(-beta * margin)), math.log1p(math.exp(beta * margin))
    total = (1 - smoothing) * right + smoothing * flipped - options["nll_coefficient"] * likelihoods[0]
    return total, beta * scores[0], beta * scores[1]


@relaxed
@given(seeds, knobs)
def test_loss_differs_from_a_loop_over_tokens(seed: int, options: dict[str, Any]) -> None:
    data = batch(seed)
    got = dpo.loss(**data, **options)
    for pair, values in enumerate(zip(*(column.tolist() for column in got), strict=True)):
        assert values == pytest.approx(slow(data, pair, options), rel=1e-10, abs=1e-10)


@relaxed
@given(seeds, knobs)
def test_gradient_differs_from_the_formula(seed: int, options: dict[str, Any]) -> None:
    data = batch(seed)
    _, gradient = loss_and_gradient(data, **options)
    beta, smoothing = options["beta"], options["label_smoothing"]
    for pair in range(len(gradient) // 2):
        _, chosen, rejected = slow(data, pair, options)
        margin = (chosen - rejected) / beta
        if options["loss_kind"] == "ipo":  # 2 (1 - e) (h - 1/2b) + 2 e (h + 1/2b)
            slope = 2 * margin - (1 - 2 * smoothing) / beta
        else:  # b (sigmoid(b h) - (1 - e))
            slope = beta * (1 / (1 + math.exp(-beta * margin)) - (1 - smoothing))
        for row, sign in ((2 * pair, 1), (2 * pair + 1, -1)):
            length = max(int(data["mask_BT"][row].sum()), 1)
            each = sign * slope / (length if options["length"] == "mean" else 1)
            each -= options["nll_coefficient"] / length if sign == 1 else 0.0
            expected = torch.where(data["mask_BT"][row], each, 0.0)
            torch.testing.assert_close(gradient[row], expected.double(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", LENGTHS)
def test_gradient_lowers_the_chosen_or_raises_the_rejected(kind: str, length: str) -> None:
    _, gradient = loss_and_gradient(MARGIN, loss_kind=kind, length=length)
    assert (gradient[0] < 0).all()  # descent raises it
    assert (gradient[1, :4] > 0).all()
    assert gradient[1, 4].item() == 0.0


def test_ipo_goes_beyond_its_target() -> None:
    # 1 / (2 x .1) = 5; at h = 6 the gradient in h is 2 (6 - 5) = 2 and brings the margin back.
    assert not loss_and_gradient(one_pair([5.0], [0.0]), loss_kind="ipo")[1].any()
    _, past = loss_and_gradient(one_pair([6.0], [0.0]), loss_kind="ipo")
    assert past.flatten().tolist() == pytest.approx([2.0, -2.0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", LENGTHS)
def test_half_the_labels_flipped_still_teach_an_order(kind: str, length: str) -> None:
    # e = 1/2 makes f(h) / 2 + f(-h) / 2, even in h: its gradient is 0 at h = 0 and pulls towards it elsewhere.
    _, level = loss_and_gradient(one_pair([0.5, 0.5], [0.5, 0.5]), loss_kind=kind, length=length, label_smoothing=0.5)
    assert not level.any()
    _, ahead = loss_and_gradient(one_pair([2.0], [0.0]), loss_kind=kind, length=length, label_smoothing=0.5)
    _, behind = loss_and_gradient(one_pair([0.0], [2.0]), loss_kind=kind, length=length, label_smoothing=0.5)
    assert ahead[0].item() > 0 > behind[0].item()


@pytest.mark.parametrize(("kind", "margin"), [
    ("sigmoid", math.log(0.9 / 0.1) / 0.1),  # sigmoid(beta h) = 1 - e
    ("ipo", 0.8 / 0.2)])  # (1 - 2 e) / (2 beta)
def test_smoothed_loss_rests_elsewhere_than_stated(kind: str, margin: float) -> None:
    _, gradient = loss_and_gradient(one_pair([margin], [0.0]), loss_kind=kind, label_smoothing=0.1)
    assert gradient.flatten().tolist() == pytest.approx([0.0, 0.0], abs=1e-15)


@pytest.mark.parametrize(("kind", "constant"), [("sigmoid", math.log(2)), ("ipo", 25.0)])  # (1 / .2)^2
@pytest.mark.parametrize("length", LENGTHS)
def test_two_identical_completions_move_the_policy(kind: str, constant: float, length: str) -> None:
    policy = torch.tensor([-0.3, -1.7, -0.2], dtype=torch.float64, requires_grad=True)
    reference = torch.tensor([[-0.5, -1.0, -0.9]] * 2, dtype=torch.float64)
    result = dpo.loss(logprobs_BT=torch.stack([policy, policy]), reference_logprobs_BT=reference,
                      mask_BT=torch.ones(2, 3).bool(), **{**PLAIN, "loss_kind": kind, "length": length})
    result.loss_P.sum().backward()
    assert result.loss_P.item() == pytest.approx(constant)
    assert torch.equal(policy.grad, torch.zeros(3, dtype=torch.float64))


@relaxed
@given(seeds, st.sampled_from(POISON), knobs)
def test_something_under_the_mask_matters(seed: int, poison: float, options: dict[str, Any]) -> None:
    data = batch(seed)
    dirty = {name: value if name == "mask_BT" else torch.where(data["mask_BT"], value, poison)
             for name, value in data.items()}
    clean, poisoned = loss_and_gradient(data, **options), loss_and_gradient(dirty, **options)
    assert all(torch.equal(a, b) for a, b in zip((*clean[0], clean[1]), (*poisoned[0], poisoned[1]), strict=True))


@relaxed
@given(seeds, knobs, st.integers(1, 3), st.integers(0, 5), st.integers(0, 5))
def test_cut_or_padding_changes_loss_or_gradient(seed: int, options: dict[str, Any], pairs_each: int, left: int,
                                                 right: int) -> None:
    data = batch(seed)
    whole, parts = loss_and_gradient(data, **options), []
    for start in range(0, len(data["mask_BT"]), 2 * pairs_each):
        part = {name: torch.nn.functional.pad(value[start:start + 2 * pairs_each], (left, right), value=0)
                for name, value in data.items()}
        result, gradient = loss_and_gradient(part, **options)
        width = gradient.shape[1] - left - right
        assert not gradient[:, :left].any()
        assert not gradient[:, left + width:].any()
        parts.append((result, gradient[:, left:left + width]))
    joined = PairLoss(*(torch.cat(column) for column in zip(*(result for result, _ in parts), strict=True)))
    assert_same((joined, torch.cat([gradient for _, gradient in parts])), whole)


@relaxed
@given(seeds, knobs, seeds)
def test_order_of_the_pairs_matters(seed: int, options: dict[str, Any], shuffle: int) -> None:
    data = batch(seed)
    order = torch.randperm(len(data["mask_BT"]) // 2, generator=torch.Generator().manual_seed(shuffle))
    rows = torch.stack([2 * order, 2 * order + 1], -1).flatten()
    result, gradient = loss_and_gradient(data, **options)
    moved = loss_and_gradient({name: value[rows] for name, value in data.items()}, **options)
    assert_same(moved, (PairLoss(*(column[order] for column in result)), gradient[rows]))


def test_long_chosen_weighs_more_in_the_likelihood_term() -> None:
    # Reference 3 nats a token and log-ratios 0: each pair's own mean is 3, whatever its length. A mean over the
    # micro-batch's tokens would give the pair of four tokens four times the gradient of the pair of one.
    long, short = one_pair([0.0] * 4, [0.0]), one_pair([0.0], [0.0])
    for data, each in ((long, -0.5 / 4), (short, -0.5)):
        result, gradient = loss_and_gradient(data, nll_coefficient=0.5, beta=1e-9)
        assert result.loss_P.item() == pytest.approx(math.log(2) + 0.5 * 3)
        assert gradient[0].tolist() == pytest.approx([each] * gradient.shape[1], abs=1e-8)
        assert gradient[1].tolist() == pytest.approx([0.0] * gradient.shape[1], abs=1e-8)


@pytest.mark.parametrize(("length", "margin"), [("mean", -1.5), ("sum", -3.0)])  # 0 less the rejected's
def test_empty_chosen_is_divided_by_its_length(length: str, margin: float) -> None:
    result, gradient = loss_and_gradient(one_pair([], [2.0, 1.0]), length=length, nll_coefficient=0.5)
    assert result.loss_P.item() == pytest.approx(math.log1p(math.exp(-0.1 * margin)))  # the nll of nothing is 0
    assert not gradient[0].any()
    assert (gradient[1] > 0).all()


@pytest.mark.parametrize("length", LENGTHS)
def test_two_empty_completions_have_a_gradient(length: str) -> None:
    data = one_pair([2.0], [1.0])
    data["mask_BT"] = torch.zeros(2, 1).bool()
    result, gradient = loss_and_gradient(data, length=length, nll_coefficient=0.5)
    assert result.loss_P.tolist() == pytest.approx([math.log(2)])
    assert not gradient.any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_log_ratio_far_out_is_inf_or_nan(dtype: torch.dtype) -> None:
    # beta h = -1000: log(sigmoid) would be log(0). The loss is linear there, its gradient beta.
    lost, gradient = loss_and_gradient(one_pair([-1e4], [0.0], dtype=dtype), label_smoothing=0.1)
    assert lost.loss_P.item() == pytest.approx(900.0)  # .9 x 1000 + .1 x 0
    assert gradient.flatten().tolist() == pytest.approx([-0.09, 0.09])
    won, gradient = loss_and_gradient(one_pair([1e4], [-1e4], dtype=dtype))
    assert won.loss_P.item() == 0.0
    assert not gradient.any()
    assert loss_and_gradient(one_pair([1e4], [0.0], dtype=dtype), loss_kind="ipo")[0].loss_P.item() == \
        pytest.approx((1e4 - 5) ** 2)


def test_sum_over_a_long_completion_loses_the_margin() -> None:
    # In float32 the two sums are near -11,469, where neighbours are 1e-3 apart: a margin of 2^-12 would be lost.
    reference = torch.full((2, 16384), -0.7)
    logprobs = reference.clone()
    logprobs[0, 5] += 2**-12
    expected = (logprobs[0, 5].double() - reference[0, 5].double()).item()
    got = log_ratios(logprobs_BT=logprobs, reference_logprobs_BT=reference, mask_BT=torch.ones(2, 16384).bool())
    assert got.tolist() == pytest.approx([expected, 0.0], rel=1e-6)
    assert got.dtype == torch.float64


def test_gradient_reaches_the_reference_or_the_rewards() -> None:
    data = batch(5)
    live = data["reference_logprobs_BT"].requires_grad_()
    result, _ = loss_and_gradient(data, nll_coefficient=0.5)
    assert live.grad is None
    assert [column.requires_grad for column in result[1:]] == [False, False]


def test_half_a_pair_is_paired_with_its_neighbour() -> None:
    data = {name: value[:3] for name, value in batch(1, pairs=2).items()}
    with pytest.raises(ValueError, match="got 3 rows: keep both rows"):
        dpo.loss(**data, **PLAIN)


def test_no_pairs_are_an_error() -> None:
    result, gradient = loss_and_gradient({name: value[:0] for name, value in batch(1).items()}, nll_coefficient=0.5)
    assert [column.numel() for column in (*result, gradient)] == [0] * 4
