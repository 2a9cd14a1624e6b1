"""REINFORCE with a baseline: Williams 1992, "Simple statistical gradient-following algorithms for connectionist
reinforcement learning", Machine Learning 8 (no arXiv id).

    c_i    = r_i - b,   b = 0 ("none"), the mean reward of the step ("batch") or of the completion's group ("group")
    A_it   = gamma^(n_i - t) c_i - sum over s >= t of gamma^(s - t) p_is       t counts the n_i trainable tokens of i
    rho_it = pi_theta(o_it) / pi_old(o_it)
    l_it   = -w_it * rho_it * A_it

On the first pass over a batch rho is 1 and the gradient is Williams', -A grad log pi, summed over a completion's tokens
by aggregation "constant". On later passes rho is the importance weight of the token; nothing bounds it, so several
passes are better served by an algorithm with a clip.

Assumption: each completion is sampled independently from pi_old, and whatever r_i holds comes after its last token.

Edge cases
- Equal rewards under "batch" or "group", without a penalty: exactly 0. Under "none" they do have a gradient: with all
  rewards 1, every sampled token gains, none relative to another in expectation, and the variance is all that is left.
- A row without a trainable token is in no mean and has no advantage.
- A group of one has advantage 0 under "group", a step of one completion under "batch".
- Positions outside the mask never matter (`returns`, `surrogate`).

Departures from the paper
1. The mean holds the completion's own reward, which scales the expected gradient by 1 - 1/n, n completions in the mean,
   and does not turn it; with the mean of the others it would be unscaled (`rloo`).
2. Discounting, and the penalty p_it off each token's reward (KL towards a reference), are later additions: gamma 1 and
   p = 0 for the paper's. The baseline comes off r_i and not off the return. Below gamma 1 that means: a result below
   the mean is better late than early.
3. w_it, the mean over tokens and the bound of log rho: the departures of `surrogate`.
"""

# Shapes: B rows (completions; of the step in `advantages`, of a micro-batch in `loss`), T token positions of a row.

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from reasongym.algorithms.about import About
from reasongym.algorithms.returns import centred_rewards, discounted_returns, token_rewards_BT
from reasongym.algorithms.surrogate import TokenLoss, importance_ratio, selected

__all__ = ["ABOUT", "advantages", "loss"]

ABOUT = About(
    title="REINFORCE", paper="Williams 1992", kind="batch",
    advantage="return of r - step mean, group mean or nothing", ratio="of each token; none in the paper", clip="none",
    aggregation="constant", kl="none")


def advantages(*, rewards_B: Tensor, groups_B: Tensor, penalty_BT: Tensor, mask_BT: Tensor,
               baseline: Literal["none", "batch", "group"], gamma: float) -> Tensor:
    """A_BT of the whole step, float64, 0 where masked. groups_B: which prompt a row answers, for "group".

    penalty_BT: comes off the token's reward, coefficient included. Raises ValueError for a reward that is not finite.
    """
    if baseline != "none":
        groups_B = groups_B if baseline == "group" else torch.zeros_like(groups_B)
        rewards_B = centred_rewards(rewards_B=rewards_B, groups_B=groups_B, mask_BT=mask_BT)
    rewards_BT = token_rewards_BT(rewards_B=rewards_B, penalty_BT=penalty_BT, mask_BT=mask_BT)
    return discounted_returns(rewards_BT=rewards_BT, mask_BT=mask_BT, gamma=gamma)


def loss(*, logprobs_BT: Tensor, old_logprobs_BT: Tensor, advantages_BT: Tensor, mask_BT: Tensor,
         weights_BT: Tensor) -> TokenLoss:
    """The loss of every token, with gradient through `logprobs_BT` alone; no token is ever clipped."""
    ratio_BT = importance_ratio(logprobs_BT=logprobs_BT, old_logprobs_BT=old_logprobs_BT, mask_BT=mask_BT)
    advantages_BT = selected(advantages_BT, mask_BT, dtype=ratio_BT.dtype)
    weights_BT = selected(weights_BT, mask_BT, dtype=ratio_BT.dtype)
    return TokenLoss(-weights_BT * advantages_BT * ratio_BT, torch.zeros_like(mask_BT), ratio_BT.detach())
