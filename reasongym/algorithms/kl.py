"""Per-token estimates of KL(pi_theta || pi_reference) from tokens sampled by pi_theta: Schulman 2020, "Approximating KL
Divergence" (joschu.net/blog/kl-approx.html).

    d  = log pi_theta(o_t) - log pi_reference(o_t)
    k1 = d                      unbiased, may be negative, high variance
    k2 = d^2 / 2                biased, never negative
    k3 = exp(-d) - 1 + d        unbiased, never negative, low variance
    k3+                         the value of k3 with the gradient of k2

Assumption: the tokens come from pi_theta; with stale tokens all three are estimates of something near.

Which to use where: as a value (metric, or subtracted from the reward), k1 and k3 are the unbiased ones. In the loss it
is the gradient that counts. With s the score, grad log pi: k1 gives E[s] = 0, no penalty at all; k2 gives E[d s], the
gradient of the KL above; k3 gives E[(1 - exp(-d)) s], the gradient of KL(pi_reference || pi_theta), which agrees with
k2's near d = 0. That the gradient of a good estimate is no good estimate of the gradient: Tang and Munos 2025, arXiv
2506.09477. So k3+ shows the one and follows the other.

The coefficient beta can be steered towards a KL: Ziegler et al. 2019, arXiv 1909.08593, section 2.2.

    beta <- beta (1 + clip(KL / target - 1, -0.2, 0.2) * samples / horizon)

Edge cases: positions outside the mask are 0, whatever they hold. Nothing is clamped: log-ratio 100 gives k1 = 100,
k2 = 5000, k3 = 99, and -100 gives k3 = exp(100) - 101 = 2.7e43, which float32 shows as inf. Clamping would report one
and the same drift for all beyond the clamp, with zero gradient there; inf stops a run that is already lost.
"""

# Shapes: B rows (completions of a micro-batch), T token positions of a row.

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

__all__ = ["Estimator", "adapted", "kl_BT"]

Estimator = Literal["k1", "k2", "k3", "k3+"]
MAX_ERROR = 0.2


def kl_BT(*, logprobs_BT: Tensor, reference_logprobs_BT: Tensor, mask_BT: Tensor,
          estimator: Estimator) -> Tensor:
    """The estimate at every token, in nats, with gradient through `logprobs_BT` alone; 0 where masked."""
    logprobs_BT = torch.where(mask_BT, logprobs_BT, 0.0)
    reference_logprobs_BT = torch.where(mask_BT, reference_logprobs_BT.detach(), 0.0)
    difference_BT = logprobs_BT - reference_logprobs_BT
    if estimator == "k1":
        return difference_BT
    if estimator == "k2":
        return difference_BT.square() / 2
    k3_BT = torch.expm1(-difference_BT) + difference_BT
    if estimator == "k3":
        return k3_BT
    k2_BT = difference_BT.square() / 2
    return k3_BT.detach() + (k2_BT - k2_BT.detach())  # the value of the bracket is exactly 0


def adapted(coefficient: float, *, kl: float, target: float, horizon: float, num_samples: int) -> float:
    """The coefficient after a step of `num_samples` completions whose KL was `kl`.

    kl, target: both a token's mean or both a completion's sum. horizon: in completions; a KL that stays a
    fifth or more above its target multiplies the coefficient by e in 5 horizons. Raises ValueError for a KL of NaN, and
    for a target or a horizon under which the coefficient would not stay positive.
    """
    if math.isnan(kl):
        raise ValueError(f"the KL that steers the coefficient must be a number, got {kl}: the policy's or the "
                         f"reference's log-probabilities are broken")
    if target <= 0 or horizon <= MAX_ERROR * num_samples:
        raise ValueError(f"KL control needs a target above 0 and a horizon above {MAX_ERROR * num_samples:g} (a fifth "
                         f"of the step's {num_samples} completions, or one step could bring the coefficient to 0), got "
                         f"{target=} and {horizon=}: raise them")
    error = min(max(kl / target - 1, -MAX_ERROR), MAX_ERROR)
    return coefficient * (1 + error * num_samples / horizon)
