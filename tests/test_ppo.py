"""PPO's advantages and returns, and the critic's clipped loss; of the policy's, test_group_properties.py."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from token_batches import POISON
from torch import Tensor

from reasongym.algorithms import ppo

pytestmark = pytest.mark.stack

seeds = st.integers(0, 2**31)
relaxed = settings(deadline=None, max_examples=40)


def step(seed: int) -> dict[str, Tensor]:
    """A random step in float64: ragged masks with holes (tool turns), some rows empty."""
    generator = torch.Generator().manual_seed(seed)
    rows, width = (int(torch.randint(1, 9, (), generator=generator)) for _ in range(2))

    def noise(*size: int) -> Tensor:
        return torch.randn(*size, generator=generator, dtype=torch.float64)

    return {"rewards_B": noise(rows), "penalty_BT": noise(rows, width), "values_BT": noise(rows, width),
            "mask_BT": torch.rand(rows, width, generator=generator) < 0.6}


def critic_batch(seed: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shape = torch.randint(1, 9, (2,), generator=generator).tolist()
    noise = {name: torch.randn(*shape, generator=generator, dtype=torch.float64)
             for name in ("values_BT", "old_values_BT", "returns_BT")}
    return {**noise, "mask_BT": torch.rand(*shape, generator=generator) < 0.6}


def flat_step(rewards: list[float], values: list[list[float]], mask: list[list[int]]) -> dict[str, Tensor]:
    kept = torch.tensor(mask).bool()
    return {"rewards_B": torch.tensor(rewards, dtype=torch.float64), "penalty_BT": torch.zeros(kept.shape),
            "values_BT": torch.tensor(values, dtype=torch.float64), "mask_BT": kept}


def value_gradient(data: dict[str, Tensor], clip: float | None) -> Tensor:
    values = data["values_BT"].clone().requires_grad_()
    ppo.value_loss(**{**data, "values_BT": values}, value_clip=clip).loss_BT.sum().backward()
    assert values.grad is not None
    return values.grad


def one_value(value: float, old: float, target: float) -> dict[str, Tensor]:
    return {"values_BT": torch.tensor([[value]]), "old_values_BT": torch.tensor([[old]]),
            "returns_BT": torch.tensor([[target]]), "mask_BT": torch.ones(1, 1).bool()}


def test_returns_are_those_of_the_advantages_before_whitening() -> None:
    # Values .1 .2 .4 around a tool turn: d = .1, .2, .6; A = .8315, .77, .6; R = A + V.
    data = flat_step([1], [[0.1, 0.2, 0.9, 0.9, 0.4]], [[1, 1, 0, 0, 1]])
    raw = ppo.advantages(**data, gamma=1.0, lam=0.95, whiten=False)
    assert raw.advantages_BT[0].tolist() == pytest.approx([0.8315, 0.77, 0, 0, 0.6])
    assert raw.returns_BT[0].tolist() == pytest.approx([0.9315, 0.97, 0, 0, 1.0])
    white = ppo.advantages(**data, gamma=1.0, lam=0.95, whiten=True)
    assert torch.equal(white.returns_BT, raw.returns_BT)
    kept = white.advantages_BT[data["mask_BT"]]
    assert (kept.mean().item(), kept.std().item()) == pytest.approx((0.0, 1.0))


def test_penalty_is_in_advantage_and_return() -> None:
    # d: -.1 + .5 - .5 = -.1, and 1 - .2 - .5 = .3; A = -.1 + .3, .3; R = A + .5.
    data = flat_step([1], [[0.5, 0.5]], [[1, 1]]) | {"penalty_BT": torch.tensor([[0.1, 0.2]])}
    got = ppo.advantages(**data, gamma=1.0, lam=1.0, whiten=False)
    assert got.advantages_BT[0].tolist() == pytest.approx([0.2, 0.3])
    assert got.returns_BT[0].tolist() == pytest.approx([0.7, 0.8])


@pytest.mark.parametrize("lam", [0.0, 0.95, 1.0])
@pytest.mark.parametrize("whiten", [True, False])
def test_critic_that_foretells_equal_rewards_leaves_exactly_nothing(lam: float, whiten: bool) -> None:
    data = flat_step([0.7, 0.7, 0.7], [[0.7] * 3] * 3, [[1, 1, 1], [1, 0, 1], [0, 0, 0]])
    assert not ppo.advantages(**data, gamma=1.0, lam=lam, whiten=whiten).advantages_BT.any()


def test_equal_rewards_under_a_critic_that_says_the_same_everywhere_are_whitened_to_exactly_zero() -> None:
    data = flat_step([0.7, 0.7], [[0.1] * 3] * 2, [[1, 1, 1], [1, 0, 0]])
    assert not ppo.advantages(**data, gamma=1.0, lam=1.0, whiten=True).advantages_BT.any()
    # And not without whitening: the critic is wrong by .6 at every token.
    raw = ppo.advantages(**data, gamma=1.0, lam=1.0, whiten=False).advantages_BT
    assert raw.flatten().tolist() == pytest.approx([0.6] * 4 + [0, 0])


@relaxed
@given(seeds, st.sampled_from([0.5, 1.0]), st.sampled_from([0.0, 0.95, 1.0]))
def test_advantages_and_returns_agree_with_loops(seed: int, gamma: float, lam: float) -> None:
    data = step(seed)
    raw = ppo.advantages(**data, gamma=gamma, lam=lam, whiten=False)
    slow = []
    for b, kept in enumerate(data["mask_BT"]):
        values = data["values_BT"][b, kept].tolist()
        rewards = [-p for p in data["penalty_BT"][b, kept].tolist()]
        if rewards:
            rewards[-1] += data["rewards_B"][b].item()
        advantage, credited = 0.0, []
        for t in reversed(range(len(values))):
            delta = rewards[t] + gamma * (values[t + 1] if t + 1 < len(values) else 0.0) - values[t]
            advantage = delta + gamma * lam * advantage
            credited.insert(0, advantage)
        assert raw.advantages_BT[b, kept].tolist() == pytest.approx(credited, abs=1e-9)
        assert raw.returns_BT[b, kept].tolist() == pytest.approx(
            [a + v for a, v in zip(credited, values, strict=True)], abs=1e-9)
        slow += credited
    if len(slow) > 1:
        white = ppo.advantages(**data, gamma=gamma, lam=lam, whiten=True).advantages_BT[data["mask_BT"]].tolist()
        mean = sum(slow) / len(slow)
        std = math.sqrt(sum((x - mean) ** 2 for x in slow) / (len(slow) - 1))
        assert white == pytest.approx([(x - mean) / std for x in slow], abs=1e-8)


@relaxed
@given(seeds, st.sampled_from(POISON), st.booleans())
def test_order_padding_and_what_is_masked_change_no_bit(seed: int, poison: float, whiten: bool) -> None:
    data = step(seed)
    order = torch.randperm(len(data["mask_BT"]), generator=torch.Generator().manual_seed(seed))
    moved = {name: torch.nn.functional.pad(data[name][order], (1, 2)) for name in data if name != "rewards_B"}
    kept = moved["mask_BT"]
    moved |= {name: torch.where(kept, moved[name], poison) for name in ("penalty_BT", "values_BT")}
    moved["rewards_B"] = torch.where(kept.any(-1), data["rewards_B"][order], poison)
    expected = ppo.advantages(**data, gamma=0.9, lam=0.8, whiten=whiten)
    for one, other in zip(expected, ppo.advantages(**moved, gamma=0.9, lam=0.8, whiten=whiten), strict=True):
        assert torch.equal(one[order], other[:, 1:-2])


@pytest.mark.parametrize("mask", [[[0, 0]], [[1, 0]], [[0, 0], [0, 1]]])
def test_step_of_one_token_or_none_has_no_error(mask: list[list[int]]) -> None:
    data = flat_step([2.0] * len(mask), [[0.5, 0.5]] * len(mask), mask)
    white = ppo.advantages(**data, gamma=1.0, lam=1.0, whiten=True)
    assert not white.advantages_BT.any()
    assert torch.equal(white.returns_BT, torch.where(data["mask_BT"], 2.0, 0.0).double())


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_reward_or_value_that_is_not_finite_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="token rewards must be finite"):
        ppo.advantages(**flat_step([bad], [[0.5]], [[1]]), gamma=1.0, lam=1.0, whiten=True)
    with pytest.raises(ValueError, match="values must be finite, got 1 of 2"):
        ppo.advantages(**flat_step([1.0], [[bad, 0.5]], [[1, 1]]), gamma=1.0, lam=1.0, whiten=True)


@pytest.mark.parametrize(("clip", "expected"), [
    (0.5, 0.845),  # 1 is held at .7: (.7 - 2)^2 / 2, above (1 - 2)^2 / 2
    (0.2, 1.28),  # held at .4: 1.6^2 / 2
    (1.0, 0.5),  # .8 is within the clip
    (None, 0.5)])
def test_value_clip_is_a_distance_and_the_larger_square_counts(clip: float | None, expected: float) -> None:
    got = ppo.value_loss(**one_value(1.0, 0.2, 2.0), value_clip=clip)
    assert got.loss_BT.item() == pytest.approx(expected)
    assert got.clipped_BT.item() is (expected > 0.5)


@pytest.mark.parametrize(("value", "target", "stopped"), [
    (1.0, 2.0, True), (-1.0, -2.0, True),  # moved far enough towards the target
    (1.0, -2.0, False), (-1.0, 2.0, False),  # moved away from it: must come back
    (0.3, 2.0, False), (0.0, 2.0, False)])
def test_value_clip_stops_the_gradient_on_the_gaining_side_alone(value: float, target: float, stopped: bool) -> None:
    data = one_value(value, 0.0, target)
    assert value_gradient(data, 0.5).item() == pytest.approx(0.0 if stopped else value - target)
    assert ppo.value_loss(**data, value_clip=0.5).clipped_BT.item() is stopped


def test_value_with_two_equal_squares_keeps_its_whole_gradient() -> None:
    # 1 and, held, .5 are as far from .75: torch.maximum would halve the gradient of .25.
    assert value_gradient(one_value(1.0, 0.0, 0.75), 0.5).item() == 0.25


@relaxed
@given(seeds, st.sampled_from([0.2, 0.5, None]))
def test_value_loss_agrees_with_a_loop(seed: int, clip: float | None) -> None:
    data = critic_batch(seed)
    got = ppo.value_loss(**data, value_clip=clip)
    for b, kept in enumerate(data["mask_BT"].tolist()):
        for t, trainable in enumerate(kept):
            value, old, target = (data[name][b, t].item() for name in ("values_BT", "old_values_BT", "returns_BT"))
            held = value if clip is None else min(max(value, old - clip), old + clip)
            slow = max((value - target) ** 2, (held - target) ** 2) / 2 if trainable else 0.0
            assert got.loss_BT[b, t].item() == pytest.approx(slow, abs=1e-12)
            assert got.clipped_BT[b, t].item() is (trainable and (held - target) ** 2 > (value - target) ** 2)


@relaxed
@given(seeds, st.sampled_from(POISON), st.sampled_from([0.2, None]))
def test_nothing_under_the_mask_matters_to_the_critic(seed: int, poison: float, clip: float | None) -> None:
    data = critic_batch(seed)
    dirty = {name: value if name == "mask_BT" else torch.where(data["mask_BT"], value, poison)
             for name, value in data.items()}
    for one, other in zip(*(ppo.value_loss(**d, value_clip=clip) for d in (data, dirty)), strict=True):
        assert torch.equal(one, other)
    assert torch.equal(value_gradient(data, clip), value_gradient(dirty, clip))


def test_old_values_and_returns_get_no_gradient() -> None:
    # The first value is free; the second is held at old - .2 = .8, above its target, and stays there: though old comes
    # from the same graph, nothing flows back through it.
    values = torch.zeros(1, 2, requires_grad=True)
    target = torch.tensor([[3.0, -1.0]], requires_grad=True)
    ppo.value_loss(values_BT=values, old_values_BT=values + torch.tensor([[0.0, 1.0]]), returns_BT=target,
                   mask_BT=torch.ones(1, 2).bool(), value_clip=0.2).loss_BT.sum().backward()
    assert values.grad is not None
    assert values.grad[0].tolist() == [-3.0, 0.0]
    assert target.grad is None
