"""What the losses against a reference policy share: log-ratios of whole completions, and the loss of a pair.

    s(o)   = sum over t of [log pi_theta(o_t) - log pi_ref(o_t)], over trainable tokens; length "mean": divided by |o|
    h      = s(chosen) - s(rejected)
    f(h)   = -log sigmoid(beta h)                  loss_kind "sigmoid"
           = (h - 1 / (2 beta))^2                  loss_kind "ipo"
    nll    = -1 / |chosen| sum over t of log pi_theta(chosen_t)
    l      = (1 - label_smoothing) f(h) + label_smoothing f(-h) + nll_coefficient nll
    reward = beta s(o)                             what the metrics call the implicit reward

Sums run in float64: log-probabilities of 16,384 tokens sum to some -10,000, which float32 holds to 1e-3, and h is a
small difference of two such sums.

Edge cases: positions outside the mask never matter, whatever they hold. A completion without a trainable token has
s = 0 and no gradient; the other of its pair keeps its own. Log-ratios of 1e4 give a finite loss; the sigmoid's is
linear there. No rows give no losses.
"""

# Shapes: B rows, T token positions of a row, P pairs: rows 2p and 2p + 1 are the chosen and the rejected of pair p.

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

__all__ = ["PairLoss", "log_ratios", "pair_loss"]

LossKind = Literal["sigmoid", "ipo"]


class PairLoss(NamedTuple):
    """All float64. loss_P: the step's loss is its mean over all pairs of the step. The rewards are detached."""

    loss_P: Tensor
    chosen_reward_P: Tensor
    rejected_reward_P: Tensor


def log_ratios(*, logprobs_BT: Tensor, reference_logprobs_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """log pi_theta(o) - log pi_ref(o) of each row's completion: (B,), float64, gradient through `logprobs_BT` alone."""
    return _sums(logprobs_BT, mask_BT) - _sums(reference_logprobs_BT.detach(), mask_BT)


def pair_loss(*, logprobs_BT: Tensor, reference_logprobs_BT: Tensor, mask_BT: Tensor, beta: float, loss_kind: LossKind,
              length: Literal["sum", "mean"], label_smoothing: float, nll_coefficient: float) -> PairLoss:
    """The loss of every pair, with gradient through `logprobs_BT` alone.

    mask_BT: bool, True at trainable tokens. Raises ValueError for an odd number of rows: half a pair.
    """
    if len(mask_BT) % 2:
        raise ValueError(f"rows must alternate chosen and rejected, got {len(mask_BT)} rows: "
                         "keep both rows of a pair in one micro-batch")
    scores_B = log_ratios(logprobs_BT=logprobs_BT, reference_logprobs_BT=reference_logprobs_BT, mask_BT=mask_BT)
    lengths_B = mask_BT.sum(-1).clamp(min=1)  # an empty completion is 0 / 1
    if length == "mean":
        scores_B = scores_B / lengths_B
    margin_P = scores_B[0::2] - scores_B[1::2]
    loss_P = (1 - label_smoothing) * _preferred(margin_P, beta, loss_kind) \
        + label_smoothing * _preferred(-margin_P, beta, loss_kind)
    nll_P = -_sums(logprobs_BT[0::2], mask_BT[0::2]) / lengths_B[0::2]
    rewards_B = beta * scores_B.detach()
    return PairLoss(loss_P + nll_coefficient * nll_P, rewards_B[0::2], rewards_B[1::2])


def _preferred(margin_P: Tensor, beta: float, loss_kind: LossKind) -> Tensor:
    """f(h): low where the policy prefers the chosen one."""
    if loss_kind == "ipo":
        return (margin_P - 1 / (2 * beta)).square()
    return -logsigmoid(beta * margin_P)  # log(sigmoid(-1000)) would be -inf


def _sums(values_BT: Tensor, mask_BT: Tensor) -> Tensor:
    # Selected before any arithmetic: NaN under the mask times a zero gradient would still be NaN.
    return torch.where(mask_BT, values_BT, 0.0).sum(-1, dtype=torch.float64)
