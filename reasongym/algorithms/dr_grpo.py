"""GRPO done right: Liu et al. 2025, "Understanding R1-Zero-Like Training: A Critical Perspective", arXiv 2503.20783.

    A_i    = r_i - mean(r_1..r_G)                                            every token of completion i
    rho_it = pi_theta(o_it | q, o_i<t) / pi_old(o_it | q, o_i<t)
    l_it   = -w_it * min(rho_it * A_i, clip(rho_it, 1 - clip_low, 1 + clip_high) * A_i)
    loss   = sum of l_it / (completions x constant)                          aggregation "constant"

Two divisions of GRPO are gone. That by the std gave a prompt that is nearly always, or nearly never, solved the most
weight: of eight answers one right gives the winner 2.47, four right give it 0.94. That by a completion's length made a
long wrong answer cheaper by the token than a short one, so wrong answers grew.

Assumption: rewards of all prompts are on one scale, since nothing here rescales them.

Edge cases: those of `group` and `surrogate`. With aggregation "token" or "sequence" the second division is back.

Departures from the paper
1. Two clip bounds (DAPO, arXiv 2503.14476); the paper's is clip_low == clip_high.
2. The constant is any number of tokens, the longest completion by default; it scales the learning rate and no more.
3. w_it, the mean over tokens and the KL term (the paper has none): the departures of `surrogate`.
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
    title="GRPO done right", paper="Liu et al. 2025, arXiv 2503.20783", kind="group",
    advantage="r - group mean", ratio="token", clip="1 - low .. 1 + high",
    aggregation="constant", kl="off")


def advantages(rewards_G: Sequence[float]) -> list[float]:
    """The advantages of one group, in its order. Raises ValueError for a reward that is not finite."""
    return centred(rewards_G)


def loss(*, logprobs_BT: Tensor, old_logprobs_BT: Tensor, advantages_BT: Tensor, mask_BT: Tensor, weights_BT: Tensor,
         clip_low: float, clip_high: float) -> TokenLoss:
    """The clipped loss of every token, with gradient through `logprobs_BT` alone. mask_BT: True at trainable tokens."""
    return clipped_surrogate(logprobs_BT=logprobs_BT, old_logprobs_BT=old_logprobs_BT, advantages_BT=advantages_BT,
                             mask_BT=mask_BT, weights_BT=weights_BT, clip_low=clip_low, clip_high=clip_high)
