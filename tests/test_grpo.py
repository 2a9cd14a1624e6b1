"""GRPO's advantages and clipped loss, and how token losses become the loss of an optimizer step."""

from __future__ import annotations

import math
import random

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from reasongym.algorithms import ALGORITHMS, grpo
from reasongym.algorithms.aggregation import aggregate, denominator

pytestmark = pytest.mark.stack

STDS = ("unbiased", "biased", "none")
KINDS = ("token", "sequence", "constant")
POISON = (1e4, -1e4, math.inf, -math.inf, math.nan)
seeds = st.integers(0, 2**31)
relaxed = settings(deadline=None, max_examples=40)


def column(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)[:, None]


def clipped_loss(ratios: list[float], advantages: list[float], low: float = 0.2, high: float = 0.2) -> grpo.TokenLoss:
    """One token a row, with the given ratios against old log-probabilities of -1."""
    ratio = column(*ratios)
    ones = torch.ones_like(ratio)
    return grpo.loss(logprobs_BT=ratio.log() - 1, old_logprobs_BT=-ones, advantages_B=torch.tensor(advantages).double(),
                     mask_BT=ones.bool(), weights_BT=ones, clip_low=low, clip_high=high)


def batch(seed: int, *, rows: int | None = None) -> dict[str, Tensor]:
    """A random micro-batch in float64: ragged masks with holes (tool turns), some rows empty."""
    generator = torch.Generator().manual_seed(seed)
    width = int(torch.randint(1, 9, (), generator=generator))
    shape = (rows or int(torch.randint(1, 7, (), generator=generator)), width)

    def noise(*size: int) -> Tensor:
        return torch.randn(*size, generator=generator, dtype=torch.float64)

    return {"logprobs_BT": -noise(*shape).abs(), "old_logprobs_BT": -noise(*shape).abs(),
            "advantages_B": noise(shape[0]), "weights_BT": noise(*shape).abs(),
            "mask_BT": torch.rand(*shape, generator=generator) < 0.6}


def step_loss(data: dict[str, Tensor], kind: str, divisor: float) -> tuple[Tensor, Tensor]:
    """The share of the step's loss, and its gradient in the log-probabilities."""
    logprobs = data["logprobs_BT"].clone().requires_grad_()
    tokens = grpo.loss(**{**data, "logprobs_BT": logprobs}, clip_low=0.2, clip_high=0.28)
    share = aggregate(tokens.loss_BT, data["mask_BT"], kind=kind, denominator=divisor)
    share.backward()
    assert logprobs.grad is not None
    return share.detach(), logprobs.grad


def divisor_of(data: dict[str, Tensor], kind: str) -> float:
    mask = data["mask_BT"]
    return denominator(num_tokens=int(mask.sum()), num_sequences=int(mask.any(-1).sum()), kind=kind, constant=8)


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


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_reward_that_is_not_finite_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        grpo.advantages([1.0, bad], std="none")


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


def test_clip_bounds_the_gain_only() -> None:
    # min(.5, .8), min(-1, -1), min(3, 1.2 x 2): mean (.5 - 1 + 2.4) / 3; with 1.28: 2.56 for 2.4.
    assert clipped_loss([0.5, 1, 1.5], [1, -1, 2]).loss_BT.mean().item() == pytest.approx(-1.9 / 3)
    assert clipped_loss([0.5, 1, 1.5], [1, -1, 2], high=0.28).loss_BT.mean().item() == pytest.approx(-2.06 / 3)


@pytest.mark.parametrize(("ratio", "advantage", "stopped"), [
    (1.5, 1.0, True), (0.5, -1.0, True),  # already moved the way it should
    (0.5, 1.0, False), (1.5, -1.0, False),  # moved the wrong way: must come back
    (1.19, 1.0, False), (0.81, -1.0, False), (1.5, 0.0, False)])
def test_clip_stops_the_gradient_on_the_gaining_side_alone(ratio: float, advantage: float, stopped: bool) -> None:
    logprobs = column(math.log(ratio)).requires_grad_()
    ones = torch.ones_like(logprobs)
    result = grpo.loss(logprobs_BT=logprobs, old_logprobs_BT=0 * ones, advantages_B=torch.tensor([advantage]),
                       mask_BT=ones.bool(), weights_BT=ones, clip_low=0.2, clip_high=0.2)
    result.loss_BT.sum().backward()
    assert logprobs.grad is not None
    # d/dx of -exp(x) A is -ratio A.
    assert logprobs.grad.item() == pytest.approx(0.0 if stopped else -ratio * advantage)
    assert result.clipped_BT.item() is stopped
    assert result.ratio_BT.item() == pytest.approx(ratio)
    assert not result.ratio_BT.requires_grad


def test_clipped_token_far_out_has_gradient_zero_and_not_nan() -> None:
    # exp(100) is inf in float32, and 0 x inf would poison every parameter.
    logprobs = torch.tensor([[0.0], [-100.0]], requires_grad=True)
    ones = torch.ones(2, 1)
    tokens = grpo.loss(logprobs_BT=logprobs, old_logprobs_BT=torch.tensor([[-100.0], [0.0]]), mask_BT=ones.bool(),
                       advantages_B=torch.tensor([1.0, -1.0]), weights_BT=ones, clip_low=0.2, clip_high=0.2)
    tokens.loss_BT.sum().backward()
    assert tokens.loss_BT.flatten().tolist() == pytest.approx([-1.2, 0.8])
    assert torch.equal(logprobs.grad, torch.zeros(2, 1))


@relaxed
@given(seeds)
def test_loss_agrees_with_a_loop_over_tokens(seed: int) -> None:
    data = batch(seed)
    got = grpo.loss(**data, clip_low=0.2, clip_high=0.28)
    for b in range(len(data["mask_BT"])):
        for t in range(data["mask_BT"].shape[1]):
            ratio = math.exp(data["logprobs_BT"][b, t] - data["old_logprobs_BT"][b, t])
            advantage = data["advantages_B"][b].item()
            objective = min(ratio * advantage, min(max(ratio, 0.8), 1.28) * advantage)
            expected = -data["weights_BT"][b, t].item() * objective if data["mask_BT"][b, t] else 0.0
            assert got.loss_BT[b, t].item() == pytest.approx(expected, abs=1e-12)


@relaxed
@given(seeds)
def test_on_policy_gradient_is_reinforce_with_the_same_advantages(seed: int) -> None:
    data = batch(seed)
    data["old_logprobs_BT"] = data["logprobs_BT"]
    _, gradient = step_loss(data, "token", divisor_of(data, "token"))
    # REINFORCE: minus the mean of w A log pi, whose gradient is -w A / n at each trainable token.
    reinforce = -data["weights_BT"] * data["advantages_B"][:, None] * data["mask_BT"] / divisor_of(data, "token")
    torch.testing.assert_close(gradient, reinforce, rtol=0, atol=1e-14)


def test_live_tensors_elsewhere_do_not_change_the_gradient() -> None:
    # Were old_logprobs differentiated too, the two gradients of an on-policy ratio would cancel to exactly 0.
    live = {name: value if name == "mask_BT" else value.requires_grad_() for name, value in batch(3).items()}
    live["old_logprobs_BT"] = live["logprobs_BT"]
    grpo.loss(**live, clip_low=0.2, clip_high=0.2).loss_BT.sum().backward()
    expected = -live["weights_BT"] * live["advantages_B"][:, None] * live["mask_BT"]
    torch.testing.assert_close(live["logprobs_BT"].grad, expected.detach())
    assert live["weights_BT"].grad is None
    assert live["advantages_B"].grad is None


@pytest.mark.parametrize("kind", KINDS)
def test_equal_rewards_give_zero_gradient(kind: str) -> None:
    data = batch(3, rows=7)
    data["advantages_B"] = torch.tensor(grpo.advantages([0.7] * 7, std="unbiased"))
    share, gradient = step_loss(data, kind, divisor_of(data, kind))
    assert share.item() == 0.0
    assert not gradient.any()


@relaxed
@given(seeds, st.sampled_from(POISON), st.sampled_from(KINDS))
def test_nothing_under_the_mask_matters(seed: int, poison: float, kind: str) -> None:
    data = batch(seed)
    clean = step_loss(data, kind, divisor_of(data, kind))
    dirty = {name: torch.where(data["mask_BT"], value, poison) if name.endswith("_BT") and name != "mask_BT" else value
             for name, value in data.items()}
    dirty["advantages_B"] = torch.where(data["mask_BT"].any(-1), data["advantages_B"], poison)
    for one, other in zip(clean, step_loss(dirty, kind, divisor_of(data, kind)), strict=True):
        assert torch.equal(one, other)
    for one, other in zip(*(grpo.loss(**d, clip_low=0.2, clip_high=0.28) for d in (data, dirty)), strict=True):
        assert torch.equal(one, other)


LOSSES = torch.tensor([[1.0, 2.0, 3.0, 4.0], [10.0, 0.0, 0.0, 0.0]])
LENGTHS_4_1 = torch.tensor([[1, 1, 1, 1], [1, 0, 0, 0]]).bool()


@pytest.mark.parametrize(("kind", "constant", "expected"), [
    ("token", None, 4.0),  # 20 / 5
    ("sequence", None, 6.25),  # (10/4 + 10/1) / 2
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


@pytest.mark.parametrize("kind", KINDS)
def test_step_without_tokens_has_loss_zero_with_a_graph(kind: str) -> None:
    data = batch(1, rows=3)
    data["mask_BT"] = torch.zeros_like(data["mask_BT"])
    share, gradient = step_loss(data, kind, denominator(num_tokens=0, num_sequences=0, kind=kind, constant=8))
    assert share.item() == 0.0
    assert not gradient.any()


@pytest.mark.parametrize("constant", [None, 0, -1])
def test_constant_without_a_constant_is_refused(constant: int | None) -> None:
    with pytest.raises(ValueError, match="constant"):
        denominator(num_tokens=1, num_sequences=1, kind="constant", constant=constant)


@relaxed
@given(seeds, st.sampled_from(KINDS), st.integers(1, 6), st.integers(0, 5))
def test_cutting_and_padding_a_batch_changes_neither_loss_nor_gradient(seed: int, kind: str, rows_each: int,
                                                                       pad: int) -> None:
    data = batch(seed)
    divisor = divisor_of(data, kind)
    whole_loss, whole_gradient = step_loss(data, kind, divisor)
    total, gradients = 0.0, []
    for start in range(0, len(data["mask_BT"]), rows_each):
        part = {name: value[start:start + rows_each] for name, value in data.items()}
        for name in ("logprobs_BT", "old_logprobs_BT", "weights_BT", "mask_BT"):  # padded with 1.0, masked
            part[name] = torch.nn.functional.pad(part[name], (0, pad), value=name != "mask_BT")
        share, gradient = step_loss(part, kind, divisor)
        total += share.item()
        gradients.append(gradient[:, :gradient.shape[1] - pad])
        assert not gradient[:, gradient.shape[1] - pad:].any()
    assert total == pytest.approx(whole_loss.item(), abs=1e-12)
    torch.testing.assert_close(torch.cat(gradients), whole_gradient, rtol=0, atol=1e-14)


@relaxed
@given(seeds, st.sampled_from(KINDS))
def test_aggregate_agrees_with_a_loop_over_sequences(seed: int, kind: str) -> None:
    data = batch(seed)
    losses, mask = data["logprobs_BT"], data["mask_BT"]
    sequences = [[x for x, keep in zip(row, kept, strict=True) if keep]
                 for row, kept in zip(losses.tolist(), mask.tolist(), strict=True)]
    filled = [s for s in sequences if s]
    per_row = [sum(s) / len(s) if kind == "sequence" else sum(s) for s in filled]
    divisor = {"token": sum(map(len, filled)), "sequence": len(filled), "constant": 8 * len(filled)}[kind]
    got = aggregate(losses, mask, kind=kind, denominator=divisor_of(data, kind))
    assert got.item() == pytest.approx(sum(per_row) / max(divisor, 1), abs=1e-12)


def test_every_algorithm_has_its_two_functions() -> None:
    for name, module in ALGORITHMS.items():
        assert {"advantages", "loss"} <= set(module.__all__), name
