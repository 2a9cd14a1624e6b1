"""Kahneman-Tversky optimization: Ethayarajh et al. 2024, arXiv 2402.01306, equations 7 and 8.

    r   = log pi_theta(o | q) - log pi_ref(o | q)                       summed over the completion's tokens
    z   = max(0, mean over i of [log pi_theta(o_m(i) | q_i) - log pi_ref(o_m(i) | q_i)])      m: `mismatched`
    l   = desirable_weight   (1 - sigmoid(beta (r - z)))                a wanted completion
        = undesirable_weight (1 - sigmoid(beta (z - r)))                an unwanted one

z is the point from which gains and losses are felt: the policy's KL from the reference, estimated on completions that
answer other prompts, and a constant of the step. A completion far on either side of it has no gradient left.

Assumption: single completions, each labelled wanted or not, in whatever numbers; labels need no pairs.

Edge cases
- z is one number of the whole step, from all samples on all ranks: a micro-batch or rank with a z of its own would
  change the loss by how the batch is cut.
- A mean that is negative gives z = 0: a KL never is.
- A completion without a trainable token has r = 0, a constant loss and no gradient; it counts in the mean over samples.
- Log-ratios of 1e4 give a loss of 0 or of the weight, and no gradient.
- A NaN among the log-ratios is refused: max(0.0, nan) is 0.0, and the run would go on without a reference point.

Departures from the paper
1. m: the paper's is i + 1, modulo the batch. With several completions of each prompt side by side that leaves most of
   them with their own prompt: `mismatched` rotates by whole prompts.
2. z is of the whole step, the paper's of a micro-batch.
3. The mean of the step is over all its samples, wanted and unwanted; `balance` says whether the weights level them.
"""

# Shapes: B rows (completions of a micro-batch), T token positions of a row. N samples of the whole step.

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from reasongym.algorithms.about import About
from reasongym.algorithms.preference import log_ratios

__all__ = ["ABOUT", "Balance", "LabelLoss", "balance", "loss", "mismatched", "reference_point"]

ABOUT = About(title="Kahneman-Tversky optimization", paper="Ethayarajh et al. 2024, arXiv 2402.01306", kind="labels",
              advantage="none: wanted or unwanted", ratio="whole completion to the reference", clip="sigmoid saturates",
              aggregation="mean over completions", kl="in the loss, by beta and reference point")


class LabelLoss(NamedTuple):
    """Both float64. loss_B: the step's loss is its mean over all samples of the step. reward_B: beta r, detached."""

    loss_B: Tensor
    reward_B: Tensor


class Balance(NamedTuple):
    """ratio: of the two sides' total weight; inf where the unwanted have none. level: within the paper's bounds."""

    ratio: float
    level: bool


def loss(*, logprobs_BT: Tensor, reference_logprobs_BT: Tensor, mask_BT: Tensor, desirable_B: Tensor,
         reference_point: float, beta: float, desirable_weight: float, undesirable_weight: float) -> LabelLoss:
    """The loss of every completion, with gradient through `logprobs_BT` alone. desirable_B: bool."""
    ratios_B = log_ratios(logprobs_BT=logprobs_BT, reference_logprobs_BT=reference_logprobs_BT, mask_BT=mask_BT)
    gain_B = torch.where(desirable_B, ratios_B - reference_point, reference_point - ratios_B)
    loss_B = torch.sigmoid(-beta * gain_B)  # 1 - sigmoid(x) rounds to 0 from x = 37 on
    # A tensor of the two weights would be float32, and 0.3 off by 1e-8.
    loss_B = torch.where(desirable_B, desirable_weight * loss_B, undesirable_weight * loss_B)
    return LabelLoss(loss_B, beta * ratios_B.detach())


def reference_point(log_ratios: Sequence[float]) -> float:
    """z, from the summed log-ratios of all N mismatched completions of the step; the same in any order."""
    num_finite = sum(math.isfinite(value) for value in log_ratios)
    if not log_ratios or num_finite < len(log_ratios):
        raise ValueError(f"the reference point needs finite log-ratios, at least one, got {num_finite} finite of "
                         f"{len(log_ratios)}: look for NaN in the weights of the policy or the reference")
    return max(0.0, math.fsum(log_ratios) / len(log_ratios))


def mismatched(prompts: Sequence[Hashable]) -> list[int]:
    """For each of N samples the index of the completion to put behind its prompt: always one of another prompt.

    A permutation, unless one prompt has more than half of the samples: then its completions cannot all be placed, and
    those of the others serve in turn. Raises ValueError where there is one prompt only.
    """
    counts = Counter(prompts)
    if len(counts) < 2:
        raise ValueError(f"a reference point needs completions of at least two prompts, got {len(prompts)} of "
                         f"{len(counts)}: put more prompts into a step")
    # Equal prompts side by side, the most frequent first. A shift by its count leaves every block, its own included.
    place = {prompt: rank for rank, (prompt, _) in enumerate(counts.most_common())}
    order = sorted(range(len(prompts)), key=lambda i: place[prompts[i]])
    shift, others = counts[prompts[order[0]]], len(prompts) - counts[prompts[order[0]]]
    result = [0] * len(prompts)
    for position, index in enumerate(order):
        target = shift + position % others if position < shift else (position + shift) % len(prompts)
        result[index] = order[target]
    return result


def balance(*, num_desirable: int, num_undesirable: int, desirable_weight: float, undesirable_weight: float) -> Balance:
    """desirable_weight num_desirable : undesirable_weight num_undesirable, which should lie in 1:1 to 4:3."""
    wanted, unwanted = desirable_weight * num_desirable, undesirable_weight * num_undesirable
    ratio = wanted / unwanted if unwanted else math.inf
    return Balance(ratio, 1 - 1e-9 <= ratio <= 4 / 3 + 1e-9)  # 0.7 x 3 is less than 2.1
