"""Group relative policy optimization: Shao et al. 2024, DeepSeekMath, arXiv 2402.03300, equations 3 and 4.

    A_i    = (r_i - mean(r_1..r_G)) / std(r_1..r_G)                          every token of completion i
    rho_it = pi_theta(o_it | q, o_i<t) / pi_old(o_it | q, o_i<t)
    l_it   = -w_it * min(rho_it * A_i, clip(rho_it, 1 - clip_low, 1 + clip_high) * A_i)

Assumption: the G rewards are of answers to one prompt, each sampled independently from the same policy, and both
log-probabilities of the ratio are of the same temperature-scaled, uncut distribution.

Edge cases
- Rewards that are all equal (max == min, exactly) give advantages of exactly 0.0, and so does a group of one. An eps
  beside the std does not: seven rewards of 0.7 in float32 have a rounded std of 6e-8, and become 0.06 under eps 1e-6.
- Rewards that differ by rounding alone do differ: 0.1 + 0.2 against 0.3 is a full-sized signal. Whoever sums reward
  parts sums them in the same order for every completion.
- Positions outside the mask never matter, whatever they hold (1e4, inf, NaN).

Departures from the paper
1. Two clip bounds (DAPO, arXiv 2503.14476); the paper's is clip_low == clip_high.
2. std is "unbiased" (G - 1), "biased" (G) or "none" (centred only, arXiv 2503.20783); the paper does not say which.
3. w_it multiplies the loss: the trainer/engine mismatch weights of `correction`, ones for the paper's loss.
4. No mean over tokens or completions here: `aggregation` does that, over the whole optimizer step.
5. No KL term here: `kl` adds it.
6. log rho is held within +-80, just inside float32's exp. Beyond it exp is inf, and the gradient of a clipped token
   becomes 0 x inf = NaN. Ratios that far out mean broken inputs; they stay visible in `ratio_BT`.
"""

# Shapes: B rows (completions of a micro-batch), T token positions of a row, G completions of one prompt.

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

__all__ = ["TokenLoss", "advantages", "loss"]

MAX_LOG_RATIO = 80.0


class TokenLoss(NamedTuple):
    """loss_BT: 0 where masked. clipped_BT: the clip stops this token's gradient. ratio_BT: detached, 1 where masked."""

    loss_BT: Tensor
    clipped_BT: Tensor
    ratio_BT: Tensor


def advantages(rewards_G: Sequence[float], *, std: Literal["unbiased", "biased", "none"]) -> list[float]:
    """The advantages of one group, in its order, computed in float64 and independent of that order to the last bit.

    Raises ValueError for a reward that is not finite: a failed verifier has no reward and leaves its group before.
    """
    if not all(math.isfinite(reward) for reward in rewards_G):
        raise ValueError(f"rewards of a group must be finite, got {list(rewards_G)}: drop completions without a reward")
    if not rewards_G or max(rewards_G) == min(rewards_G):
        return [0.0] * len(rewards_G)
    mean = math.fsum(rewards_G) / len(rewards_G)
    centred_G = [reward - mean for reward in rewards_G]
    if std == "none":
        return centred_G
    # Scaled before squaring: rewards 1e-200 apart would square to 0, and 0 / 0 follow.
    largest = max(abs(value) for value in centred_G)
    scaled_G = [value / largest for value in centred_G]
    degrees = len(rewards_G) - 1 if std == "unbiased" else len(rewards_G)
    scaled_std = math.sqrt(math.fsum(value * value for value in scaled_G) / degrees)
    return [value / scaled_std for value in scaled_G]


def loss(*, logprobs_BT: Tensor, old_logprobs_BT: Tensor, advantages_B: Tensor, mask_BT: Tensor, weights_BT: Tensor,
         clip_low: float, clip_high: float) -> TokenLoss:
    """The clipped loss of every token, with gradient through `logprobs_BT` alone.

    logprobs_BT, old_logprobs_BT: natural log; equal on the first pass over a batch, where the gradient is REINFORCE's.
    mask_BT: bool, True at trainable tokens. weights_BT: see departure 3.
    """
    # Selected before any arithmetic: NaN under the mask times a zero gradient would still be NaN.
    logprobs_BT = torch.where(mask_BT, logprobs_BT, 0.0)
    old_logprobs_BT = torch.where(mask_BT, old_logprobs_BT.detach(), 0.0)
    weights_BT = torch.where(mask_BT, weights_BT.detach(), 0.0)
    advantages_BT = torch.where(mask_BT, advantages_B.detach().to(logprobs_BT.dtype)[:, None], 0.0)

    ratio_BT = (logprobs_BT - old_logprobs_BT).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).exp()
    free_BT = ratio_BT * advantages_BT
    clipped_BT = ratio_BT.clamp(1 - clip_low, 1 + clip_high) * advantages_BT
    return TokenLoss(-weights_BT * torch.minimum(free_BT, clipped_BT), clipped_BT < free_BT, ratio_BT.detach())
