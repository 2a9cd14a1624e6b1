"""Group sequence policy optimization: Zheng et al. 2025, GSPO, arXiv 2507.18071, in its form for tokens (GSPO-token).

    A_i  = (r_i - mean(r_1..r_G)) / std(r_1..r_G)
    s_i  = (pi_theta(o_i | q) / pi_old(o_i | q))^(1 / |o_i|) = exp(mean over trainable t of log rho_it)
    s_it = sg(s_i) * pi_theta(o_it) / sg(pi_theta(o_it))                     s_i in value, one token's gradient
    l_it = -w_it * min(s_it * A_it, clip(s_it, 1 - clip_low, 1 + clip_high) * A_it)
    loss = sum over i of (sum over t of l_it / |o_i|) / sequences            aggregation "sequence"

Where A_it and w_it are the same for all tokens of a row, the gradient is that of -w_i min(s_i A_i, clip(s_i) A_i)
averaged over sequences: d s_i / d log pi(o_it) = s_i / |o_i| there, and s_i times the 1 / |o_i| of the mean here.

Assumption: the reward is of the whole completion, so the ratio that reweights it should be, too. The mean of
log rho_it varies by 1 / |o_i| of a token's, hence bounds of 3e-4 and 4e-4: bounds of .2 would never be met.

Edge cases: those of `group` and `surrogate`. A row without a trainable token has ratio 1 and loss 0. Masked tokens are
neither in the sum nor in |o_i|.

Departures from the paper
1. A mismatch weight w_it goes with the gradient of its own token: a rejected token has none. In the form with s_i alone
   it would keep one, through the ratio, of the mean weight of its sequence.
2. The clip is decided by s_i and the sign of each token's advantage: for a whole sequence, unless signs differ in it.
3. Aggregations other than "sequence" weigh long completions by their length; the paper has "sequence" alone.
4. std is named, "unbiased" (G - 1), "biased" (G) or "none"; the paper does not say which.
5. w_it, the mean over tokens and the KL term (left out in the paper): the departures of `surrogate`.
"""

# Shapes: B rows (completions of a micro-batch), T token positions of a row, G completions of one prompt.

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from reasongym.algorithms.about import About
from reasongym.algorithms.group import Std, standardized
from reasongym.algorithms.surrogate import TokenLoss, clip_gain, log_ratio

__all__ = ["ABOUT", "advantages", "loss"]

ABOUT = About(
    title="Group sequence policy optimization", paper="Zheng et al. 2025, arXiv 2507.18071", kind="group",
    advantage="(r - group mean) / group std", ratio="sequence, geometric mean",
    clip="1 - low .. 1 + high, of 3e-4 and 4e-4", aggregation="sequence", kl="off")


def advantages(rewards_G: Sequence[float], *, std: Std) -> list[float]:
    """The advantages of one group, in its order. Raises ValueError for a reward that is not finite."""
    return standardized(rewards_G, std=std)


def loss(*, logprobs_BT: Tensor, old_logprobs_BT: Tensor, advantages_BT: Tensor, mask_BT: Tensor, weights_BT: Tensor,
         clip_low: float, clip_high: float) -> TokenLoss:
    """The loss of every token, with gradient through `logprobs_BT` alone. mask_BT: True at trainable tokens.

    ratio_BT of the result is the sequence's, at each of its trainable tokens.
    """
    log_BT = log_ratio(logprobs_BT=logprobs_BT, old_logprobs_BT=old_logprobs_BT, mask_BT=mask_BT)
    mean_B = log_BT.detach().sum(-1) / mask_BT.sum(-1)  # NaN in an empty row, which has no token to take it
    # log_BT - sg(log_BT) is 0 in value; its gradient is that of the token's log-probability.
    ratio_BT = (torch.where(mask_BT, mean_B[:, None], 0.0) + (log_BT - log_BT.detach())).exp()
    return clip_gain(ratio_BT=ratio_BT, advantages_BT=advantages_BT, mask_BT=mask_BT, weights_BT=weights_BT,
                     clip_low=clip_low, clip_high=clip_high)
