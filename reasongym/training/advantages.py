"""From rewards to a number a token: each algorithm's `advantages`, called in the way of its kind."""

# Shapes: B completions of the step, T tokens of a completion, G completions of one prompt.

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from reasongym.algorithms import ALGORITHMS
from reasongym.algorithms.group import is_flat
from reasongym.algorithms.kl import kl_BT
from reasongym.arrays import doubles
from reasongym.config.policy_gradient import DapoConfig, PolicyGradientConfig
from reasongym.training.rows import Sample
from reasongym.training.tensors import padded

__all__ = ["knobs", "shaped_rewards", "with_advantages"]

Groups = list[list[Sample]]
"""The samples of each prompt, in the order of the prompts."""


def knobs(function: Callable[..., Any], config: object) -> dict[str, Any]:
    """The arguments of an algorithm's function that the configuration sets: those that have a key's name."""
    return {name: getattr(config, name) for name in inspect.signature(function).parameters if hasattr(config, name)}


def shaped_rewards(config: PolicyGradientConfig, groups: Groups, rewards: Sequence[Sequence[float]], *,
                   max_new_tokens: int) -> list[list[float]]:
    """Rewards less what the algorithm takes off them: DAPO's penalty of answers that are nearly too long."""
    if not isinstance(config, DapoConfig) or config.overlong_buffer == 0:
        return [list(rewards_G) for rewards_G in rewards]
    buffer = config.overlong_buffer or max(1, max_new_tokens // 5)
    penalty = ALGORITHMS["dapo"].overlong_penalty
    return [[reward + penalty(len(sample.token_ids), max_new_tokens=max_new_tokens, overlong_buffer=buffer,
                              overlong_factor=config.overlong_factor)
             for reward, sample in zip(rewards_G, group, strict=True)]
            for rewards_G, group in zip(rewards, groups, strict=True)]


def with_advantages(config: PolicyGradientConfig, groups: Groups, rewards: Sequence[Sequence[float]], *,
                    kl_coefficient: float) -> Groups:
    """The samples with columns `advantages` and, under a critic, `returns`.

    kl_coefficient: of the KL term in the reward, 0 without one; its columns must have been measured. It makes no signal
    of its own in a group of equal rewards where the algorithm divides by the group's deviation: that would scale the
    smallest coefficient up to advantages of full size.
    """
    module = ALGORITHMS[config.name]
    chosen = knobs(module.advantages, config)
    if module.ABOUT.kind == "group":
        found = []
        for group, rewards_G in zip(groups, rewards, strict=True):
            values_G = module.advantages(_less_kl(config, group, rewards_G, kl_coefficient), **chosen)
            found.append([sample.with_columns(advantages=doubles([value]) * len(sample.token_ids))
                          for sample, value in zip(group, values_G, strict=True)])
        return found
    penalties = [_penalties(config, group, kl_coefficient) for group in groups]
    return _by_token(module, groups, rewards, penalties, chosen)


def _less_kl(config: PolicyGradientConfig, group: Sequence[Sample], rewards_G: Sequence[float],
             coefficient: float) -> list[float]:
    divides = getattr(config, "std", "none") != "none"
    if not _in_reward(config, coefficient) or (divides and is_flat(rewards_G)):
        return list(rewards_G)
    return [r - sum(t) for r, t in zip(rewards_G, _penalties(config, group, coefficient), strict=True)]


def _by_token(module: Any, groups: Groups, rewards: Sequence[Sequence[float]], penalties: Sequence[Any],
              chosen: dict[str, Any]) -> Groups:
    samples = [sample for group in groups for sample in group]
    if not samples:
        return groups
    tensors: dict[str, Tensor] = {
        "rewards_B": torch.tensor([r for rewards_G in rewards for r in rewards_G], dtype=torch.float64),
        "penalty_BT": padded([p for taken_off in penalties for p in taken_off], dtype=torch.float64),
        "mask_BT": padded([s.mask for s in samples], dtype=torch.bool)}
    if module.ABOUT.kind == "batch":
        numbers = [index for index, group in enumerate(groups) for _ in group]
        columns = {"advantages": module.advantages(**tensors, groups_B=torch.tensor(numbers), **chosen)}
    else:
        values_BT = padded([s.columns["old_values"] for s in samples], dtype=torch.float64)
        found = module.advantages(**tensors, values_BT=values_BT, **chosen)
        columns = {"advantages": found.advantages_BT, "returns": found.returns_BT}
    filled = iter([sample.with_columns(**{name: column_BT[index, :len(sample.token_ids)].tolist()
                                          for name, column_BT in columns.items()})
                   for index, sample in enumerate(samples)])
    return [[next(filled) for _ in group] for group in groups]


def _in_reward(config: PolicyGradientConfig, coefficient: float) -> bool:
    return coefficient != 0 and config.kl.place == "reward"


def _penalties(config: PolicyGradientConfig, group: Sequence[Sample], coefficient: float) -> list[list[float]]:
    """What the KL term takes off each token's reward; zeros where it is off or in the loss."""
    if not _in_reward(config, coefficient) or not group:
        return [[0.0] * len(sample.token_ids) for sample in group]
    old_BT, reference_BT = (padded([s.columns[name] for s in group], dtype=torch.float64)
                            for name in ("old_logprobs", "reference_logprobs"))
    penalty_BT = coefficient * kl_BT(logprobs_BT=old_BT, reference_logprobs_BT=reference_BT,
                                     mask_BT=padded([s.mask for s in group], dtype=torch.bool),
                                     estimator=config.kl.estimator)
    return [row_T[:len(sample.token_ids)].tolist() for row_T, sample in zip(penalty_BT, group, strict=True)]
