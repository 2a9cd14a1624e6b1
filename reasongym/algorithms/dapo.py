"""Decoupled clip and dynamic sampling policy optimization: Yu et al. 2025, DAPO, arXiv 2503.14476.

    A_i    = (r_i - mean(r_1..r_G)) / std(r_1..r_G)                          every token of completion i
    rho_it = pi_theta(o_it | q, o_i<t) / pi_old(o_it | q, o_i<t)
    l_it   = -w_it * min(rho_it * A_i, clip(rho_it, 1 - clip_low, 1 + clip_high) * A_i)
    loss   = sum of l_it / trainable tokens                                  aggregation "token"

    clip-higher         clip_high > clip_low, .28 and .2: at 1.2 a token of probability .01 may rise to .012 only
    dynamic sampling    only groups with max(r) > min(r) are trained on; others are sampled in their place
    overlong penalty    r_i = raw_i + factor x  0                            where n <= limit - buffer
                                                (limit - buffer - n) / buffer    where n <= limit
                                                -1                           beyond (equation 13)

Assumption: dynamic sampling looks at the raw rewards. With the penalty in them eight wrong answers of eight lengths
would pass for a group with a signal.

Edge cases: those of `group` and `surrogate`. A completion that is cut off at the limit has n == limit and the full
penalty. A buffer of 0 has no slope: 0 up to the limit and -factor beyond it.

Departures from the paper
1. Dynamic sampling compares rewards, exactly, where the paper counts correct answers: the same for 0 and 1, and defined
   for rewards in between.
2. The penalty is capped at -factor for any n; formulas without the last case go on to -1.88 for 5000 tokens of 4096.
3. std is named, "unbiased" (G - 1), "biased" (G) or "none"; the paper does not say which.
4. w_it, the mean over tokens and the KL term (the paper has none): the departures of `surrogate`.
"""

# Shapes: B rows (completions of a micro-batch), T token positions of a row, G completions of one prompt.

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from reasongym.algorithms.about import About
from reasongym.algorithms.group import Std, is_flat, standardized
from reasongym.algorithms.surrogate import TokenLoss, clipped_surrogate

__all__ = ["ABOUT", "advantages", "informative", "loss", "overlong_penalty"]

ABOUT = About(
    title="Decoupled clip and dynamic sampling", paper="Yu et al. 2025, arXiv 2503.14476", kind="group",
    advantage="(r - group mean) / group std, of groups that differ", ratio="token",
    clip="1 - low .. 1 + high, high above low", aggregation="token", kl="off")


def informative(rewards_G: Sequence[float]) -> bool:
    """Whether a group has a signal. rewards_G: raw, before the overlong penalty. Raises as `advantages` does."""
    return not is_flat(rewards_G)


def overlong_penalty(num_tokens: int, *, max_new_tokens: int, overlong_buffer: int, overlong_factor: float) -> float:
    """What is added to the reward of a completion of `num_tokens` sampled tokens: -overlong_factor to 0.

    Raises ValueError for a buffer outside 0..max_new_tokens: beyond it an empty completion would be too long.
    """
    if not 0 <= overlong_buffer <= max_new_tokens:
        raise ValueError(f"overlong_buffer must lie in 0..max_new_tokens ({max_new_tokens}), got {overlong_buffer}: "
                         "it is the last part of the completion limit, where the penalty grows")
    excess = num_tokens - (max_new_tokens - overlong_buffer)
    if excess <= 0:
        return 0.0
    return -overlong_factor * (min(excess / overlong_buffer, 1.0) if overlong_buffer else 1.0)


def advantages(rewards_G: Sequence[float], *, std: Std) -> list[float]:
    """The advantages of one group, in its order. Raises ValueError for a reward that is not finite."""
    return standardized(rewards_G, std=std)


def loss(*, logprobs_BT: Tensor, old_logprobs_BT: Tensor, advantages_BT: Tensor, mask_BT: Tensor, weights_BT: Tensor,
         clip_low: float, clip_high: float) -> TokenLoss:
    """The clipped loss of every token, with gradient through `logprobs_BT` alone. mask_BT: True at trainable tokens."""
    return clipped_surrogate(logprobs_BT=logprobs_BT, old_logprobs_BT=old_logprobs_BT, advantages_BT=advantages_BT,
                             mask_BT=mask_BT, weights_BT=weights_BT, clip_low=clip_low, clip_high=clip_high)
