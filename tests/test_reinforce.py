"""REINFORCE's advantages and loss; what it shares with the others is in test_group_properties.py."""

from __future__ import annotations

import itertools
import math
from types import ModuleType

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from token_batches import POISON, random_batch
from torch import Tensor

from reasongym.algorithms import ppo, reinforce, reinforce_pp, reinforce_pp_baseline

pytestmark = pytest.mark.stack

BASELINES = ("none", "batch", "group")
seeds = st.integers(0, 2**31)
relaxed = settings(deadline=None, max_examples=40)


def step(seed: int) -> dict[str, Tensor]:
    """A random step in float64: ragged masks with holes (tool turns), some rows empty, groups in any order."""
    generator = torch.Generator().manual_seed(seed)
    rows, width = (int(torch.randint(1, 9, (), generator=generator)) for _ in range(2))
    return {"rewards_B": torch.randint(0, 3, (rows,), generator=generator).double() / 2,
            "groups_B": torch.randint(0, 3, (rows,), generator=generator),
            "penalty_BT": torch.randn(rows, width, generator=generator, dtype=torch.float64),
            "mask_BT": torch.rand(rows, width, generator=generator) < 0.6}


def simple(rewards: list[float], groups: list[int], baseline: str, gamma: float = 1.0,
           mask: list[list[int]] | None = None) -> list[list[float]]:
    kept = torch.tensor(mask or [[1, 1]] * len(rewards)).bool()
    return reinforce.advantages(rewards_B=torch.tensor(rewards), groups_B=torch.tensor(groups), mask_BT=kept,
                                penalty_BT=torch.zeros(kept.shape), baseline=baseline, gamma=gamma).tolist()


@pytest.mark.parametrize(("baseline", "expected"), [
    ("none", [1, 0, 3, 0]),
    ("batch", [0, -1, 2, -1]),  # mean 1
    ("group", [0.5, -0.5, 1.5, -1.5])])  # means .5 and 1.5
def test_baseline_is_the_mean_that_was_named(baseline: str, expected: list[float]) -> None:
    assert simple([1, 0, 3, 0], [5, 5, 8, 8], baseline) == [[x, x] for x in expected]


def test_penalty_of_later_tokens_is_on_earlier_ones_discounted() -> None:
    # Trainable 1st, 2nd and 4th: 2 - .4; -.2 + .8; -.1 + .3. A tool turn between does not discount.
    got = reinforce.advantages(rewards_B=torch.tensor([2.0]), groups_B=torch.tensor([0]), baseline="none", gamma=0.5,
                               penalty_BT=torch.tensor([[0.1, 0.2, 9, 0.4]]).double(),
                               mask_BT=torch.tensor([[1, 1, 0, 1]]).bool())
    assert got[0].tolist() == pytest.approx([0.2, 0.6, 0, 1.6])


@pytest.mark.parametrize("baseline", ["batch", "group"])
@pytest.mark.parametrize("gamma", [1.0, 0.9])
def test_equal_rewards_give_exactly_zero_whatever_the_lengths(baseline: str, gamma: float) -> None:
    ragged = [[1] * length + [0] * (7 - length) for length in range(7)]
    got = simple(torch.full((7,), 0.7, dtype=torch.float32).tolist(), [0, 0, 1, 1, 1, 1, 2], baseline, gamma, ragged)
    assert got == [[0.0] * 7] * 7


def test_without_a_baseline_equal_rewards_do_have_a_gradient() -> None:
    assert simple([1, 1], [0, 0], "none") == [[1, 1], [1, 1]]
    assert simple([1, 1], [0, 0], "none", 0.5) == [[0.5, 1], [0.5, 1]]


@pytest.mark.parametrize("baseline", BASELINES)
def test_row_without_tokens_is_in_no_mean(baseline: str) -> None:
    # Two rows of 1 and 0; counted in, a third of 100, or of NaN, would move the mean.
    for lost in (100.0, math.nan):
        got = simple([1, lost, 0], [0, 0, 0], baseline, mask=[[1, 1], [0, 0], [0, 1]])
        mean = 0 if baseline == "none" else 0.5
        assert got == [[1 - mean, 1 - mean], [0, 0], [0, -mean]]


def test_one_completion_is_its_own_mean() -> None:
    assert simple([3.5], [0], "batch") == [[0, 0]]
    assert simple([3.5, 1], [0, 1], "group") == [[0, 0], [0, 0]]


@pytest.mark.parametrize("baseline", BASELINES)
@pytest.mark.parametrize("bad", [math.nan, -math.inf])
def test_reward_that_is_not_finite_is_refused(baseline: str, bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        simple([1, bad], [0, 0], baseline)


@relaxed
@given(seeds, st.sampled_from(BASELINES), st.sampled_from([0.0, 0.5, 1.0]))
def test_advantages_agree_with_loops(seed: int, baseline: str, gamma: float) -> None:
    data = step(seed)
    got = reinforce.advantages(**data, baseline=baseline, gamma=gamma)
    rewards, groups, kept = data["rewards_B"].tolist(), data["groups_B"].tolist(), data["mask_BT"]
    for b, group in enumerate(groups):
        peers = [rewards[i] for i in range(len(rewards)) if kept[i].any() and baseline in ("batch", "group")
                 and (baseline == "batch" or groups[i] == group)]
        penalties = data["penalty_BT"][b, kept[b]].tolist()
        slow = [gamma**(len(penalties) - 1 - t) * (rewards[b] - sum(peers) / max(len(peers), 1))
                - sum(gamma**k * p for k, p in enumerate(penalties[t:])) for t in range(len(penalties))]
        assert got[b, kept[b]].tolist() == pytest.approx(slow, abs=1e-9)
        assert not got[b, ~kept[b]].any()


@relaxed
@given(seeds, st.sampled_from(BASELINES), st.sampled_from(POISON))
def test_order_padding_and_what_is_masked_change_no_bit(seed: int, baseline: str, poison: float) -> None:
    data = step(seed)
    order = torch.randperm(len(data["mask_BT"]), generator=torch.Generator().manual_seed(seed))
    kept = torch.nn.functional.pad(data["mask_BT"][order], (1, 2))
    penalty = torch.nn.functional.pad(data["penalty_BT"][order], (1, 2))
    moved = {"rewards_B": torch.where(kept.any(-1), data["rewards_B"][order], poison), "mask_BT": kept,
             "groups_B": data["groups_B"][order], "penalty_BT": torch.where(kept, penalty, poison)}
    expected = reinforce.advantages(**data, baseline=baseline, gamma=0.9)
    assert torch.equal(reinforce.advantages(**moved, baseline=baseline, gamma=0.9)[:, 1:-2], expected[order])


def test_mean_with_the_own_reward_scales_the_gradient_and_does_not_turn_it() -> None:
    # Three actions, two samples, all nine pairs: the expectation is a sum, and 1 - 1/n is 1/2.
    logits = torch.tensor([0.3, -0.5, 0.1], dtype=torch.float64)
    probabilities, rewards = torch.softmax(logits, 0), torch.tensor([1.0, 0.2, 0.6], dtype=torch.float64)
    scores = torch.eye(3, dtype=torch.float64) - probabilities  # row a: grad log pi(a)
    true = (probabilities * rewards) @ scores
    expected = torch.zeros(3, dtype=torch.float64)
    for pair in itertools.product(range(3), repeat=2):
        indices = list(pair)
        credited = torch.tensor(simple(rewards[indices].tolist(), [0, 0], "batch", mask=[[1]] * 2))
        expected += probabilities[indices].prod() * (credited * scores[indices]).mean(0)
    torch.testing.assert_close(expected, true / 2, rtol=0, atol=1e-7)


@relaxed
@given(seeds)
def test_loss_weighs_by_the_ratio_and_never_clips(seed: int) -> None:
    data = random_batch(seed)
    logprobs = data["logprobs_BT"].requires_grad_()
    got = reinforce.loss(**data)
    got.loss_BT.sum().backward()
    assert logprobs.grad is not None
    for b, kept in enumerate(data["mask_BT"].tolist()):
        for t, trainable in enumerate(kept):
            ratio = math.exp(logprobs[b, t].item() - data["old_logprobs_BT"][b, t].item())
            slow = -data["weights_BT"][b, t].item() * ratio * data["advantages_BT"][b, t].item() if trainable else 0.0
            assert got.loss_BT[b, t].item() == pytest.approx(slow, abs=1e-12)
            assert logprobs.grad[b, t].item() == pytest.approx(slow, abs=1e-12)  # the derivative of exp is exp
    assert not got.clipped_BT.any()


@pytest.mark.parametrize("module", [reinforce_pp, reinforce_pp_baseline, ppo])
def test_clip_goes_by_the_advantage_of_the_token_and_not_of_the_row(module: ModuleType) -> None:
    # One row with ratio 1.5 throughout: held at 1.28 where A > 0, pulled back where A < 0.
    ones = torch.ones(1, 3, dtype=torch.float64)
    got = module.loss(logprobs_BT=ones * math.log(1.5), old_logprobs_BT=0 * ones, mask_BT=ones.bool(), weights_BT=ones,
                      advantages_BT=torch.tensor([[2.0, -2.0, 0.0]]), clip_low=0.2, clip_high=0.28)
    assert got.loss_BT[0].tolist() == pytest.approx([-2.56, 3.0, 0.0])
    assert got.clipped_BT[0].tolist() == [True, False, False]
