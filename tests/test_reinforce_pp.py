"""REINFORCE++ and its variant with a baseline: whitened returns, scaled group differences, and what flat groups get."""

from __future__ import annotations

import math
from types import ModuleType

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from token_batches import POISON
from torch import Tensor

from reasongym.algorithms import reinforce_pp, reinforce_pp_baseline

pytestmark = pytest.mark.stack

BOTH = (reinforce_pp, reinforce_pp_baseline)
seeds = st.integers(0, 2**31)
gammas = st.sampled_from([0.5, 0.99, 1.0])
relaxed = settings(deadline=None, max_examples=40)


def named(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def step(rewards: list[float], groups: list[int], lengths: list[int]) -> dict[str, Tensor]:
    """Rows of the given lengths, without a penalty."""
    kept = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    return {"rewards_B": torch.tensor(rewards, dtype=torch.float64), "groups_B": torch.tensor(groups),
            "penalty_BT": torch.zeros(kept.shape, dtype=torch.float64), "mask_BT": kept}


def random_step(seed: int) -> dict[str, Tensor]:
    """In float64: ragged masks with holes (tool turns), some rows empty, groups in any order."""
    generator = torch.Generator().manual_seed(seed)
    rows, width = (int(torch.randint(1, 9, (), generator=generator)) for _ in range(2))
    return {"rewards_B": torch.randint(0, 3, (rows,), generator=generator).double() / 2,
            "groups_B": torch.randint(0, 3, (rows,), generator=generator),
            "penalty_BT": torch.randn(rows, width, generator=generator, dtype=torch.float64),
            "mask_BT": torch.rand(rows, width, generator=generator) < 0.6}


def returns_by_loops(data: dict[str, Tensor], rewards: list[float], gamma: float) -> list[float]:
    """Of every trainable token, row by row."""
    result = []
    for b, kept in enumerate(data["mask_BT"]):
        penalties = data["penalty_BT"][b, kept].tolist()
        for t in range(len(penalties)):
            later = sum(gamma**k * p for k, p in enumerate(penalties[t:]))
            result.append(gamma**(len(penalties) - 1 - t) * rewards[b] - later)
    return result


def test_returns_are_whitened_over_tokens_and_not_over_rows() -> None:
    # Tokens 1 1 1 0: mean 3/4, squares 3/16 + 9/16 = 3/4, over 3 is 1/4, std 1/2. Over rows it would be +-.707.
    got = reinforce_pp.advantages(**step([1, 0], [0, 0], [3, 1]), gamma=1.0)
    assert got.flatten().tolist() == pytest.approx([0.5, 0.5, 0.5, -1.5, 0, 0])


def test_a_token_answers_for_the_penalties_after_it() -> None:
    # Returns 3 - 1 - 1, 3 - 1 and, over a tool turn, 3 - 0: whitened -1, 0, 1.
    data = {"rewards_B": torch.tensor([3.0]), "groups_B": torch.tensor([0]),
            "penalty_BT": torch.tensor([[1.0, 1.0, 9.0, 0.0]]), "mask_BT": torch.tensor([[1, 1, 0, 1]]).bool()}
    assert reinforce_pp.advantages(**data, gamma=1.0)[0].tolist() == pytest.approx([-1, 0, 0, 1])


@relaxed
@given(seeds, gammas)
def test_reinforce_pp_agrees_with_loops(seed: int, gamma: float) -> None:
    data = random_step(seed)
    got = reinforce_pp.advantages(**data, gamma=gamma)[data["mask_BT"]].tolist()
    slow = returns_by_loops(data, data["rewards_B"].tolist(), gamma)
    if len(slow) > 1:
        mean = sum(slow) / len(slow)
        std = math.sqrt(sum((x - mean) ** 2 for x in slow) / (len(slow) - 1))
        assert got == pytest.approx([(x - mean) / std for x in slow], abs=1e-9)
    else:
        assert got == [0.0] * len(slow)


@relaxed
@given(seeds, gammas)
def test_baseline_variant_agrees_with_loops(seed: int, gamma: float) -> None:
    data = random_step(seed)
    rewards, groups, counted = data["rewards_B"].tolist(), data["groups_B"].tolist(), data["mask_BT"].any(-1).tolist()
    centred = []
    for reward, group in zip(rewards, groups, strict=True):
        peers = [r for r, g, c in zip(rewards, groups, counted, strict=True) if c and g == group]
        centred.append(reward - sum(peers) / max(len(peers), 1))
    slow = returns_by_loops(data, centred, gamma)
    root = math.sqrt(sum(x * x for x in slow) / max(len(slow), 1))
    got = reinforce_pp_baseline.advantages(**data, gamma=gamma)[data["mask_BT"]].tolist()
    assert got == pytest.approx([x / root for x in slow], abs=1e-9)


def test_flat_group_stays_at_zero_though_length_and_reward_go_together() -> None:
    # +.5 x 3, -.5 and a flat group: the mean over the tokens is 1/6, which whitening would take off the flat group too.
    data = step([1, 0, 1, 1], [0, 0, 1, 1], [3, 1, 1, 1])
    got = reinforce_pp_baseline.advantages(**data, gamma=1.0)
    root = math.sqrt(4 / 4 / 6)  # four squares of 1/4 over six tokens
    assert got[:2].flatten().tolist() == pytest.approx([0.5 / root] * 3 + [-0.5 / root, 0, 0])
    assert not got[2:].any()


def test_without_the_group_a_prompt_always_right_beats_the_mean_of_the_step() -> None:
    # Tokens 1 x 5 and 0: mean 5/6, squares 5/36 + 25/36 = 5/6, over 5 is 1/6: 1/6 x sqrt(6).
    got = reinforce_pp.advantages(**step([1, 0, 1, 1], [0, 0, 1, 1], [3, 1, 1, 1]), gamma=1.0)
    assert got[2:, 0].tolist() == pytest.approx([1 / math.sqrt(6)] * 2)


def test_scale_of_the_baseline_variant_does_not_explode_with_one_sided_lengths() -> None:
    # +.5 x 1000, -.5: about the mean of .499 the std is .032, and .5 / .032 = 16.
    got = reinforce_pp_baseline.advantages(**step([1, 0], [0, 0], [1000, 1]), gamma=1.0)
    assert got[got != 0].abs().tolist() == pytest.approx([1.0] * 1001)


@pytest.mark.parametrize("module", BOTH, ids=named)
def test_equal_rewards_give_exactly_zero(module: ModuleType) -> None:
    rewards = torch.full((7,), 0.7, dtype=torch.float32).tolist()
    data = step(rewards, [0, 0, 1, 1, 1, 1, 2], [1, 2, 3, 4, 5, 6, 0])
    assert not module.advantages(**data, gamma=1.0).any()


def test_below_gamma_one_equal_rewards_are_equal_for_the_group_and_not_for_the_return() -> None:
    data = step([0.7, 0.7], [0, 0], [1, 3])
    assert not reinforce_pp_baseline.advantages(**data, gamma=0.9).any()
    # A short way to the reward beats a long one; and without a reward there is nothing to discount.
    paid = reinforce_pp.advantages(**data, gamma=0.9)
    assert paid[0, 0] > paid[1, 0]
    assert not reinforce_pp.advantages(**step([0, 0], [0, 0], [1, 3]), gamma=0.9).any()


@pytest.mark.parametrize("module", BOTH, ids=named)
@pytest.mark.parametrize("lengths", [[0], [1], [0, 1, 0]])
def test_step_of_one_token_or_none_has_no_signal_and_no_error(module: ModuleType, lengths: list[int]) -> None:
    data = step([2.0] * len(lengths), [0] * len(lengths), lengths)
    assert not module.advantages(**data, gamma=1.0).any()


@pytest.mark.parametrize("module", BOTH, ids=named)
def test_rows_without_tokens_are_in_no_mean(module: ModuleType) -> None:
    expected = module.advantages(**step([1, 0], [0, 0], [2, 2]), gamma=1.0)
    for lost in (100.0, math.nan):
        got = module.advantages(**step([1, lost, 0], [0, 0, 0], [2, 0, 2]), gamma=1.0)
        assert torch.equal(got[[0, 2]], expected)
        assert not got[1].any()


@pytest.mark.parametrize("module", BOTH, ids=named)
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_reward_that_is_not_finite_is_refused(module: ModuleType, bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        module.advantages(**step([1, bad], [0, 0], [2, 2]), gamma=1.0)


@pytest.mark.parametrize("module", BOTH, ids=named)
@relaxed
@given(seed=seeds, poison=st.sampled_from(POISON), gamma=gammas)
def test_order_padding_and_what_is_masked_change_no_bit(module: ModuleType, seed: int, poison: float,
                                                        gamma: float) -> None:
    data = random_step(seed)
    order = torch.randperm(len(data["mask_BT"]), generator=torch.Generator().manual_seed(seed))
    kept = torch.nn.functional.pad(data["mask_BT"][order], (1, 2))
    penalty = torch.nn.functional.pad(data["penalty_BT"][order], (1, 2))
    moved = {"rewards_B": torch.where(kept.any(-1), data["rewards_B"][order], poison), "mask_BT": kept,
             "groups_B": data["groups_B"][order] + 5, "penalty_BT": torch.where(kept, penalty, poison)}
    expected = module.advantages(**data, gamma=gamma)
    assert expected.dtype == torch.float64
    assert torch.equal(module.advantages(**moved, gamma=gamma)[:, 1:-2], expected[order])
