"""Group relative policy optimization: Shao et al. 2024, DeepSeekMath, arXiv 2402.03300, equations 3 and 4.

    A_i    = (r_i - mean(r_1..r_G)) / std(r_1..r_G)                          every token of completion i
    rho_it = pi_theta(o_it | q, o_i<t) / pi_old(o_it | q, o_i<t)
    l_it   = -w_it * min(rho_it * A_i, clip(rho_it, 1 - clip_low, 1 + clip_high) * A_i)

Assumption: the G rewards are of answers to one prompt, each sampled independently from the same policy, and both
log-probabilities of the ratio are of the same temperature-scaled, uncut distribution.

Edge cases: rewards that are all equal, exactly, give advantages of exactly 0.0, and so does a group of one (`group`).
Positions outside the mask never matter, whatever they hold (`surrogate`).

Departures from the paper
1. Two clip bounds (DAPO, arXiv 2503.14476); the paper's is clip_low == clip_high.
2. std is "unbiased" (G - 1), "biased" (G) or "none" (centred only, arXiv 2503.20783); the paper does not say which.
3. A dual clip bounds the loss of negative advantages (arXiv 1912.09729); None is the paper's.
4. w_it, the mean over tokens and the KL term: the departures of `surrogate`.
"""

# Shapes: B rows (completions of a micro-batch), T token positions of a row, G completions of one prompt.

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from reasongym.algorithms.about import About
from reasongym.algorithms.group import Std, standardized
from reasongym.algorithms.surrogate import TokenLoss, clipped_surrogate

__all__ = ["ABOUT", "advantages", "loss"]

ABOUT = About(
    title="Group relative policy optimization", paper="Shao et al. 2024, arXiv 2402.03300", kind="group",
    advantage="(r - group mean) / group std", ratio="token", clip="1 - low .. 1 + high",
    aggregation="token; sequence in the paper", kl="off; k3 in the loss in the paper")


def advantages(rewards_G: Sequence[float], *, std: Std) -> list[float]:
    """The advantages of one group, in its order. Raises ValueError for a reward that is not finite."""
    return standardized(rewards_G, std=std)


def loss(*, logprobs_BT: Tensor, old_logprobs_BT: Tensor, advantages_BT: Tensor, mask_BT: Tensor, weights_BT: Tensor,
         clip_low: float, clip_high: float, dual_clip: float | None) -> TokenLoss:
    """The clipped loss of every token, with gradient through `logprobs_BT` alone.

    mask_BT: bool, True at trainable tokens. dual_clip: c, above 1, or None.
    """
    return clipped_surrogate(logprobs_BT=logprobs_BT, old_logprobs_BT=old_logprobs_BT, advantages_BT=advantages_BT,
                             mask_BT=mask_BT, weights_BT=weights_BT, clip_low=clip_low, clip_high=clip_high,
                             dual_clip=dual_clip)
