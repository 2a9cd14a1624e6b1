"""Clipped importance-sampling weights: MiniMax 2025, MiniMax-M1, CISPO, arXiv 2506.13585.

    A_i    = (r_i - mean(r_1..r_G)) / std(r_1..r_G)                          every token of completion i
    rho_it = pi_theta(o_it | q, o_i<t) / pi_old(o_it | q, o_i<t)
    l_it   = -w_it * sg(clip(rho_it, lower, upper)) * A_i * log pi_theta(o_it | q, o_i<t)
    loss   = sum of l_it / trainable tokens                                  aggregation "token"

    above_one   upper = 1 + cap,  lower = 1 - floor      (the paper's epsilons)
    absolute    upper = cap,      lower = floor

REINFORCE with a bounded importance weight: the bound limits how much a token says and never silences it, where the
clip of PPO drops the rare tokens ("however", "wait") that moved first. No token is out of the gradient, so `clipped_BT`
says something else than for other algorithms: the ratio was outside the bounds and the weight is the bound.

Assumption: `cap` is of the named kind. Two conventions are in use under one name: 1.28 read as above one is a bound of
2.28, and 0.28 read as absolute scales every gradient to 0.28. Hence bounds without 1 between them are refused.

Edge cases: those of `group` and `surrogate`. Without a floor the ratio is free below, as in the paper's runs. The value
of the loss has log pi in it and says nothing about progress; the gradient is what counts.

Departures from the paper
1. std is named, "unbiased" (G - 1), "biased" (G) or "none"; the paper does not say which.
2. w_it, the mean over tokens and the KL term (the paper has none): the departures of `surrogate`.
"""

# Shapes: B rows (completions of a micro-batch), T token positions of a row, G completions of one prompt.

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from reasongym.algorithms.about import About
from reasongym.algorithms.group import Std, standardized
from reasongym.algorithms.surrogate import TokenLoss, importance_ratio, selected

__all__ = ["ABOUT", "advantages", "bounds", "loss"]

ABOUT = About(
    title="Clipped importance-sampling weights", paper="MiniMax 2025, arXiv 2506.13585", kind="group",
    advantage="(r - group mean) / group std", ratio="token, without gradient",
    clip="bounds the weight, silences no token", aggregation="token", kl="off")

CapKind = Literal["above_one", "absolute"]


def bounds(*, cap: float, floor: float | None, cap_kind: CapKind) -> tuple[float, float]:
    """Lower and upper bound of the ratio. Raises ValueError unless the ratio of the first pass, 1, lies within."""
    lower, upper = (floor or 0.0, cap) if cap_kind == "absolute" else (0.0 if floor is None else 1 - floor, 1 + cap)
    if not lower <= 1 <= upper:
        remedy = "give the bounds themselves" if cap_kind == "absolute" else "give distances from 1, not negative"
        raise ValueError(f"the bounds of the ratio must have 1 between them, got {lower:g}..{upper:g} from {cap=}, "
                         f"{floor=}, cap_kind={cap_kind!r}: {remedy}")
    return lower, upper


def advantages(rewards_G: Sequence[float], *, std: Std) -> list[float]:
    """The advantages of one group, in its order. Raises ValueError for a reward that is not finite."""
    return standardized(rewards_G, std=std)


def loss(*, logprobs_BT: Tensor, old_logprobs_BT: Tensor, advantages_BT: Tensor, mask_BT: Tensor, weights_BT: Tensor,
         cap: float, floor: float | None, cap_kind: CapKind) -> TokenLoss:
    """The loss of every token, with gradient through `logprobs_BT` alone. mask_BT: True at trainable tokens.

    clipped_BT of the result: the weight of the token is a bound, which stops no gradient.
    """
    lower, upper = bounds(cap=cap, floor=floor, cap_kind=cap_kind)
    ratio_BT = importance_ratio(logprobs_BT=logprobs_BT.detach(), old_logprobs_BT=old_logprobs_BT, mask_BT=mask_BT)
    weights_BT = selected(weights_BT, mask_BT, dtype=ratio_BT.dtype) * ratio_BT.clamp(lower, upper)
    advantages_BT = selected(advantages_BT, mask_BT, dtype=ratio_BT.dtype)
    loss_BT = -weights_BT * advantages_BT * torch.where(mask_BT, logprobs_BT, 0.0)
    return TokenLoss(loss_BT, (ratio_BT < lower) | (ratio_BT > upper), ratio_BT)
