"""One micro-batch's share of the loss of an optimizer step, and what is counted along the way."""

# Shapes: B completions, T tokens of a completion.

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from reasongym.algorithms import grpo
from reasongym.algorithms.aggregation import aggregate
from reasongym.algorithms.correction import MismatchSums, mismatch_statistics, mismatch_weights
from reasongym.algorithms.kl import kl_BT as kl_penalty
from reasongym.training.policy import PolicyOutput
from reasongym.training.tensors import Batch

__all__ = ["LossSettings", "MicroLoss", "micro_loss"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LossSettings:
    """The algorithm's constants, and the denominator of this optimizer step over all micro-batches and ranks."""

    clip_low: float
    clip_high: float
    aggregation: Literal["token", "sequence", "constant"]
    denominator: float
    kl_coefficient: float
    kl_estimator: Literal["k1", "k2", "k3"]
    correction: Literal["none", "token_truncate", "icepop", "sequence_mask"]
    correction_cap: float
    correction_floor: float


class MicroLoss(NamedTuple):
    """loss: scalar with gradient. The rest are sums over tokens, so that micro-batches and ranks add up."""

    loss: Tensor
    mismatch: MismatchSums
    num_clipped: float
    sum_entropy: float
    sum_kl: float


def micro_loss(batch: Batch, output: PolicyOutput, settings: LossSettings, *, old_logprobs_BT: Tensor | None,
               reference_logprobs_BT: Tensor | None) -> MicroLoss:
    """old_logprobs_BT: of the trainer's policy before this batch's first update; None on that first update, where they
    are the present ones. reference_logprobs_BT: of the reference policy, None without a KL term in the loss."""
    mask_BT = batch.trainable_BT
    old_BT = output.logprobs_BT.detach() if old_logprobs_BT is None else old_logprobs_BT
    correction = mismatch_weights(trainer_logprobs_BT=old_BT, engine_logprobs_BT=batch.engine_logprobs_BT,
                                  mask_BT=mask_BT, kind=settings.correction, cap=settings.correction_cap,
                                  floor=settings.correction_floor)
    found = grpo.loss(logprobs_BT=output.logprobs_BT, old_logprobs_BT=old_BT, advantages_B=batch.advantages_B,
                      mask_BT=mask_BT, weights_BT=correction.weights_BT, clip_low=settings.clip_low,
                      clip_high=settings.clip_high)
    loss_BT, sum_kl = found.loss_BT, 0.0
    if reference_logprobs_BT is not None:
        penalty_BT = kl_penalty(logprobs_BT=output.logprobs_BT, reference_logprobs_BT=reference_logprobs_BT,
                                mask_BT=mask_BT, estimator=settings.kl_estimator)
        loss_BT = loss_BT + settings.kl_coefficient * penalty_BT
        sum_kl = float(torch.where(mask_BT, penalty_BT.detach(), 0.0).sum())
    return MicroLoss(
        loss=aggregate(loss_BT, mask_BT, kind=settings.aggregation, denominator=settings.denominator),
        mismatch=mismatch_statistics(trainer_logprobs_BT=old_BT, engine_logprobs_BT=batch.engine_logprobs_BT,
                                     mask_BT=mask_BT, masked_BT=correction.masked_BT),
        num_clipped=float((found.clipped_BT & mask_BT).sum()),
        sum_entropy=float(torch.where(mask_BT, output.entropy_BT, 0.0).sum()), sum_kl=sum_kl)
