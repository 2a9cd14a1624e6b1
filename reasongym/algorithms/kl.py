"""Per-token estimates of KL(pi_theta || pi_reference) from tokens sampled by pi_theta: Schulman 2020, "Approximating KL
Divergence" (joschu.net/blog/kl-approx.html).

    d  = log pi_theta(o_t) - log pi_reference(o_t)
    k1 = d                      unbiased, may be negative, high variance
    k2 = d^2 / 2                biased, never negative
    k3 = exp(-d) - 1 + d        unbiased, never negative, low variance

Assumption: the tokens come from pi_theta; with stale tokens all three are estimates of something near.

Which to use where: as a value (metric, or subtracted from the reward), k1 and k3 are the unbiased ones. In the loss it
is the gradient that counts. With s the score, grad log pi: k1 gives E[s] = 0, no penalty at all; k2 gives E[d s], the
gradient of the KL above; k3 gives E[(1 - exp(-d)) s], the gradient of KL(pi_reference || pi_theta), which agrees with
k2's near d = 0.

Edge cases: positions outside the mask are 0, whatever they hold. Nothing is clamped: log-ratio 100 gives k1 = 100,
k2 = 5000, k3 = 99, and -100 gives k3 = exp(100) - 101 = 2.7e43, which float32 shows as inf. Clamping would report one
and the same drift for all beyond the clamp, with zero gradient there; inf stops a run that is already lost.
"""

# Shapes: B rows (completions of a micro-batch), T token positions of a row.

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

__all__ = ["kl_BT"]


def kl_BT(*, logprobs_BT: Tensor, reference_logprobs_BT: Tensor, mask_BT: Tensor,
          estimator: Literal["k1", "k2", "k3"]) -> Tensor:
    """The estimate at every token, in nats, with gradient through `logprobs_BT` alone; 0 where masked."""
    logprobs_BT = torch.where(mask_BT, logprobs_BT, 0.0)
    reference_logprobs_BT = torch.where(mask_BT, reference_logprobs_BT.detach(), 0.0)
    difference_BT = logprobs_BT - reference_logprobs_BT
    if estimator == "k1":
        return difference_BT
    if estimator == "k2":
        return difference_BT.square() / 2
    return torch.expm1(-difference_BT) + difference_BT
