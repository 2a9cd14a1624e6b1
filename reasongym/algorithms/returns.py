"""From one reward a completion to what every token is credited with: token rewards, returns, GAE, whitening.

    r_it  = [t is the last trainable token of i] R_i - p_it
    G_it  = r_it + gamma G_i,t+1                                                            discounted return
    d_it  = r_it + gamma V_i,t+1 - V_it,   A_it = d_it + gamma lam A_i,t+1                  arXiv 1506.02438, GAE
    w(x)  = (x - mean(x)) / std(x)        u(x) = x / sqrt(mean(x^2))           over the trainable tokens of all rows

t + 1 is the next *trainable* token: what lies between, a tool's answer say, is carried over as if it were cut out. The
ordinary recursion runs through it and lets V there in: with mask 1 1 0 0 1, reward 1 at the end, V = .1 .2 .9 .9 .4,
gamma 1 and lam .95 the first token would get .825, where the three trainable tokens alone give .8315.

Assumption: a completion ends at its last trainable token: V is 0 beyond it, also where a length limit cut it off.

Edge cases
- A row without a trainable token has no last one: its reward goes nowhere and is in no mean.
- Values that are all equal are whitened to exactly 0, and so is a single one; u(0) is 0. There is no eps.
- The order of the rows and padding change nothing, to the last bit.
- Positions outside the mask never matter, whatever they hold, and come out as 0.
"""

# Shapes: B rows (completions of the step), T token positions of a row, N trainable tokens of all rows. All in float64.

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from reasongym.algorithms.group import centred
from reasongym.algorithms.surrogate import selected

__all__ = ["centred_rewards", "discounted_returns", "gae", "token_rewards_BT", "unit_scale", "whiten"]


def token_rewards_BT(*, rewards_B: Tensor, penalty_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """Minus the penalty at each trainable token, plus the row's reward at its last one.

    Raises ValueError where one of these is not finite: a single NaN would reach every token through the whitening.
    """
    num_left_BT = mask_BT.flip(-1).cumsum(-1).flip(-1)  # trainable tokens from here on
    last_BT = mask_BT & (num_left_BT == 1)
    penalty_BT = selected(penalty_BT, mask_BT, dtype=torch.float64)
    rewards_BT = torch.where(last_BT, rewards_B.double()[:, None], 0.0) - penalty_BT
    bad_B = ~rewards_BT.isfinite().all(-1)
    if bad_B.any():
        row = int(bad_B.nonzero()[0])
        raise ValueError(f"token rewards must be finite, got reward {float(rewards_B[row])} and penalties of sum "
                         f"{float(penalty_BT[row].sum())} in row {row} of {len(mask_BT)}: drop completions without a "
                         f"reward; where it is the penalty, the policy is far from its reference")
    return rewards_BT


def centred_rewards(*, rewards_B: Tensor, groups_B: Tensor, mask_BT: Tensor) -> Tensor:
    """Each reward less the mean of its group, over rows that have a trainable token; exactly 0 in a flat group.

    groups_B: int64, which group a row belongs to; any numbers. Raises ValueError for a reward that is not finite.
    """
    counted_B = mask_BT.any(-1)
    centred_B = torch.zeros_like(rewards_B, dtype=torch.float64)
    for group in set(groups_B[counted_B].tolist()):
        members_B = counted_B & (groups_B == group)
        centred_B[members_B] = centred_B.new_tensor(centred(rewards_B[members_B].tolist()))
    return centred_B


def discounted_returns(*, rewards_BT: Tensor, mask_BT: Tensor, gamma: float) -> Tensor:
    """G_BT: of what a token can still change, the rewards from it on."""
    nothing_BT = torch.zeros_like(rewards_BT)
    return gae(rewards_BT=rewards_BT, values_BT=nothing_BT, mask_BT=mask_BT, gamma=gamma, lam=1.0)  # G is A at V = 0


def gae(*, rewards_BT: Tensor, values_BT: Tensor, mask_BT: Tensor, gamma: float, lam: float) -> Tensor:
    """A_BT, not whitened. values_BT: the critic's, of each token before it was sampled; constants."""
    rewards_BT, values_BT = rewards_BT.double(), values_BT.detach().double()
    advantages_BT = torch.zeros_like(rewards_BT)
    next_value_B = next_advantage_B = rewards_BT.new_zeros(len(mask_BT))
    for t in reversed(range(mask_BT.shape[1])):
        delta_B = rewards_BT[:, t] + gamma * next_value_B - values_BT[:, t]
        advantages_BT[:, t] = delta_B + gamma * lam * next_advantage_B
        next_value_B = torch.where(mask_BT[:, t], values_BT[:, t], next_value_B)
        next_advantage_B = torch.where(mask_BT[:, t], advantages_BT[:, t], next_advantage_B)
    return torch.where(mask_BT, advantages_BT, 0.0)


def whiten(*, values_BT: Tensor, mask_BT: Tensor, std: Literal["unbiased", "biased"]) -> Tensor:
    """To mean 0 and std 1 over all trainable tokens; exactly 0 where these are all equal, or one."""
    values_N = _in_one_order(values_BT, mask_BT)
    if not len(values_N) or values_N[0] == values_N[-1]:
        return torch.zeros_like(values_BT, dtype=torch.float64)
    mean = values_N.mean()
    degrees = len(values_N) - 1 if std == "unbiased" else len(values_N)
    return torch.where(mask_BT, _over_root(values_BT.double() - mean, values_N - mean, degrees), 0.0)


def unit_scale(*, values_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """To mean square 1 over all trainable tokens, without a shift: 0 stays 0, and no sign changes."""
    values_N = _in_one_order(values_BT, mask_BT)
    if not values_N.any():
        return torch.zeros_like(values_BT, dtype=torch.float64)
    return torch.where(mask_BT, _over_root(values_BT.double(), values_N, len(values_N)), 0.0)


def _in_one_order(values_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """values_N: sums of floats depend on their order, which must not be that of the rows."""
    return values_BT[mask_BT].double().sort().values


def _over_root(values_BT: Tensor, values_N: Tensor, degrees: int) -> Tensor:
    """values_BT / sqrt(sum of values_N squared / degrees); scaled first, for 1e-200 would square to 0."""
    largest = values_N.abs().max()
    return values_BT / largest / ((values_N / largest).square().sum() / degrees).sqrt()
