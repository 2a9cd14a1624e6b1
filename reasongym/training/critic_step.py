"""PPO's critic: its optimizer steps on a batch, made or only begun while the policy makes its own."""

# Shapes: B completions of the step, T tokens of a completion.

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch

from reasongym.algorithms import ppo
from reasongym.algorithms.aggregation import denominator
from reasongym.config import RunConfig
from reasongym.config.policy_gradient import PpoConfig
from reasongym.training.advantages import Groups
from reasongym.training.critic import ValueSettings
from reasongym.training.group import Launched, RankGroup
from reasongym.training.optimize import check_finite, deal, scheduled_rate, split_groups
from reasongym.training.rows import MicroBatch, Sample
from reasongym.training.tensors import padded
from reasongym.training.zero_rank import StepTotals

__all__ = ["CriticUpdate", "begin_critic", "finish_critic", "improve_critic"]


class CriticUpdate(NamedTuple):
    """Optimizer steps of one batch that the critic's ranks are at."""

    launched: list[Launched]
    groups: Groups


def improve_critic(critic: RankGroup, config: RunConfig, groups: Groups, *, updates: int) -> dict[str, float]:
    """All of the critic's optimizer steps of one batch; `updates` were made before it. Returns its metrics.

    Mini-batches, epochs and the schedule are the policy's. Every sample counts: an advantage of 0 says that the policy
    has nothing to learn from it, not that the critic has not.
    """
    return _metrics([critic.scatter("train", step) for step in _steps(critic, config, groups, updates)], groups)


def begin_critic(critic: RankGroup, config: RunConfig, groups: Groups, *, updates: int) -> CriticUpdate:
    """Hand the ranks what `improve_critic` would and return at once."""
    return CriticUpdate([critic.launch("train", step) for step in _steps(critic, config, groups, updates)], groups)


def finish_critic(critic: RankGroup, update: CriticUpdate) -> dict[str, float]:
    """Wait for what was begun, each optimizer step with the group's deadline. Returns the metrics."""
    return _metrics([critic.collect(launched) for launched in update.launched], update.groups)


def _steps(critic: RankGroup, config: RunConfig, groups: Groups,
           updates: int) -> Iterator[list[tuple[list[MicroBatch], ValueSettings, float]]]:
    """Of each optimizer step, each rank's arguments."""
    algorithm = config.algorithm
    assert isinstance(algorithm, PpoConfig)
    minis = [deal(config, [s for group in part for s in group], critic.settings)
             for part in split_groups(groups, config.trainer.mini_batches)]
    for update, mini in enumerate(minis * config.trainer.epochs, start=updates + 1):
        if not mini.samples:
            continue
        rate = scheduled_rate(config, update, peak=algorithm.critic.learning_rate)
        loss = ValueSettings(value_clip=algorithm.value_clip, denominator=denominator(
            num_tokens=sum(s.num_trainable for s in mini.samples), num_sequences=len(mini.samples), kind="token",
            constant=None))
        yield [(micros, loss, rate) for micros in mini.ranks]


def _metrics(totals: Sequence[Sequence[StepTotals]], groups: Groups) -> dict[str, float]:
    """Of the optimizer steps that were made; nothing without any. Raises TrainerError where the critic is no longer
    finite."""
    if not totals:
        return {}
    flat = [rank for step in totals for rank in step]
    clipped, tokens = (sum(rank.sums.get(name, 0.0) for rank in flat) for name in ("clipped", "tokens"))
    metrics = {"critic/loss": sum(rank.loss for rank in flat) / len(totals),
               "critic/grad_norm": sum(step[0].grad_norm for step in totals) / len(totals),
               "critic/clip_share": clipped / max(tokens, 1.0),
               "critic/seconds": sum(max(rank.seconds for rank in step) for step in totals)}
    check_finite(metrics, prefix="critic/", rate_key="algorithm.critic.learning_rate")
    return metrics | _fit([s for group in groups for s in group])


def _fit(samples: Sequence[Sample]) -> dict[str, float]:
    """How well the critic foretold the step, before it learnt from it."""
    if not samples:
        return {}
    mask_BT = padded([s.mask for s in samples], dtype=torch.bool)
    values_BT, returns_BT = (padded([s.columns[name] for s in samples], dtype=torch.float64)
                             for name in ("old_values", "returns"))
    return {"critic/value_mean": float(values_BT[mask_BT].mean()),
            "critic/explained_variance": ppo.explained_variance(returns_BT=returns_BT, values_BT=values_BT,
                                                                mask_BT=mask_BT)}
