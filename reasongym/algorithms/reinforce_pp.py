"""REINFORCE++: Hu et al. 2025, arXiv 2501.03262, advantages of its equations 8 to 10.

    G_it = gamma^(n_i - t) r_i - sum over s >= t of gamma^(s - t) p_is         t counts the n_i trainable tokens of i
    A_it = (G_it - mean(G)) / std(G)                                  mean and std over all trainable tokens of the step
    l_it = -w_it * min(rho_it * A_it, clip(rho_it, 1 - clip_low, 1 + clip_high) * A_it)

p_it is beta times the KL estimate towards the reference: it comes off the reward of the token where it arises, and a
token answers for the drift of those after it.

Assumption: one std fits all prompts of the step. The prompts need not be in groups: one completion each will do.

Edge cases
- Returns that are all equal give exactly 0: all rewards equal, no penalty, gamma 1. So do rewards that are all 0 at any
  gamma. Below gamma 1, equal rewards above 0 leave a signal, as discounting means them to: a short way to the reward
  beats a long one.
- A single trainable token in the whole step: exactly 0. A row without one is in neither mean nor std.
- Long completions weigh more in mean and std than short ones, by their tokens.
- The advantages of a flat group are not 0: here a prompt answered right every time still beats the mean of the step.
- Positions outside the mask never matter (`returns`, `surrogate`).

Departures from the paper
1. std is the unbiased one, over n - 1 tokens, with no eps; the paper does not say which.
2. gamma, 1 in the paper, and two clip bounds (DAPO, arXiv 2503.14476).
3. w_it and the mean over tokens: the departures of `surrogate`.
"""

# Shapes: B rows (completions; of the step in `advantages`, of a micro-batch in `loss`), T token positions of a row.

from __future__ import annotations

from torch import Tensor

from reasongym.algorithms.about import About
from reasongym.algorithms.returns import discounted_returns, token_rewards_BT, whiten
from reasongym.algorithms.surrogate import TokenLoss, clipped_surrogate

__all__ = ["ABOUT", "advantages", "loss"]

ABOUT = About(
    title="REINFORCE++", paper="Hu et al. 2025, arXiv 2501.03262", kind="batch",
    advantage="return, whitened over the step", ratio="of each token", clip="1 - low .. 1 + high, equal in the paper",
    aggregation="token", kl="off; k1 in the reward in the paper")


def advantages(*, rewards_B: Tensor, groups_B: Tensor, penalty_BT: Tensor, mask_BT: Tensor, gamma: float) -> Tensor:
    """A_BT of the whole step, float64, 0 where masked. groups_B: not read, the same for every algorithm of the kind.

    penalty_BT: comes off the token's reward, coefficient included. Raises ValueError for a reward that is not finite.
    """
    rewards_BT = token_rewards_BT(rewards_B=rewards_B, penalty_BT=penalty_BT, mask_BT=mask_BT)
    returns_BT = discounted_returns(rewards_BT=rewards_BT, mask_BT=mask_BT, gamma=gamma)
    return whiten(values_BT=returns_BT, mask_BT=mask_BT, std="unbiased")


def loss(*, logprobs_BT: Tensor, old_logprobs_BT: Tensor, advantages_BT: Tensor, mask_BT: Tensor, weights_BT: Tensor,
         clip_low: float, clip_high: float) -> TokenLoss:
    """The clipped loss of every token, with gradient through `logprobs_BT` alone."""
    return clipped_surrogate(logprobs_BT=logprobs_BT, old_logprobs_BT=old_logprobs_BT, advantages_BT=advantages_BT,
                             mask_BT=mask_BT, weights_BT=weights_BT, clip_low=clip_low, clip_high=clip_high)
