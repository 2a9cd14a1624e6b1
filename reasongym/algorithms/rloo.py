"""REINFORCE leave-one-out: Ahmadian et al. 2024, "Back to Basics", arXiv 2402.14740; the baseline is Kool et al. 2019.

    A_i    = r_i - mean of the other rewards = (r_i - mean(r_1..r_G)) * G / (G - 1)      every token of completion i
    rho_it = pi_theta(o_it | q, o_i<t) / pi_old(o_it | q, o_i<t)
    l_it   = -w_it * min(rho_it * A_i, clip(rho_it, 1 - clip_low, 1 + clip_high) * A_i)

Assumption: the G answers are sampled independently, so that the others' mean is a baseline without bias.

Edge cases: rewards that are all equal, exactly, give advantages of exactly 0.0 (`group`). Positions outside the mask
never matter (`surrogate`).

Departures from the paper
1. The paper takes the completion for one action: its gradient is A_i grad log pi(o_i), a sum over tokens. On the first
   pass aggregation "constant" is that, divided by the constant; "token" divides by tokens, and "sequence" by each
   completion's own, which is another objective.
2. Beyond the first pass the loss is PPO's by token; the paper takes one step a batch and has neither ratio nor clip.
3. A group of one has advantage 0: no other answer, no comparison. Some trainers pass the raw reward on.
4. KL, if any, is in the loss, by `kl`, or in the reward by whoever makes it; the paper has it in the reward.
5. w_it and the mean over tokens: the departures of `surrogate`.
"""

# Shapes: B rows (completions of a micro-batch), T token positions of a row, G completions of one prompt.

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from reasongym.algorithms.about import About
from reasongym.algorithms.group import centred
from reasongym.algorithms.surrogate import TokenLoss, clipped_surrogate

__all__ = ["ABOUT", "advantages", "loss"]

ABOUT = About(
    title="REINFORCE leave-one-out", paper="Ahmadian et al. 2024, arXiv 2402.14740", kind="group",
    advantage="r - mean of the others", ratio="token; none in the paper", clip="1 - low .. 1 + high",
    aggregation="constant", kl="off; k1 in the reward in the paper")


def advantages(rewards_G: Sequence[float]) -> list[float]:
    """The advantages of one group, in its order. Raises ValueError for a reward that is not finite."""
    num_others = max(len(rewards_G) - 1, 1)  # a group of one is 0 already
    return [value * len(rewards_G) / num_others for value in centred(rewards_G)]


def loss(*, logprobs_BT: Tensor, old_logprobs_BT: Tensor, advantages_BT: Tensor, mask_BT: Tensor, weights_BT: Tensor,
         clip_low: float, clip_high: float) -> TokenLoss:
    """The clipped loss of every token, with gradient through `logprobs_BT` alone. mask_BT: True at trainable tokens."""
    return clipped_surrogate(logprobs_BT=logprobs_BT, old_logprobs_BT=old_logprobs_BT, advantages_BT=advantages_BT,
                             mask_BT=mask_BT, weights_BT=weights_BT, clip_low=clip_low, clip_high=clip_high)
