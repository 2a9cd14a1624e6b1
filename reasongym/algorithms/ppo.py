"""Proximal policy optimization with a critic: Schulman et al. 2017, arXiv 1707.06347, equation 7; its advantages are
those of Schulman et al. 2016, arXiv 1506.02438 (GAE).

    d_it = r_it + gamma V_i,t+1 - V_it            r_it: the reward at the last trainable token, less the penalty at each
    A_it = d_it + gamma lam A_i,t+1               R_it = A_it + V_it, the critic's target
    l_it = -w_it * min(rho_it * A_it, clip(rho_it, 1 - clip_low, 1 + clip_high) * A_it)
    v_it = 1/2 max((V - R)^2, (clip(V, V_old - value_clip, V_old + value_clip) - R)^2)

t + 1 is the next trainable token and V is 0 beyond the last one: see `returns`. Whitening, if asked for, is of A alone,
over the step. At gamma = lam = 1, A is the rewards to come less V.

Assumption: V of a token comes from what stands before it, as the critic saw it when the step began (V_old in the loss).

Edge cases
- Equal rewards need not give 0: a critic that is wrong is a signal. They do where it foretells them exactly (V = r at
  gamma 1), and, whitened at gamma = lam = 1, where it says the same everywhere.
- A row without a trainable token has no advantage, no return and no value loss.
- Positions outside the mask never matter, neither rewards, values nor log-probabilities.
- A value whose two squares are equal counts as not clipped.

Departures from the papers
1. Two clip bounds (DAPO, arXiv 2503.14476); the paper's is clip_low == clip_high.
2. The clip of the value is not in the paper, but in its authors' program; so is whitening, here with the unbiased std
   and no eps.
3. The answer cut off by a length limit ends like one that ended: nothing is bootstrapped from V there.
4. w_it, on the policy's loss alone, and the mean over tokens: the departures of `surrogate`.
"""

# Shapes: B rows (completions; of the step in `advantages`, of a micro-batch in the losses), T token positions of a row.

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from reasongym.algorithms import returns
from reasongym.algorithms.about import About
from reasongym.algorithms.surrogate import TokenLoss, clipped_surrogate, selected

__all__ = ["ABOUT", "Advantages", "ValueLoss", "advantages", "explained_variance", "loss", "value_loss"]

ABOUT = About(
    title="Proximal policy optimization", paper="Schulman et al. 2017, arXiv 1707.06347", kind="critic",
    advantage="GAE from a critic, whitened over the step", ratio="of each token",
    clip="1 - low .. 1 + high, equal in the paper; the value too", aggregation="token",
    kl="off; k1 in the reward, usually")


class Advantages(NamedTuple):
    """float64, 0 where masked. returns_BT: of the advantages before whitening."""

    advantages_BT: Tensor
    returns_BT: Tensor


class ValueLoss(NamedTuple):
    """loss_BT: 0 where masked. clipped_BT: the clip stops this token's gradient."""

    loss_BT: Tensor
    clipped_BT: Tensor


def advantages(*, rewards_B: Tensor, penalty_BT: Tensor, values_BT: Tensor, mask_BT: Tensor, gamma: float, lam: float,
               whiten: bool) -> Advantages:
    """Of the whole step. values_BT: V_old. Raises ValueError for a reward, penalty or value that is not finite."""
    rewards_BT = returns.token_rewards_BT(rewards_B=rewards_B, penalty_BT=penalty_BT, mask_BT=mask_BT)
    values_BT = selected(values_BT, mask_BT, dtype=torch.float64)
    if not values_BT.isfinite().all():
        raise ValueError(f"values must be finite, got {int((~values_BT.isfinite()).sum())} of {int(mask_BT.sum())} "
                         f"that are not: the critic has diverged; lower its learning rate")
    raw_BT = returns.gae(rewards_BT=rewards_BT, values_BT=values_BT, mask_BT=mask_BT, gamma=gamma, lam=lam)
    final_BT = returns.whiten(values_BT=raw_BT, mask_BT=mask_BT, std="unbiased") if whiten else raw_BT
    return Advantages(final_BT, raw_BT + values_BT)


def loss(*, logprobs_BT: Tensor, old_logprobs_BT: Tensor, advantages_BT: Tensor, mask_BT: Tensor, weights_BT: Tensor,
         clip_low: float, clip_high: float) -> TokenLoss:
    """The policy's clipped loss of every token, with gradient through `logprobs_BT` alone."""
    return clipped_surrogate(logprobs_BT=logprobs_BT, old_logprobs_BT=old_logprobs_BT, advantages_BT=advantages_BT,
                             mask_BT=mask_BT, weights_BT=weights_BT, clip_low=clip_low, clip_high=clip_high)


def value_loss(*, values_BT: Tensor, old_values_BT: Tensor, returns_BT: Tensor, mask_BT: Tensor,
               value_clip: float | None) -> ValueLoss:
    """The critic's loss of every token, with gradient through `values_BT` alone. value_clip: None is no bound."""
    values_BT = torch.where(mask_BT, values_BT, 0.0)
    old_values_BT = selected(old_values_BT, mask_BT, dtype=values_BT.dtype)
    returns_BT = selected(returns_BT, mask_BT, dtype=values_BT.dtype)
    free_BT = (values_BT - returns_BT).square() / 2
    if value_clip is None:
        return ValueLoss(free_BT, torch.zeros_like(mask_BT))
    held_BT = values_BT.clamp(old_values_BT - value_clip, old_values_BT + value_clip)
    bounded_BT = (held_BT - returns_BT).square() / 2
    clipped_BT = bounded_BT > free_BT
    return ValueLoss(torch.where(clipped_BT, bounded_BT, free_BT), clipped_BT)


def explained_variance(*, returns_BT: Tensor, values_BT: Tensor, mask_BT: Tensor) -> float:
    """1 - Var(R - V) / Var(R) over the trainable tokens; NaN where R varies by no more than rounding.

    Of a right answer A + V is 1 but for the last bits, and the variance of these would divide.
    """
    returns_N, values_N = returns_BT[mask_BT].double(), values_BT[mask_BT].double()
    if not len(returns_N) or returns_N.max() - returns_N.min() <= 1e-9 * returns_N.abs().max():
        return float("nan")
    return float(1 - (returns_N - values_N).var(correction=0) / returns_N.var(correction=0))
