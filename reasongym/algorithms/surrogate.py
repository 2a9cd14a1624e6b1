"""What policy-gradient losses share: the ratio of the new policy to the old one, and PPO's clipped objective.

    rho_it = pi_theta(o_it | q, o_i<t) / pi_old(o_it | q, o_i<t)
    g_it   = min(rho_it * A_it, clip(rho_it, 1 - clip_low, 1 + clip_high) * A_it)
    l_it   = -w_it * g_it                           with a dual clip, where A_it < 0: -w_it * max(g_it, c * A_it)

Sources: Schulman et al. 2017, PPO, arXiv 1707.06347; two bounds, DAPO, arXiv 2503.14476; dual clip, Ye et al. 2020,
arXiv 1912.09729, with c > 1: min leaves the loss of a negative advantage without bound, as rho grows.

Assumption: both log-probabilities of the ratio are of the same temperature-scaled, uncut distribution.

Edge cases
- Positions outside the mask never matter, whatever they hold (1e4, inf, NaN): every input is selected before it is
  computed with, since NaN times a zero gradient is NaN.
- The first pass over a batch has rho 1 everywhere; the gradient is then that of -w_it A_it log pi(o_it), REINFORCE's.
- NaN at a trainable token passes through to the loss.

Departures
1. w_it multiplies the loss: the trainer/engine mismatch weights of `correction`, ones for the papers' losses.
2. No mean over tokens or completions here: `aggregation` does that, over the whole optimizer step. No KL: `kl` adds it.
3. log rho is held within +-80, just inside float32's exp. Beyond it exp is inf, and the gradient of a clipped token
   becomes 0 x inf = NaN. Ratios that far out mean broken inputs; they stay visible in `ratio_BT`.
"""

# Shapes: B rows (completions of a micro-batch), T token positions of a row.

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["MAX_LOG_RATIO", "TokenLoss", "clip_gain", "clipped_surrogate", "importance_ratio", "log_ratio",
           "selected"]

MAX_LOG_RATIO = 80.0


class TokenLoss(NamedTuple):
    """loss_BT: 0 where masked. clipped_BT: the clip stops this token's gradient. ratio_BT: detached, 1 where masked."""

    loss_BT: Tensor
    clipped_BT: Tensor
    ratio_BT: Tensor


def selected(values_BT: Tensor, mask_BT: Tensor, *, dtype: torch.dtype) -> Tensor:
    """A constant of the loss: detached, of `dtype`, 0 outside the mask."""
    return torch.where(mask_BT, values_BT.detach().to(dtype), 0.0)


def log_ratio(*, logprobs_BT: Tensor, old_logprobs_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """log rho, with gradient through `logprobs_BT` alone; 0 where masked. See departure 3."""
    old_BT = selected(old_logprobs_BT, mask_BT, dtype=logprobs_BT.dtype)
    return (torch.where(mask_BT, logprobs_BT, 0.0) - old_BT).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)


def importance_ratio(*, logprobs_BT: Tensor, old_logprobs_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """rho, with gradient through `logprobs_BT` alone; 1 where masked."""
    return log_ratio(logprobs_BT=logprobs_BT, old_logprobs_BT=old_logprobs_BT, mask_BT=mask_BT).exp()


def clipped_surrogate(*, logprobs_BT: Tensor, old_logprobs_BT: Tensor, advantages_BT: Tensor, mask_BT: Tensor,
                      weights_BT: Tensor, clip_low: float, clip_high: float,
                      dual_clip: float | None = None) -> TokenLoss:
    """The clipped loss of every token, with gradient through `logprobs_BT` alone.

    logprobs_BT, old_logprobs_BT: natural log. mask_BT: bool, True at trainable tokens. weights_BT: see departure 1.
    dual_clip: c, above 1; None leaves negative advantages without a bound.
    """
    ratio_BT = importance_ratio(logprobs_BT=logprobs_BT, old_logprobs_BT=old_logprobs_BT, mask_BT=mask_BT)
    return clip_gain(ratio_BT=ratio_BT, advantages_BT=advantages_BT, mask_BT=mask_BT, weights_BT=weights_BT,
                     clip_low=clip_low, clip_high=clip_high, dual_clip=dual_clip)


def clip_gain(*, ratio_BT: Tensor, advantages_BT: Tensor, mask_BT: Tensor, weights_BT: Tensor, clip_low: float,
              clip_high: float, dual_clip: float | None = None) -> TokenLoss:
    """The same from ratios, of tokens or of sequences, which have to be finite everywhere."""
    advantages_BT = selected(advantages_BT, mask_BT, dtype=ratio_BT.dtype)
    weights_BT = selected(weights_BT, mask_BT, dtype=ratio_BT.dtype)
    free_BT = ratio_BT * advantages_BT
    bounded_BT = ratio_BT.clamp(1 - clip_low, 1 + clip_high) * advantages_BT
    gain_BT, clipped_BT = torch.minimum(free_BT, bounded_BT), bounded_BT < free_BT
    if dual_clip is not None:
        floor_BT = dual_clip * advantages_BT
        below_BT = (advantages_BT < 0) & (gain_BT < floor_BT)
        gain_BT, clipped_BT = torch.where(below_BT, floor_BT, gain_BT), clipped_BT | below_BT
    return TokenLoss(-weights_BT * gain_BT, clipped_BT, ratio_BT.detach())
