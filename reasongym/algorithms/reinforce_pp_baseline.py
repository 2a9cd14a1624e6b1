"""REINFORCE++ with a baseline: Hu et al. 2025, arXiv 2501.03262 (later versions), where a prompt has several answers.

    c_i  = r_i - mean of the rewards of i's group
    G_it = gamma^(n_i - t) c_i - sum over s >= t of gamma^(s - t) p_is         t counts the n_i trainable tokens of i
    A_it = G_it / sqrt(mean(G^2))                                              over all trainable tokens of the step
    l_it = -w_it * min(rho_it * A_it, clip(rho_it, 1 - clip_low, 1 + clip_high) * A_it)

The group says what is better, the step says how much that is: unlike GRPO's, a group with one rare success is not blown
up by its own small std. The paper keeps KL in the loss here, with k2 as its estimator, so p is 0: see `kl`.

Assumption: the rewards of a group are of answers to one prompt, each sampled independently from the same policy.

Edge cases
- A flat group (max == min, exactly) has advantages of exactly 0, beside whatever other groups; so has a group of one.
  A step of flat groups has gradient 0, at any gamma.
- A row without a trainable token is in neither mean.
- Positions outside the mask never matter (`returns`, `surrogate`).

Departures from the paper
1. The paper whitens: (G - mean(G)) / std(G). Over completions that mean is 0 already; over tokens it is not, once
   length and reward go together. With rewards 1, 0 whose answers have 3 tokens and 1, the mean of .5 .5 .5 -.5 is .25,
   and subtracting it pushes every token of the flat groups beside them by -.25 / std: groups without information would
   teach that their answers are bad. So the group's mean stays the one baseline.
2. Then the scale is the root mean square about that baseline: |A| averages near 1 whatever the lengths. The std about
   the mean does not know the scale: with 1000 tokens and 1 for 3 and 1 it is .03, and every advantage +-16.
3. gamma, 1 in the paper, and two clip bounds (DAPO, arXiv 2503.14476). A penalty off the reward is possible.
4. w_it and the mean over tokens: the departures of `surrogate`.
"""

# Shapes: B rows (completions; of the step in `advantages`, of a micro-batch in `loss`), T token positions of a row.

from __future__ import annotations

from torch import Tensor

from reasongym.algorithms.about import About
from reasongym.algorithms.returns import centred_rewards, discounted_returns, token_rewards_BT, unit_scale
from reasongym.algorithms.surrogate import TokenLoss, clipped_surrogate

__all__ = ["ABOUT", "advantages", "loss"]

ABOUT = About(
    title="REINFORCE++ with a baseline", paper="Hu et al. 2025, arXiv 2501.03262", kind="batch",
    advantage="r - group mean, scaled over the step", ratio="of each token",
    clip="1 - low .. 1 + high, equal in the paper", aggregation="token", kl="off; k2 in the loss in the paper")


def advantages(*, rewards_B: Tensor, groups_B: Tensor, penalty_BT: Tensor, mask_BT: Tensor, gamma: float) -> Tensor:
    """A_BT of the whole step, float64, 0 where masked. groups_B: int64, which prompt a row answers.

    penalty_BT: comes off the token's reward, coefficient included. Raises ValueError for a reward that is not finite.
    """
    centred_B = centred_rewards(rewards_B=rewards_B, groups_B=groups_B, mask_BT=mask_BT)
    rewards_BT = token_rewards_BT(rewards_B=centred_B, penalty_BT=penalty_BT, mask_BT=mask_BT)
    returns_BT = discounted_returns(rewards_BT=rewards_BT, mask_BT=mask_BT, gamma=gamma)
    return unit_scale(values_BT=returns_BT, mask_BT=mask_BT)


def loss(*, logprobs_BT: Tensor, old_logprobs_BT: Tensor, advantages_BT: Tensor, mask_BT: Tensor, weights_BT: Tensor,
         clip_low: float, clip_high: float) -> TokenLoss:
    """The clipped loss of every token, with gradient through `logprobs_BT` alone."""
    return clipped_surrogate(logprobs_BT=logprobs_BT, old_logprobs_BT=old_logprobs_BT, advantages_BT=advantages_BT,
                             mask_BT=mask_BT, weights_BT=weights_BT, clip_low=clip_low, clip_high=clip_high)
