"""What holds for every algorithm whose loss weighs tokens by their advantage, whatever its formula.

Read from the registry, so that an algorithm is held to this by being in it; `KNOBS` gives each of its settings a value.
"""

from __future__ import annotations

import inspect
import math
import random
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from token_batches import POISON, TokenBatch, one_token_rows, padded, poisoned, random_batch
from torch import Tensor

from reasongym.algorithms import ALGORITHMS
from reasongym.algorithms.aggregation import aggregate, denominator
from reasongym.algorithms.surrogate import TokenLoss

pytestmark = pytest.mark.stack

KINDS = ("token", "sequence", "constant")
KNOBS = {"std": "unbiased", "clip_low": 0.2, "clip_high": 0.28, "dual_clip": 3.0, "cap": 0.28, "floor": 0.2,
         "cap_kind": "above_one"}
TENSORS = {"logprobs_BT", "old_logprobs_BT", "advantages_BT", "mask_BT", "weights_BT"}
GROUP = {name: module for name, module in ALGORITHMS.items() if module.ABOUT.kind == "group"}
WITH_ADVANTAGES = {name: module for name, module in ALGORITHMS.items()
                   if module.ABOUT.kind in {"group", "batch", "critic"}}
CLIPPED = [name for name, module in WITH_ADVANTAGES.items() if "clip_low" in inspect.signature(module.loss).parameters]
seeds = st.integers(0, 2**31)
names = st.sampled_from(sorted(WITH_ADVANTAGES))
every = pytest.mark.parametrize("name", sorted(WITH_ADVANTAGES))
every_group = pytest.mark.parametrize("name", sorted(GROUP))
relaxed = settings(deadline=None, max_examples=100)


def knobs(function: Callable[..., Any], besides: set[str]) -> dict[str, Any]:
    return {name: KNOBS[name] for name in inspect.signature(function).parameters if name not in besides}


def token_loss(module: ModuleType, batch: TokenBatch) -> TokenLoss:
    found: TokenLoss = module.loss(**batch, **knobs(module.loss, TENSORS))
    return found


def advantages(module: ModuleType, rewards: list[float]) -> list[float]:
    found: list[float] = module.advantages(rewards, **knobs(module.advantages, {"rewards_G"}))
    return found


def divisor_of(batch: TokenBatch, kind: str) -> float:
    mask_BT = batch["mask_BT"]
    return denominator(num_tokens=int(mask_BT.sum()), num_sequences=int(mask_BT.any(-1).sum()), kind=kind, constant=8)


def step_loss(module: ModuleType, batch: TokenBatch, kind: str, divisor: float | None = None) -> tuple[Tensor, Tensor]:
    """The share of the step's loss, and its gradient in the log-probabilities."""
    logprobs_BT = batch["logprobs_BT"].detach().clone().requires_grad_()
    found = token_loss(module, {**batch, "logprobs_BT": logprobs_BT})
    share = aggregate(found.loss_BT, batch["mask_BT"], kind=kind, denominator=divisor or divisor_of(batch, kind))
    share.backward()
    assert logprobs_BT.grad is not None
    return share.detach(), logprobs_BT.grad


def rows_of(batch: TokenBatch, index: Any) -> TokenBatch:
    return {name: value[index] for name, value in batch.items()}


def with_rewards(module: ModuleType, batch: TokenBatch, rewards: list[float]) -> TokenBatch:
    """The rows as one group."""
    advantages_B = torch.tensor(advantages(module, rewards), dtype=torch.float64)
    return {**batch, "advantages_BT": advantages_B[:, None].expand_as(batch["mask_BT"])}


def test_an_algorithm_outside_the_registry_is_held_to_nothing() -> None:
    assert {"grpo", "dr_grpo", "dapo", "gspo", "cispo", "rloo"} <= GROUP.keys()


@every
def test_an_algorithm_has_its_public_names(name: str) -> None:
    assert {"ABOUT", "advantages", "loss"} <= set(WITH_ADVANTAGES[name].__all__)
    assert set(inspect.signature(WITH_ADVANTAGES[name].loss).parameters) >= TENSORS


@relaxed
@given(names, seeds, st.sampled_from(KINDS), st.integers(1, 6), st.integers(0, 5), st.integers(0, 3))
def test_cutting_and_padding_a_batch_changes_neither_loss_nor_gradient(
        name: str, seed: int, kind: str, rows_each: int, right: int, left: int) -> None:
    module, batch = WITH_ADVANTAGES[name], random_batch(seed)
    divisor, width = divisor_of(batch, kind), batch["mask_BT"].shape[1]
    whole_loss, whole_gradient = step_loss(module, batch, kind)
    total, gradients = 0.0, []
    for start in range(0, len(batch["mask_BT"]), rows_each):
        part = padded(rows_of(batch, slice(start, start + rows_each)), left, right)
        share, gradient = step_loss(module, part, kind, divisor)
        total += share.item()
        gradients.append(gradient[:, left:left + width])
        assert gradient.count_nonzero() == gradients[-1].count_nonzero()
    assert total == pytest.approx(whole_loss.item(), abs=1e-12)
    torch.testing.assert_close(torch.cat(gradients), whole_gradient, rtol=0, atol=1e-13)


@relaxed
@given(names, seeds, st.sampled_from(POISON), st.sampled_from(KINDS))
def test_nothing_under_the_mask_matters(name: str, seed: int, poison: float, kind: str) -> None:
    module, clean = WITH_ADVANTAGES[name], random_batch(seed)
    dirty = poisoned(clean, poison)
    for one, other in zip(step_loss(module, clean, kind), step_loss(module, dirty, kind), strict=True):
        assert torch.equal(one, other)
    for one, other in zip(token_loss(module, clean), token_loss(module, dirty), strict=True):
        assert torch.equal(one, other)


@relaxed
@given(names, seeds)
def test_masked_tokens_have_loss_zero_and_ratio_one(name: str, seed: int) -> None:
    batch = random_batch(seed)
    found = token_loss(WITH_ADVANTAGES[name], batch)
    masked_BT = ~batch["mask_BT"]
    assert not found.loss_BT[masked_BT].any()
    assert not found.clipped_BT[masked_BT].any()
    assert (found.ratio_BT[masked_BT] == 1).all()
    assert not found.ratio_BT.requires_grad


@relaxed
@given(names, seeds)
def test_on_policy_gradient_is_reinforce_with_the_same_advantages(name: str, seed: int) -> None:
    batch = random_batch(seed)
    batch["old_logprobs_BT"] = batch["logprobs_BT"]
    _, gradient = step_loss(WITH_ADVANTAGES[name], batch, "token")
    # REINFORCE: minus the mean of w A log pi, whose gradient is -w A / n at each trainable token.
    reinforce_BT = -batch["weights_BT"] * batch["advantages_BT"] * batch["mask_BT"] / divisor_of(batch, "token")
    torch.testing.assert_close(gradient, reinforce_BT, rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", CLIPPED)
def test_clip_stops_the_gradient_of_what_has_moved_enough(name: str) -> None:
    batch = one_token_rows([1.5, 0.5, 1.1, 0.9, 0.5, 1.5], [1, -1, 1, -1, 1, -1])
    found = token_loss(WITH_ADVANTAGES[name], batch)
    _, gradient = step_loss(WITH_ADVANTAGES[name], batch, "constant", 1.0)
    assert found.clipped_BT.flatten().tolist() == [True, True, False, False, False, False]
    # -ratio A where it is not clipped: within the bounds, or moved the wrong way.
    assert gradient.flatten().tolist() == pytest.approx([0, 0, -1.1, 0.9, -0.5, 1.5])


@relaxed
@given(st.sampled_from(sorted(CLIPPED)), seeds)
def test_a_token_that_counts_as_clipped_has_no_gradient(name: str, seed: int) -> None:
    batch = random_batch(seed)
    _, gradient = step_loss(WITH_ADVANTAGES[name], batch, "token")
    stopped_BT = token_loss(WITH_ADVANTAGES[name], batch).clipped_BT
    assert not gradient[stopped_BT].any()
    assert gradient[batch["mask_BT"] & ~stopped_BT].all()


@every
def test_only_the_log_probabilities_learn(name: str) -> None:
    live = {key: value if key == "mask_BT" else value.requires_grad_() for key, value in random_batch(3).items()}
    token_loss(WITH_ADVANTAGES[name], live).loss_BT.sum().backward()
    assert [key for key, value in live.items() if value.grad is not None] == ["logprobs_BT"]


@every
@pytest.mark.parametrize("kind", KINDS)
def test_step_without_tokens_has_loss_zero_with_a_graph(name: str, kind: str) -> None:
    batch = random_batch(1, rows=3)
    batch["mask_BT"] = torch.zeros_like(batch["mask_BT"])
    share, gradient = step_loss(WITH_ADVANTAGES[name], batch, kind)
    assert share.item() == 0.0
    assert not gradient.any()


@relaxed
@given(names, seeds, st.sampled_from(KINDS))
def test_a_completion_that_is_masked_whole_is_as_if_absent(name: str, seed: int, kind: str) -> None:
    """A truncated answer that a run leaves out: it may keep its place in the group's mean, and has no other say."""
    module, batch = WITH_ADVANTAGES[name], random_batch(seed, rows=4)
    batch["mask_BT"][1] = False
    without = rows_of(batch, [0, 2, 3])
    (loss, gradient), (shorter_loss, shorter) = step_loss(module, batch, kind), step_loss(module, without, kind)
    assert loss.item() == pytest.approx(shorter_loss.item(), abs=1e-14)
    torch.testing.assert_close(gradient[[0, 2, 3]], shorter, rtol=0, atol=1e-14)
    assert not gradient[1].any()


@every_group
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("reward", "size"), [(0.7, 7), (0.9, 12), (0.3, 6), (0.1, 7), (0.7, 1)])
def test_equal_rewards_give_zero_gradient(name: str, kind: str, reward: float, size: int) -> None:
    module = GROUP[name]
    for rewards in ([reward] * size, torch.full((size,), reward, dtype=torch.float32).tolist()):
        assert advantages(module, rewards) == [0.0] * size
        share, gradient = step_loss(module, with_rewards(module, random_batch(3, rows=size), rewards), kind)
        assert share.item() == 0.0
        assert not gradient.any()


@relaxed
@given(st.sampled_from(sorted(GROUP)), seeds, st.lists(st.floats(-9, 9), min_size=1, max_size=12))
def test_order_inside_a_group_changes_nothing(name: str, seed: int, rewards: list[float]) -> None:
    module, batch = GROUP[name], random_batch(seed, rows=len(rewards))
    order = random.Random(seed).sample(range(len(rewards)), len(rewards))
    _, gradient = step_loss(module, with_rewards(module, batch, rewards), "token")
    _, moved = step_loss(module, with_rewards(module, rows_of(batch, order), [rewards[i] for i in order]), "token")
    assert torch.equal(gradient[order], moved)


@relaxed
@given(st.sampled_from(sorted(GROUP)), st.lists(st.floats(-9, 9).map(lambda x: round(x, 3)), max_size=12))
def test_better_than_the_group_is_positive_and_the_sum_is_zero(name: str, rewards: list[float]) -> None:
    found = advantages(GROUP[name], rewards)
    assert math.fsum(found) == pytest.approx(0, abs=1e-9)
    mean = math.fsum(rewards) / max(len(rewards), 1)
    assert all((advantage > 0) == (reward > mean) for advantage, reward in zip(found, rewards, strict=True)
               if abs(reward - mean) > 1e-9)


@every_group
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("rewards", [[1.0], []])
def test_reward_that_is_not_finite_is_refused(name: str, bad: float, rewards: list[float]) -> None:
    with pytest.raises(ValueError, match="finite"):
        advantages(GROUP[name], [*rewards, bad])


def test_about_tells_algorithms_apart() -> None:
    rows: Mapping[str, Any] = {name: module.ABOUT for name, module in WITH_ADVANTAGES.items()}
    assert all(all(row) for row in rows.values())
    assert len(set(rows.values())) == len({row.title for row in rows.values()}) == len(rows)
