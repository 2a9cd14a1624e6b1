"""KTO's loss, its reference point, whose completions estimate it, and the balance of the labels."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from reasongym.algorithms import kto

pytestmark = pytest.mark.stack

POISON = (1e4, -1e4, math.inf, -math.inf, math.nan)
PLAIN = {"reference_point": 0.1, "beta": 0.1, "desirable_weight": 1.0, "undesirable_weight": 1.0}
seeds = st.integers(0, 2**31)
relaxed = settings(deadline=None, max_examples=40)
knobs = st.fixed_dictionaries({"reference_point": st.sampled_from([0.0, 0.4, 3.0]), "beta": st.sampled_from([0.1, 1.0]),
                               "desirable_weight": st.sampled_from([0.0, 0.3, 1.0]),
                               "undesirable_weight": st.sampled_from([0.7, 1.5])})


def batch(seed: int) -> dict[str, Tensor]:
    """Random completions in float64: ragged masks with holes, some rows empty."""
    generator = torch.Generator().manual_seed(seed)
    shape = tuple(torch.randint(1, 8, (2,), generator=generator).tolist())
    logprobs, reference = (-torch.randn(*shape, generator=generator, dtype=torch.float64).abs() for _ in range(2))
    return {"logprobs_BT": logprobs, "reference_logprobs_BT": reference,
            "mask_BT": torch.rand(*shape, generator=generator) < 0.6,
            "desirable_B": torch.rand(shape[0], generator=generator) < 0.5}


def of_ratios(ratios: list[float], desirable: list[bool], dtype: torch.dtype = torch.float64) -> dict[str, Tensor]:
    """One token a row, with these log-ratios on a reference of -3."""
    column = torch.tensor(ratios, dtype=dtype)[:, None]
    return {"logprobs_BT": column - 3, "reference_logprobs_BT": torch.full_like(column, -3.0),
            "mask_BT": torch.ones_like(column).bool(), "desirable_B": torch.tensor(desirable)}


def loss_and_gradient(data: dict[str, Tensor], **options: Any) -> tuple[kto.LabelLoss, Tensor]:
    logprobs = data["logprobs_BT"].clone().requires_grad_()
    result = kto.loss(**{**data, "logprobs_BT": logprobs}, **{**PLAIN, **options})
    result.loss_B.sum().backward()
    assert logprobs.grad is not None
    return result, logprobs.grad


def test_published_values_differ() -> None:
    point = kto.reference_point([0.3, -0.1])
    assert point == pytest.approx(0.1)
    # 1 - sigmoid(.1 (1 - .1)) = 1 / (1 + e^.09), and 1 - sigmoid(.1 (.1 + .5)) = 1 / (1 + e^.06).
    got = kto.loss(**of_ratios([1.0, -0.5], [True, False]), **{**PLAIN, "reference_point": point})
    assert got.loss_B.tolist() == pytest.approx([0.4775152, 0.4850045], abs=5e-8)
    assert got.reward_B.tolist() == pytest.approx([0.1, -0.05])  # beta r, without z


@relaxed
@given(seeds, knobs)
def test_loss_or_gradient_differs_from_a_loop_over_tokens(seed: int, options: dict[str, Any]) -> None:
    data = batch(seed)
    result, gradient = loss_and_gradient(data, **options)
    beta, point = options["beta"], options["reference_point"]
    for b, wanted in enumerate(data["desirable_B"].tolist()):
        ratio = 0.0
        for t in range(data["mask_BT"].shape[1]):
            if data["mask_BT"][b, t]:
                ratio += data["logprobs_BT"][b, t].item() - data["reference_logprobs_BT"][b, t].item()
        gain = 1 / (1 + math.exp(-beta * (ratio - point if wanted else point - ratio)))
        weight = options["desirable_weight" if wanted else "undesirable_weight"]
        assert result.loss_B[b].item() == pytest.approx(weight * (1 - gain), abs=1e-12)
        assert result.reward_B[b].item() == pytest.approx(beta * ratio, abs=1e-12)
        # d/dr of -w sigmoid(+-beta (r - z)); the same for every trainable token, as z is a constant.
        slope = -weight * beta * gain * (1 - gain) * (1 if wanted else -1)
        expected = torch.where(data["mask_BT"][b], slope, 0.0).double()
        torch.testing.assert_close(gradient[b], expected, rtol=1e-6, atol=1e-7)


def test_gradient_lowers_the_wanted_or_raises_the_unwanted() -> None:
    _, gradient = loss_and_gradient(of_ratios([0.3, 0.3], [True, False]))
    assert gradient[0].item() < 0 < gradient[1].item()


@relaxed
@given(seeds, st.sampled_from(POISON), knobs)
def test_something_under_the_mask_matters(seed: int, poison: float, options: dict[str, Any]) -> None:
    data = batch(seed)
    dirty = {name: torch.where(data["mask_BT"], value, poison) if "logprobs" in name else value
             for name, value in data.items()}
    clean, poisoned = loss_and_gradient(data, **options), loss_and_gradient(dirty, **options)
    for one, other in zip((*clean[0], clean[1]), (*poisoned[0], poisoned[1]), strict=True):
        assert torch.equal(one, other)


@relaxed
@given(seeds, knobs, st.integers(1, 4), st.integers(0, 4))
def test_cut_or_padding_changes_loss_or_gradient(seed: int, options: dict[str, Any], rows_each: int, pad: int) -> None:
    data = batch(seed)
    whole, whole_gradient = loss_and_gradient(data, **options)
    losses, gradients = [], []
    for start in range(0, len(data["mask_BT"]), rows_each):
        part = {name: value[start:start + rows_each] for name, value in data.items()}
        part |= {name: torch.nn.functional.pad(value, (0, pad)) for name, value in part.items() if name.endswith("BT")}
        result, gradient = loss_and_gradient(part, **options)
        losses.append(result.loss_B)
        gradients.append(gradient[:, :whole_gradient.shape[1]])
        assert not gradient[:, whole_gradient.shape[1]:].any()
    torch.testing.assert_close(torch.cat(losses), whole.loss_B, rtol=0, atol=1e-14)
    torch.testing.assert_close(torch.cat(gradients), whole_gradient, rtol=0, atol=1e-14)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_log_ratio_far_out_is_nan(dtype: torch.dtype) -> None:
    # beta x 1e4 = 1000: sigmoid is 0 or 1, so the loss is 0 or the weight, and flat.
    result, gradient = loss_and_gradient(of_ratios([1e4, -1e4, 1e4, -1e4], [True, True, False, False], dtype),
                                         undesirable_weight=0.3)
    assert result.loss_B.tolist() == pytest.approx([0.0, 1.0, 0.3, 0.0])
    assert not gradient.any()


def test_small_loss_rounds_to_zero() -> None:
    # beta (r - z) = 40: 1 - sigmoid(40) is 0 in float64, sigmoid(-40) is e^-40 = 4.2e-18.
    result, gradient = loss_and_gradient(of_ratios([40.0], [True]), beta=1.0, reference_point=0.0)
    assert result.loss_B.item() == pytest.approx(math.exp(-40), rel=1e-9, abs=0)
    assert gradient.item() == pytest.approx(-math.exp(-40), rel=1e-9, abs=0)


def test_weight_that_binary_cannot_write_is_rounded_to_float32() -> None:
    # 0.3 in float32 is 0.30000001192: the loss at r = z is half the weight.
    result, _ = loss_and_gradient(of_ratios([0.0], [False]), reference_point=0.0, undesirable_weight=0.3)
    assert result.loss_B.item() == 0.15


def test_empty_completion_moves_the_policy() -> None:
    data = of_ratios([1.0, 1.0], [True, False])
    data["mask_BT"] = torch.zeros(2, 1).bool()
    result, gradient = loss_and_gradient(data)
    # r = 0: 1 - sigmoid(-.01) and 1 - sigmoid(.01).
    assert result.loss_B.tolist() == pytest.approx([1 / (1 + math.exp(-0.01)), 1 / (1 + math.exp(0.01))])
    assert not gradient.any()


def test_gradient_reaches_the_reference_or_the_rewards() -> None:
    data = batch(4)
    live = data["reference_logprobs_BT"].requires_grad_()
    result, _ = loss_and_gradient(data)
    assert live.grad is None
    assert not result.reward_B.requires_grad


def test_reference_point_is_negative() -> None:
    assert kto.reference_point([-1.0, 0.5]) == 0.0
    assert kto.reference_point([0.0]) == 0.0


@relaxed
@given(st.lists(st.floats(-50, 50), min_size=2, max_size=12), st.integers(1, 11), seeds)
def test_reference_point_depends_on_how_ranks_share_the_step(values: list[float], cut: int, seed: int) -> None:
    shuffled = random.Random(seed).sample(values, len(values))
    ranks = [shuffled[:cut], shuffled[cut:]]
    assert kto.reference_point([value for rank in ranks for value in rank]) == kto.reference_point(values)
    assert kto.reference_point(values) == pytest.approx(max(0.0, sum(values) / len(values)), abs=1e-12)


def test_mean_of_the_ranks_means_would_be_another_point() -> None:
    # (4 - 2 - 2 + 1) / 4 = .25; rank means 4 and -1 would give 1.5, and clamped ones (4 + 0) / 2 = 2.
    assert kto.reference_point([4.0, -2.0, -2.0, 1.0]) == 0.25


@pytest.mark.parametrize("values", [[], [0.1, math.nan], [math.inf], [0.1, -math.inf]])
def test_broken_log_ratio_leaves_no_trace(values: list[float]) -> None:
    # max(0.0, nan) is 0.0: the run would go on without a reference point.
    with pytest.raises(ValueError, match="finite log-ratios, at least one"):
        kto.reference_point(values)


def test_group_lends_its_completions_to_itself() -> None:
    # Two prompts with three completions each: a rotation by one would leave four of six with their own prompt.
    assert kto.mismatched(["a", "a", "a", "b", "b", "b"]) == [3, 4, 5, 0, 1, 2]
    assert kto.mismatched(["a", "b", "a", "b"]) == [1, 0, 3, 2]
    assert kto.mismatched([(1, 2), (3,), (4,)]) == [1, 2, 0]


@relaxed
@given(st.lists(st.integers(0, 4), min_size=2, max_size=24))
def test_sample_gets_a_completion_of_its_own_prompt(prompts: list[int]) -> None:
    if len(set(prompts)) == 1:
        return
    got = kto.mismatched(prompts)
    assert all(prompts[i] != prompts[j] for i, j in enumerate(got))
    used = Counter(got)
    if 2 * max(Counter(prompts).values()) <= len(prompts):
        assert sorted(got) == list(range(len(prompts)))
    else:  # the k others serve the m > n / 2 of the majority: no one of them more than once more than another
        majority = Counter(prompts).most_common(1)[0][0]
        shares = [used[j] for j, prompt in enumerate(prompts) if prompt != majority]
        assert max(shares) - min(shares) <= 1


def test_permutation_exists_and_is_not_found() -> None:
    # Every list of five prompts out of three, against a search over all permutations.
    for prompts in itertools.product("abc", repeat=5):
        exists = any(all(prompts[i] != prompts[j] for i, j in enumerate(order))
                     for order in itertools.permutations(range(5)))
        if exists:
            assert sorted(kto.mismatched(prompts)) == list(range(5))


@pytest.mark.parametrize("prompts", [[], ["a"], ["a"] * 4])
def test_one_prompt_is_paired_with_itself(prompts: list[str]) -> None:
    with pytest.raises(ValueError, match="at least two prompts"):
        kto.mismatched(prompts)


@pytest.mark.parametrize(("desirable", "undesirable", "weights", "ratio", "level"), [
    (10, 10, (1.0, 1.0), 1.0, True),
    (4, 3, (1.0, 1.0), 4 / 3, True),
    (3, 4, (1.0, 1.0), 0.75, False),
    (5, 3, (1.0, 1.0), 5 / 3, False),
    (10, 30, (3.0, 1.0), 1.0, True),
    (3, 1, (0.7, 2.1), 1.0, True),  # 0.7 x 3 = 2.0999999999999996
    (3, 0, (1.0, 1.0), math.inf, False),
    (0, 3, (1.0, 1.0), 0.0, False),
    (3, 3, (1.0, 0.0), math.inf, False)])
def test_balance_is_another(desirable: int, undesirable: int, weights: tuple[float, float], ratio: float,
                            level: bool) -> None:
    got = kto.balance(num_desirable=desirable, num_undesirable=undesirable, desirable_weight=weights[0],
                      undesirable_weight=weights[1])
    assert got == (pytest.approx(ratio), level)
