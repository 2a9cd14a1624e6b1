"""One micro-batch's share of the loss of an optimizer step, and what is counted along the way."""

# Shapes: B completions, T tokens of a completion.

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from reasongym.algorithms import ALGORITHMS
from reasongym.algorithms.aggregation import aggregate
from reasongym.algorithms.correction import MismatchSums, mismatch_statistics, mismatch_weights
from reasongym.algorithms.kl import kl_BT as kl_penalty
from reasongym.training.policy import PolicyOutput
from reasongym.training.tensors import Batch

__all__ = ["LossSettings", "MicroLoss", "micro_loss"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LossSettings:
    """The algorithm and its constants, and the denominator of this optimizer step over all micro-batches and ranks.

    knobs: further arguments of the algorithm's `loss`. denominator: see `aggregation`; for pairs and labels their
    number. reference_point: KTO's z of this step.
    """

    algorithm: str
    denominator: float
    knobs: Mapping[str, Any] = field(default_factory=dict)
    aggregation: Literal["token", "sequence", "constant"] = "token"
    kl_coefficient: float = 0.0
    kl_estimator: Literal["k1", "k2", "k3", "k3+"] = "k3"
    entropy_coefficient: float = 0.0
    correction: Literal["none", "token_truncate", "icepop", "sequence_mask"] = "none"
    correction_cap: float = 2.0
    correction_floor: float = 0.5
    reference_point: float = 0.0


class MicroLoss(NamedTuple):
    """loss: scalar with gradient. sums: by name, of tokens, pairs or completions; micro-batches and ranks add up."""

    loss: Tensor
    sums: dict[str, float]
    mismatch: MismatchSums


def micro_loss(batch: Batch, output: PolicyOutput, settings: LossSettings) -> MicroLoss:
    """The share of one micro-batch, by what the algorithm learns from."""
    module = ALGORITHMS[settings.algorithm]
    shares = {"pairs": _pairs, "labels": _labels, "solutions": _solutions}
    found = shares.get(module.ABOUT.kind, _policy_gradient)(module, batch, output, settings)
    # ZeRO-3 records in which order a backward pass comes to the modules, by their outputs, and gathers in that order, a
    # collective: so every rank's share, of every kind and without samples too, is connected to both outputs.
    return found._replace(loss=found.loss + 0.0 * output.entropy_BT.sum())


def _policy_gradient(module: ModuleType, batch: Batch, output: PolicyOutput, settings: LossSettings) -> MicroLoss:
    """Without a column `old_logprobs` this is the first update on the batch, and the old policy is the present one."""
    mask_BT, columns = batch.trainable_BT, batch.columns
    if not columns:  # a rank without samples takes part in the others' collectives
        return _nothing(output)
    old_BT = columns.get("old_logprobs", output.logprobs_BT.detach())
    engine_BT = columns["engine_logprobs"]
    correction = mismatch_weights(trainer_logprobs_BT=old_BT, engine_logprobs_BT=engine_BT, mask_BT=mask_BT,
                                  kind=settings.correction, cap=settings.correction_cap,
                                  floor=settings.correction_floor)
    found = module.loss(logprobs_BT=output.logprobs_BT, old_logprobs_BT=old_BT, advantages_BT=columns["advantages"],
                        mask_BT=mask_BT, weights_BT=correction.weights_BT, **settings.knobs)
    loss_BT = found.loss_BT - settings.entropy_coefficient * output.entropy_BT
    sums = {"tokens": float(mask_BT.sum()), "clipped": float((found.clipped_BT & mask_BT).sum()),
            "entropy": _sum(output.entropy_BT, mask_BT)}
    if settings.kl_coefficient:
        penalty_BT = kl_penalty(logprobs_BT=output.logprobs_BT, reference_logprobs_BT=columns["reference_logprobs"],
                                mask_BT=mask_BT, estimator=settings.kl_estimator)
        loss_BT = loss_BT + settings.kl_coefficient * penalty_BT
        sums["kl"] = _sum(penalty_BT, mask_BT)
    return MicroLoss(
        loss=aggregate(loss_BT, mask_BT, kind=settings.aggregation, denominator=settings.denominator), sums=sums,
        mismatch=mismatch_statistics(trainer_logprobs_BT=old_BT, engine_logprobs_BT=engine_BT, mask_BT=mask_BT,
                                     masked_BT=correction.masked_BT))


def _pairs(module: ModuleType, batch: Batch, output: PolicyOutput, settings: LossSettings) -> MicroLoss:
    if not batch.columns:
        return _nothing(output)
    found = module.loss(logprobs_BT=output.logprobs_BT, reference_logprobs_BT=batch.columns["reference_logprobs"],
                        mask_BT=batch.trainable_BT, **settings.knobs)
    chosen_P, rejected_P = found.chosen_reward_P, found.rejected_reward_P
    sums = {"pairs": float(len(chosen_P)), "chosen_reward": float(chosen_P.sum()),
            "rejected_reward": float(rejected_P.sum()), "right_pairs": float((chosen_P > rejected_P).sum())}
    return _with_tokens(found.loss_P.sum() / settings.denominator, sums, batch, output)


def _labels(module: ModuleType, batch: Batch, output: PolicyOutput, settings: LossSettings) -> MicroLoss:
    if not batch.columns:
        return _nothing(output)
    found = module.loss(logprobs_BT=output.logprobs_BT, reference_logprobs_BT=batch.columns["reference_logprobs"],
                        mask_BT=batch.trainable_BT, desirable_B=batch.desirable_B,
                        reference_point=settings.reference_point, **settings.knobs)
    wanted_B = batch.desirable_B
    sums = {"desirable": float(wanted_B.sum()), "desirable_reward": float(found.reward_B[wanted_B].sum()),
            "undesirable": float((~wanted_B).sum()), "undesirable_reward": float(found.reward_B[~wanted_B].sum())}
    return _with_tokens(found.loss_B.sum() / settings.denominator, sums, batch, output)


def _solutions(module: ModuleType, batch: Batch, output: PolicyOutput, settings: LossSettings) -> MicroLoss:
    loss_BT = module.loss(logprobs_BT=output.logprobs_BT, mask_BT=batch.trainable_BT, **settings.knobs)
    share = aggregate(loss_BT, batch.trainable_BT, kind=settings.aggregation, denominator=settings.denominator)
    return _with_tokens(share, {}, batch, output)


def _with_tokens(loss: Tensor, sums: dict[str, float], batch: Batch, output: PolicyOutput) -> MicroLoss:
    tokens = {"tokens": float(batch.trainable_BT.sum()), "entropy": _sum(output.entropy_BT, batch.trainable_BT)}
    return MicroLoss(loss, sums | tokens, MismatchSums())


def _nothing(output: PolicyOutput) -> MicroLoss:
    """Exactly 0, connected to the model: its backward pass is a collective under ZeRO-3."""
    return MicroLoss(output.logprobs_BT.sum() * 0.0, {}, MismatchSums())


def _sum(values_BT: Tensor, mask_BT: Tensor) -> float:
    return float(torch.where(mask_BT, values_BT.detach(), 0.0).sum())
