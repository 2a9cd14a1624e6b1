"""From scored groups to optimizer steps on the ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from reasongym.algorithms import grpo
from reasongym.algorithms.aggregation import denominator
from reasongym.algorithms.correction import combine
from reasongym.config import RunConfig
from reasongym.errors import TrainerError, message
from reasongym.records import Group
from reasongym.training.group import RankGroup
from reasongym.training.rank import StepTotals
from reasongym.training.rows import MicroBatch, Sample, micro_batches, pack_rows, split_over_ranks
from reasongym.training.schedule import learning_rate
from reasongym.training.update import LossSettings

__all__ = ["optimize", "samples_of"]


class _MiniBatch(NamedTuple):
    """An optimizer step: each rank's micro-batches, and the counts that its loss divides by."""

    ranks: list[list[MicroBatch]]
    num_tokens: int
    num_sequences: int
    row_tokens: int


def samples_of(group: Group, *, std: Any) -> list[Sample]:
    """The group's rollouts with their advantages. A failed verifier's rollout, and one without a trainable token, is
    left out of the group and of its statistics."""
    rollouts = [r for r in group.valid if r.completion.num_trainable]
    advantages = grpo.advantages([r.reward for r in rollouts if r.reward is not None], std=std)
    return [Sample(prompt_ids=group.prompt.token_ids, token_ids=r.completion.token_ids, mask=r.completion.mask,
                   engine_logprobs=r.completion.logprobs, advantage=advantage)
            for r, advantage in zip(rollouts, advantages, strict=True)]


def optimize(ranks: RankGroup, config: RunConfig, groups: Sequence[Group], *, updates: int) -> dict[str, float]:
    """All optimizer steps of one batch of groups; `updates` were made before it. Returns the step's metrics."""
    size = len(groups) // config.trainer.mini_batches
    minis = [_mini_batch(config, groups[i * size:(i + 1) * size]) for i in range(config.trainer.mini_batches)]
    on_policy = len(minis) * config.trainer.epochs == 1
    old = [None if on_policy else ranks.scatter("logprobs", [(m,) for m in mini.ranks]) for mini in minis]
    totals, rate = [], 0.0
    for _ in range(config.trainer.epochs):
        for mini, old_logprobs in zip(minis, old, strict=True):
            updates += 1
            rate = _rate(config, updates)
            totals.append(ranks.scatter("train", [
                (micros, _loss_settings(config, mini), rate, None if old_logprobs is None else old_logprobs[index])
                for index, micros in enumerate(mini.ranks)]))
    metrics = _metrics(totals, minis, config.trainer.epochs) | {"train/learning_rate": rate}
    _check_finite(metrics)
    return metrics


def _check_finite(metrics: dict[str, float]) -> None:
    """Stop before weights that are not numbers reach the engines or a checkpoint."""
    wrong = {name: metrics[name] for name in ("train/loss", "train/grad_norm") if not math.isfinite(metrics[name])}
    if wrong:
        raise TrainerError(message("the update is not finite", expected="finite numbers",
                                   got=", ".join(f"{name} {value}" for name, value in wrong.items()),
                                   remedy="lower trainer.learning_rate and --resume: the last checkpoint is from "
                                   "before it"))


def _mini_batch(config: RunConfig, groups: Sequence[Group]) -> _MiniBatch:
    trainer = config.trainer
    samples = [s for group in groups for s in samples_of(group, std=config.algorithm.std)]
    # An advantage of exactly 0 has exactly no gradient, so such samples need no forward pass unless a KL term moves
    # them too; they stay in the denominator.
    moving = [s for s in samples if s.advantage != 0.0 or config.algorithm.kl.coefficient > 0]
    rows = pack_rows(moving, share_prompt=trainer.share_prompt, budget=trainer.micro_batch_tokens)
    batches = micro_batches(rows, budget=trainer.micro_batch_tokens)
    return _MiniBatch(split_over_ranks(batches, trainer.ranks), sum(sum(s.mask) for s in samples), len(samples),
                      sum(row.length for row in rows))


def _loss_settings(config: RunConfig, mini: _MiniBatch) -> LossSettings:
    a = config.algorithm
    constant = a.aggregation_constant or config.rollout.max_new_tokens
    return LossSettings(
        clip_low=a.clip_low, clip_high=a.clip_high, aggregation=a.aggregation,
        denominator=denominator(num_tokens=mini.num_tokens, num_sequences=mini.num_sequences, kind=a.aggregation,
                                constant=constant),
        kl_coefficient=a.kl.coefficient, kl_estimator=a.kl.estimator, correction=a.correction.kind,
        correction_cap=a.correction.cap, correction_floor=a.correction.floor)


def _rate(config: RunConfig, update: int) -> float:
    t = config.trainer
    return learning_rate(update, peak=t.learning_rate, steps=config.steps * t.mini_batches * t.epochs,
                         warmup_steps=t.warmup_steps, schedule=t.schedule, floor_ratio=t.min_learning_rate_ratio)


def _metrics(totals: Sequence[Sequence[StepTotals]], minis: Sequence[_MiniBatch], epochs: int) -> dict[str, float]:
    flat = [rank for step in totals for rank in step]
    mismatch = flat[0].mismatch
    for rank in flat[1:]:
        mismatch = combine(mismatch, rank.mismatch)
    seconds = sum(max(rank.seconds for rank in step) for step in totals)
    tokens = max(mismatch.num_tokens, 1.0)
    values = {
        "train/loss": sum(rank.loss for rank in flat) / len(totals),
        "train/grad_norm": sum(step[0].grad_norm for step in totals) / len(totals),
        "train/clip_share": sum(rank.num_clipped for rank in flat) / tokens,
        "train/entropy": sum(rank.sum_entropy for rank in flat) / tokens,
        "train/seconds": seconds,
        "train/tokens_per_second": epochs * sum(mini.row_tokens for mini in minis) / max(seconds, 1e-9),
    }
    if any(rank.sum_kl for rank in flat):
        values["train/kl"] = sum(rank.sum_kl for rank in flat) / tokens
    return values | mismatch.metrics()
