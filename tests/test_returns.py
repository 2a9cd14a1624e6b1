"""Token rewards, returns, GAE and whitening: their values, what lies under the mask, and what order may not change."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from token_batches import POISON
from torch import Tensor

from reasongym.algorithms.returns import (
    centred_rewards,
    discounted_returns,
    gae,
    token_rewards_BT,
    unit_scale,
    whiten,
)

pytestmark = pytest.mark.stack

seeds = st.integers(0, 2**31)
factors = st.sampled_from([0.0, 0.5, 0.95, 1.0])
relaxed = settings(deadline=None, max_examples=40)


def row(*values: float) -> Tensor:
    return torch.tensor([values], dtype=torch.float64)


def mask(*values: int) -> Tensor:
    return torch.tensor([values]).bool()


def advantages(rewards: Tensor, values: Tensor, gamma: float = 1.0, lam: float = 1.0,
               kept: Tensor | None = None) -> Tensor:
    kept = torch.ones_like(rewards).bool() if kept is None else kept
    return gae(rewards_BT=rewards, values_BT=values, mask_BT=kept, gamma=gamma, lam=lam)


def batch(seed: int) -> dict[str, Tensor]:
    """A random step in float64: ragged masks with holes (tool turns), some rows empty, some batches too."""
    generator = torch.Generator().manual_seed(seed)
    rows, width = (int(torch.randint(0, 8, (), generator=generator)) for _ in range(2))

    def noise(*size: int) -> Tensor:
        return torch.randn(*size, generator=generator, dtype=torch.float64)

    return {"rewards_B": noise(rows), "penalty_BT": noise(rows, width), "values_BT": noise(rows, width),
            "mask_BT": torch.rand(rows, width, generator=generator) < 0.6}


def results(data: dict[str, Tensor], gamma: float = 0.9, lam: float = 0.8) -> list[Tensor]:
    """All that this file is about, from one step."""
    kept = data["mask_BT"]
    tokens = token_rewards_BT(rewards_B=data["rewards_B"], penalty_BT=data["penalty_BT"], mask_BT=kept)
    credited = gae(rewards_BT=tokens, values_BT=data["values_BT"], mask_BT=kept, gamma=gamma, lam=lam)
    return [tokens, discounted_returns(rewards_BT=tokens, mask_BT=kept, gamma=gamma), credited,
            whiten(values_BT=credited, mask_BT=kept, std="unbiased"), unit_scale(values_BT=credited, mask_BT=kept)]


def poisoned(data: dict[str, Tensor], poison: float) -> dict[str, Tensor]:
    kept = data["mask_BT"]
    return {"mask_BT": kept, "rewards_B": torch.where(kept.any(-1), data["rewards_B"], poison),
            **{name: torch.where(kept, data[name], poison) for name in ("penalty_BT", "values_BT")}}


def test_reward_lies_on_the_last_trainable_token_and_penalties_on_all() -> None:
    tokens = token_rewards_BT(rewards_B=torch.tensor([2.0, 3.0, 4.0, 5.0]),
                              penalty_BT=torch.tensor([[0.1, 0.2, 0.3, 0.4]], dtype=torch.float64).expand(4, 4),
                              mask_BT=torch.tensor([[1, 1, 1, 1], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]).bool())
    # Nothing at all in the empty row: an index of its length less 1 would be -1, the last column.
    expected = [[-0.1, -0.2, -0.3, 2 - 0.4], [-0.1, 0, 3 - 0.3, 0], [0, 4 - 0.2, 0, 0], [0, 0, 0, 0]]
    torch.testing.assert_close(tokens, torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize(("reward", "penalty"), [(math.nan, 0.0), (math.inf, 0.0), (1.0, math.nan), (1.0, math.inf)])
def test_reward_or_penalty_that_is_not_finite_is_refused_before_it_spreads(reward: float, penalty: float) -> None:
    with pytest.raises(ValueError, match=r"finite.* row 1 of 2"):
        token_rewards_BT(rewards_B=torch.tensor([1.0, reward]), mask_BT=mask(1, 1).expand(2, 2),
                         penalty_BT=torch.tensor([[0.0, 0.0], [penalty, 0.0]]))


@pytest.mark.parametrize(("gamma", "expected"), [(1.0, [6, 5, 3]), (0.5, [2.75, 3.5, 3])])
def test_returns_of_three_rewards(gamma: float, expected: list[float]) -> None:
    # gamma .5: 3; 2 + 1.5; 1 + 1.75.
    returns = discounted_returns(rewards_BT=row(1, 2, 3), mask_BT=mask(1, 1, 1), gamma=gamma)
    assert returns[0].tolist() == expected


def test_returns_pass_over_a_tool_turn_without_reset_or_discount() -> None:
    # 2, halved for each trainable token before it. A reset at the turn gives 0 to the first two.
    returns = discounted_returns(rewards_BT=row(0, 0, 0, 0, 2), mask_BT=mask(1, 1, 0, 0, 1), gamma=0.5)
    assert returns[0].tolist() == [0.5, 1, 0, 0, 2]


@pytest.mark.parametrize(("gamma", "lam", "expected"), [
    (1.0, 1.0, [5.5, 4, 1.5]),  # returns 6, 5, 3 less the values
    (1.0, 0.5, [3.125, 3.25, 1.5]),  # d = 1.5, 2.5, 1.5; 2.5 + .75; 1.5 + 1.625
    (0.5, 1.0, [2.25, 2.5, 1.5])])  # d = 1, 1.75, 1.5; 1.75 + .75; 1 + 1.25
def test_gae_of_three_rewards(gamma: float, lam: float, expected: list[float]) -> None:
    values = row(0.5, 1, 1.5)
    got = advantages(row(1, 2, 3), values, gamma, lam)
    assert got[0].tolist() == expected
    returns = {(1.0, 1.0): [6, 5, 3], (1.0, 0.5): [3.625, 4.25, 3], (0.5, 1.0): [2.75, 3.5, 3]}[gamma, lam]
    assert (got + values)[0].tolist() == returns


def test_gae_carries_over_a_tool_turn_and_reads_no_value_there() -> None:
    # d = .1, .2, .6 of the values .1 .2 .4; .2 + .95 x .6 = .77; .1 + .95 x .77 = .8315.
    # With .9 .9 let in, the first token gets .825 (as it stands) or .7417 (values zeroed there, decay not).
    got = advantages(row(0, 0, 0, 0, 1), row(0.1, 0.2, 0.9, 0.9, 0.4), lam=0.95, kept=mask(1, 1, 0, 0, 1))
    assert got[0].tolist() == pytest.approx([0.8315, 0.77, 0, 0, 0.6], abs=1e-12)


@relaxed
@given(seeds, factors, factors)
def test_expanded_equals_compact(seed: int, gamma: float, lam: float) -> None:
    """A row with holes gets what the row of its trainable tokens alone gets, to the last bit."""
    data = batch(seed)
    expanded = results(data, gamma, lam)[:3]
    for b, kept in enumerate(data["mask_BT"]):
        alone = {"rewards_B": data["rewards_B"][b:b + 1], "mask_BT": kept[kept][None],
                 **{name: data[name][b:b + 1, kept] for name in ("penalty_BT", "values_BT")}}
        for whole, compact in zip(expanded, results(alone, gamma, lam), strict=False):
            assert torch.equal(whole[b, kept], compact[0])
            assert not whole[b, ~kept].any()


@relaxed
@given(seeds, factors, factors)
def test_returns_and_gae_agree_with_double_sums(seed: int, gamma: float, lam: float) -> None:
    data = batch(seed)
    tokens, returns, credited, _, _ = results(data, gamma, lam)
    for b, kept in enumerate(data["mask_BT"]):
        rewards = [-p for p in data["penalty_BT"][b, kept].tolist()]
        if rewards:
            rewards[-1] += data["rewards_B"][b].item()
        values = [*data["values_BT"][b, kept].tolist(), 0.0]
        deltas = [r + gamma * values[t + 1] - values[t] for t, r in enumerate(rewards)]
        assert tokens[b, kept].tolist() == pytest.approx(rewards, abs=1e-12)
        assert returns[b, kept].tolist() == pytest.approx(
            [sum(gamma**k * r for k, r in enumerate(rewards[t:])) for t in range(len(rewards))], abs=1e-9)
        assert credited[b, kept].tolist() == pytest.approx(
            [sum((gamma * lam)**k * d for k, d in enumerate(deltas[t:])) for t in range(len(rewards))], abs=1e-9)


@relaxed
@given(seeds, st.sampled_from(POISON))
def test_nothing_under_the_mask_matters(seed: int, poison: float) -> None:
    data = batch(seed)
    clean, kept = results(data), data["mask_BT"]
    for one, other in zip(clean, results(poisoned(data, poison)), strict=True):
        assert torch.equal(one, other)
    tokens = torch.where(kept, clean[0], poison)
    assert torch.equal(discounted_returns(rewards_BT=tokens, mask_BT=kept, gamma=0.9), clean[1])


@relaxed
@given(seeds, st.integers(0, 3), st.integers(0, 3))
def test_order_of_rows_and_padding_change_no_bit(seed: int, before: int, after: int) -> None:
    data = batch(seed)
    order = torch.randperm(len(data["mask_BT"]), generator=torch.Generator().manual_seed(seed))
    moved = {name: value[order] if name == "rewards_B" else
             torch.nn.functional.pad(value[order], (before, after), value=name != "mask_BT")
             for name, value in data.items()}
    width = data["mask_BT"].shape[1]
    for one, other in zip(results(data), results(moved), strict=True):
        assert torch.equal(one[order], other[:, before:before + width])


@pytest.mark.parametrize(("std", "spread"), [("unbiased", 1.0), ("biased", math.sqrt(2 / 3))])
def test_whitening_is_over_trainable_tokens_with_the_std_that_was_named(std: str, spread: float) -> None:
    # Squares about 2 sum to 2: over n - 1 = 2 that is 1, over n = 3 it is 2/3. 100 is masked.
    got = whiten(values_BT=row(1, 2, 3, 100), mask_BT=mask(1, 1, 1, 0), std=std)
    assert got[0].tolist() == pytest.approx([-1 / spread, 0, 1 / spread, 0])


def test_unit_scale_moves_nothing_off_zero_and_turns_no_sign() -> None:
    # Squares 9 + 1 + 0 + 1 + 9 over 5 trainable tokens: mean 4, root 2.
    got = unit_scale(values_BT=row(3, 1, 0, -1, 100, 3), mask_BT=mask(1, 1, 1, 1, 0, 1))
    assert got[0].tolist() == pytest.approx([1.5, 0.5, 0, -0.5, 0, 1.5])
    assert got[0, 2] == 0


@relaxed
@given(seeds, st.sampled_from(["unbiased", "biased"]))
def test_whitening_and_scaling_agree_with_loops(seed: int, std: str) -> None:
    data = batch(seed)
    values = data["values_BT"][data["mask_BT"]].tolist()
    whitened = whiten(values_BT=data["values_BT"], mask_BT=data["mask_BT"], std=std)[data["mask_BT"]].tolist()
    scaled = unit_scale(values_BT=data["values_BT"], mask_BT=data["mask_BT"])[data["mask_BT"]].tolist()
    if len(values) > 1:
        mean = sum(values) / len(values)
        spread = math.sqrt(sum((x - mean) ** 2 for x in values) / (len(values) - (std == "unbiased")))
        assert whitened == pytest.approx([(x - mean) / spread for x in values], abs=1e-9)
    if values:
        root = math.sqrt(sum(x * x for x in values) / len(values))
        assert scaled == pytest.approx([x / root for x in values], abs=1e-9)


@pytest.mark.parametrize("std", ["unbiased", "biased"])
@pytest.mark.parametrize("width", [0, 1, 7, 1000])
def test_equal_values_are_whitened_to_exactly_zero(width: int, std: str) -> None:
    # One value has no unbiased std (0 / 0), and the rounded mean of seven 0.7 is not 0.7.
    for value in (0.7, -1e300, 0.0):
        values = torch.full((1, width), value, dtype=torch.float64)
        assert not whiten(values_BT=values, mask_BT=torch.ones_like(values).bool(), std=std).any()


def test_tiny_differences_survive_squaring() -> None:
    tiny = whiten(values_BT=row(0, 1e-200), mask_BT=mask(1, 1), std="unbiased")
    assert tiny[0].tolist() == pytest.approx([-math.sqrt(0.5), math.sqrt(0.5)])  # -+d/2 over d/sqrt(2)
    assert unit_scale(values_BT=row(1e-200, -1e-200), mask_BT=mask(1, 1))[0].tolist() == [1, -1]
    assert unit_scale(values_BT=row(0, 0), mask_BT=mask(1, 1))[0].tolist() == [0, 0]


def test_flat_group_is_centred_to_exactly_zero_beside_others() -> None:
    # Groups 7 and 2, their rows mixed, and a row without tokens: its 100 is in no mean.
    rewards = torch.tensor([0.7, 1.0, 0.7, 0.0, 0.7, 100.0], dtype=torch.float32)
    kept = torch.tensor([[1], [1], [1], [1], [1], [0]]).bool()
    got = centred_rewards(rewards_B=rewards, groups_B=torch.tensor([7, 2, 7, 2, 7, 2]), mask_BT=kept)
    assert got.tolist() == [0, 0.5, 0, -0.5, 0, 0]
    assert got.dtype == torch.float64


def test_values_get_no_gradient_through_the_advantages() -> None:
    live = row(0.5, 1).requires_grad_()
    assert not advantages(row(0, 1), live).requires_grad
