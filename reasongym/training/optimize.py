"""From samples to optimizer steps on the ranks: mini-batches, denominators, epochs, what is reported."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from reasongym.algorithms import ALGORITHMS
from reasongym.algorithms.aggregation import denominator
from reasongym.algorithms.correction import combine
from reasongym.config import RunConfig
from reasongym.config.policy_gradient import PolicyGradientConfig
from reasongym.errors import TrainerError, message
from reasongym.training.advantages import Groups, knobs
from reasongym.training.experience import measured
from reasongym.training.group import RankGroup
from reasongym.training.rows import MicroBatch, Sample, batches_of, split_over_ranks
from reasongym.training.schedule import learning_rate
from reasongym.training.update import LossSettings
from reasongym.training.zero_rank import RankSettings, StepTotals

__all__ = ["MiniBatch", "check_finite", "deal", "optimize", "scheduled_rate", "split_groups", "update_count"]


class MiniBatch(NamedTuple):
    """An optimizer step: the micro-batches of each rank, or team of ranks, and the counts that its loss divides by."""

    ranks: list[list[MicroBatch]]
    samples: list[Sample]
    row_tokens: int


def optimize(ranks: RankGroup, config: RunConfig, groups: Groups, *, updates: int,
             reference_point: Callable[[Sequence[Sample]], float] | None = None) -> dict[str, float]:
    """All optimizer steps of one batch of samples, grouped by prompt; the schedule stands at `updates`.

    A mini-batch without a sample that moves the policy is no optimizer step: AdamW would move the weights by what it
    remembers of earlier gradients. The schedule goes on over it, so that it depends on the step of the run alone.
    reference_point: for KTO, of the samples of a mini-batch under the present policy. Returns the step's metrics.
    """
    parts = split_groups(groups, config.trainer.mini_batches)
    if isinstance(config.algorithm, PolicyGradientConfig):
        parts = [_ready(ranks, config, part) for part in parts]
    minis = [deal(config, [s for group in part for s in group if _moves(config, s)], ranks.settings) for part in parts]
    totals, moved, rate, point = [], list[MiniBatch](), 0.0, None
    for _ in range(config.trainer.epochs):
        for mini, part in zip(minis, parts, strict=True):
            updates += 1
            rate = scheduled_rate(config, updates, peak=config.trainer.learning_rate)
            if not mini.samples:
                continue
            point = reference_point(mini.samples) if reference_point else None
            loss = _loss_settings(config, [s for group in part for s in group], point or 0.0)
            totals.append(ranks.scatter("train", [(micros, loss, rate) for micros in mini.ranks]))
            moved.append(mini)
    metrics = _metrics(totals, moved) | {"train/learning_rate": rate, "train/optimizer_steps": float(len(moved))}
    if point is not None:
        metrics["train/reference_point"] = point
    check_finite(metrics)
    return metrics


def update_count(config: RunConfig) -> int:
    """Optimizer steps that one batch makes at most, by which the schedule goes on."""
    return config.trainer.mini_batches * config.trainer.epochs


def deal(config: RunConfig, samples: list[Sample], ranks: RankSettings) -> MiniBatch:
    """The micro-batches of a mini-batch, dealt to the ranks."""
    together = 2 if ALGORITHMS[config.algorithm.name].ABOUT.kind == "pairs" else 1
    batches = batches_of(samples, share_prompt=ranks.share_prompt, budget=config.trainer.micro_batch_tokens,
                         together=together)
    return MiniBatch(split_over_ranks(batches, ranks.teams), samples,
                     sum(row.length for batch in batches for row in batch.rows))


def check_finite(metrics: dict[str, float], prefix: str = "train/", *,
                 rate_key: str = "trainer.learning_rate") -> None:
    """Stop before weights that are not numbers reach the engines or a checkpoint."""
    names = (f"{prefix}loss", f"{prefix}grad_norm")
    wrong = {name: metrics[name] for name in names if not math.isfinite(metrics[name])}
    if wrong:
        raise TrainerError(message("the update is not finite", expected="finite numbers",
                                   got=", ".join(f"{name} {value}" for name, value in wrong.items()),
                                   remedy=f"lower {rate_key} and --resume: the last checkpoint is from before it"))


def split_groups(groups: Groups, count: int) -> list[Groups]:
    """Whole groups, in order, as evenly as their number allows."""
    bounds = [len(groups) * i // count for i in range(count + 1)]
    return [groups[a:b] for a, b in itertools.pairwise(bounds)]


def _ready(ranks: RankGroup, config: RunConfig, groups: Groups) -> Groups:
    """Samples that move the policy get the columns that the loss reads; the others stay, for the denominator."""
    algorithm = config.algorithm
    assert isinstance(algorithm, PolicyGradientConfig)
    moving = [[s for s in group if _moves(config, s)] for group in groups]
    still = [[s for s in group if not _moves(config, s)] for group in groups]
    first = next((s for group in moving for s in group), None)
    if first is not None and update_count(config) > 1 and "old_logprobs" not in first.columns:
        moving = measured(moving, "old_logprobs", ranks, "logprobs", config)
    if first is not None and algorithm.needs_reference and "reference_logprobs" not in first.columns:
        moving = measured(moving, "reference_logprobs", ranks, "reference_logprobs", config)
    return [a + b for a, b in zip(moving, still, strict=True)]


def _moves(config: RunConfig, sample: Sample) -> bool:
    """An advantage of exactly 0 has exactly no gradient, so such samples need no forward pass unless a KL or entropy
    term moves them too."""
    algorithm = config.algorithm
    if not isinstance(algorithm, PolicyGradientConfig):
        return True
    in_loss = algorithm.kl.coefficient > 0 and algorithm.kl.place == "loss"
    return in_loss or algorithm.entropy_coefficient > 0 or any(sample.columns["advantages"])


def _loss_settings(config: RunConfig, samples: Sequence[Sample], reference_point: float) -> LossSettings:
    a, module = config.algorithm, ALGORITHMS[config.algorithm.name]
    kind = module.ABOUT.kind
    common: dict[str, Any] = {"algorithm": a.name, "knobs": knobs(module.loss, a), "reference_point": reference_point}
    if kind in {"pairs", "labels"}:
        return LossSettings(denominator=max(1.0, len(samples) / (2 if kind == "pairs" else 1)), **common)
    aggregation: Any = getattr(a, "aggregation", "token")
    constant = getattr(a, "aggregation_constant", None) or config.rollout.max_new_tokens
    common |= {"aggregation": aggregation, "denominator": denominator(
        num_tokens=sum(s.num_trainable for s in samples), num_sequences=len(samples), kind=aggregation,
        constant=constant)}
    if not isinstance(a, PolicyGradientConfig):
        return LossSettings(**common)
    return LossSettings(kl_coefficient=a.kl.coefficient if a.kl.place == "loss" else 0.0,
                        kl_estimator=a.kl.estimator, entropy_coefficient=a.entropy_coefficient,
                        correction=a.correction.kind, correction_cap=a.correction.cap,
                        correction_floor=a.correction.floor, **common)


def scheduled_rate(config: RunConfig, update: int, *, peak: float) -> float:
    """The learning rate of optimizer step `update` (1-based) of the run, on the schedule that all models share."""
    t = config.trainer
    return learning_rate(update, peak=peak, steps=config.steps * update_count(config),
                         warmup_steps=t.warmup_steps, schedule=t.schedule, floor_ratio=t.min_learning_rate_ratio)


def _metrics(totals: Sequence[Sequence[StepTotals]], minis: Sequence[MiniBatch]) -> dict[str, float]:
    """Of the optimizer steps that were made, each with its mini-batch. Without any, loss and gradient are exactly 0."""
    if not totals:
        return {"train/loss": 0.0, "train/grad_norm": 0.0, "train/seconds": 0.0}
    flat = [rank for step in totals for rank in step]
    mismatch, sums = flat[0].mismatch, dict[str, float]()
    for rank in flat[1:]:
        mismatch = combine(mismatch, rank.mismatch)
    for rank in flat:
        for name, value in rank.sums.items():
            sums[name] = sums.get(name, 0.0) + value
    seconds = sum(max(rank.seconds for rank in step) for step in totals)
    values = {
        "train/loss": sum(rank.loss for rank in flat) / len(totals),
        "train/grad_norm": sum(step[0].grad_norm for step in totals) / len(totals),
        "train/seconds": seconds,
        "train/tokens_per_second": sum(mini.row_tokens for mini in minis) / max(seconds, 1e-9),
    }
    return values | _means(sums) | mismatch.metrics()


def _means(sums: dict[str, float]) -> dict[str, float]:
    """What the ranks counted, a token, a pair or a completion; nothing where nothing was counted."""
    of_what = {"train/clip_share": ("clipped", "tokens"), "train/entropy": ("entropy", "tokens"),
               "train/kl": ("kl", "tokens"), "train/reward_chosen": ("chosen_reward", "pairs"),
               "train/reward_rejected": ("rejected_reward", "pairs"), "train/pair_accuracy": ("right_pairs", "pairs"),
               "train/reward_desirable": ("desirable_reward", "desirable"),
               "train/reward_undesirable": ("undesirable_reward", "undesirable")}
    return {metric: sums[part] / sums[whole] for metric, (part, whole) in of_what.items()
            if part in sums and sums.get(whole)}
