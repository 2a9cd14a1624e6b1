"""Weights against the mismatch between the engine that sampled and the trainer that learns.

    w_it = pi_trainer(o_it) / pi_engine(o_it)        same weights, same tokens, other kernels and precision

    none             1
    token_truncate   min(w_it, cap)                                     truncated importance sampling
    icepop           w_it if floor <= w_it <= cap, else 0               IcePop
    sequence_mask    1 if floor <= (prod_t w_it)^(1/|o_i|) <= cap, else 0, one verdict for all tokens of a sequence

Sources: Yao et al. 2025, "Your Efficient RL Framework Secretly Brings You Off-Policy RL Training" (truncation); Ling
Team 2025, arXiv 2510.18855 (IcePop); Liu, Li et al. 2025, "When Speed Kills Stability" (geometric mean of a sequence).

Assumption: pi_trainer here is the trainer's policy that the step starts from (the `old` of the ratio), not the one that
is being updated, so the weights are constants: they carry no gradient.

Edge cases: positions outside the mask never matter, have weight 0 and are in no statistic. Bounds are inclusive. NaN at
a trainable token passes through `token_truncate` and is rejected by the other two; mismatch/kl is NaN either way.

Departures
1. A rejected token keeps its place in the denominator of the loss: rejecting half the tokens halves the gradient, where
   shrinking the mask would double the say of the rest.
2. sequence_mask rejects and does not reweight: kept tokens weigh 1.
3. Statistics hold log w within +-300: w^2 stays finite in float64, and no infinity reaches a metrics file.
"""

# Shapes: B rows (completions of a micro-batch), T token positions of a row.

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor

__all__ = ["Correction", "MismatchSums", "combine", "mismatch_statistics", "mismatch_weights"]

MAX_LOG_WEIGHT = 300.0


class Correction(NamedTuple):
    """weights_BT: detached, 0 where rejected and outside the mask. masked_BT: trainable tokens that were rejected."""

    weights_BT: Tensor
    masked_BT: Tensor


class MismatchSums(NamedTuple):
    """Sums over trainable tokens: those of micro-batches and ranks add up (`combine`).

    All floats, so that one float64 tensor carries them between ranks; float32 overflows in sum_weight_sq at log w = 44.

    sum_kl: of w - 1 - log w, the k3 estimate of KL(engine || trainer), since it was the engine that sampled.
    sum_weight, sum_weight_sq, max_ratio: of the raw w, before any cap. num_masked: rejected tokens.
    """

    num_tokens: float = 0.0
    sum_abs_diff: float = 0.0
    sum_kl: float = 0.0
    sum_weight: float = 0.0
    sum_weight_sq: float = 0.0
    max_ratio: float = 0.0
    num_masked: float = 0.0

    def metrics(self) -> dict[str, float]:
        """Means over tokens, in nats; ess and masked_share lie in 0..1. Empty without tokens: nothing was measured.

        ess: (sum w)^2 / (n sum w^2), the share of the tokens that as many equally weighted ones would amount to.
        """
        if self.num_tokens == 0:
            return {}
        return {
            "mismatch/kl": self.sum_kl / self.num_tokens,
            "mismatch/mean_abs_logprob_diff": self.sum_abs_diff / self.num_tokens,
            "mismatch/ess": self.sum_weight**2 / (self.num_tokens * self.sum_weight_sq),
            "mismatch/max_ratio": self.max_ratio,
            "mismatch/masked_share": self.num_masked / self.num_tokens,
        }


def mismatch_weights(*, trainer_logprobs_BT: Tensor, engine_logprobs_BT: Tensor, mask_BT: Tensor,
                     kind: Literal["none", "token_truncate", "icepop", "sequence_mask"],
                     cap: float, floor: float) -> Correction:
    """The weight of every token. cap: for all kinds but `none`; floor: for `icepop` and `sequence_mask`."""
    log_weights_BT = _log_weights(trainer_logprobs_BT, engine_logprobs_BT, mask_BT)
    raw_BT = log_weights_BT.exp()
    if kind == "none":
        weights_BT, kept_BT = torch.ones_like(raw_BT), torch.ones_like(mask_BT)
    elif kind == "token_truncate":
        weights_BT, kept_BT = raw_BT.clamp(max=cap), torch.ones_like(mask_BT)
    elif kind == "icepop":
        weights_BT, kept_BT = raw_BT, (raw_BT >= floor) & (raw_BT <= cap)
    else:
        geometric_B = (log_weights_BT.sum(-1) / mask_BT.sum(-1)).exp()  # NaN in an empty row, which has none to reject
        kept_B = (geometric_B >= floor) & (geometric_B <= cap)
        weights_BT, kept_BT = torch.ones_like(raw_BT), kept_B[:, None].expand_as(mask_BT)
    return Correction(torch.where(mask_BT & kept_BT, weights_BT, 0.0), mask_BT & ~kept_BT)


def mismatch_statistics(*, trainer_logprobs_BT: Tensor, engine_logprobs_BT: Tensor, mask_BT: Tensor,
                        masked_BT: Tensor) -> MismatchSums:
    """The sums of one micro-batch, in float64. masked_BT: from `mismatch_weights`."""
    raw_BT = _log_weights(trainer_logprobs_BT.double(), engine_logprobs_BT.double(), mask_BT)
    log_weights_BT = raw_BT.clamp(-MAX_LOG_WEIGHT, MAX_LOG_WEIGHT)
    weights_BT = torch.where(mask_BT, log_weights_BT.exp(), 0.0)
    kl_BT = torch.expm1(log_weights_BT) - log_weights_BT  # 0 where masked, as log w is
    largest = weights_BT.max() if weights_BT.numel() else weights_BT.sum()
    values = torch.stack([mask_BT.sum(), log_weights_BT.abs().sum(), kl_BT.sum(), weights_BT.sum(),
                          weights_BT.square().sum(), largest, (masked_BT & mask_BT).sum()])
    return MismatchSums(*values.tolist())  # one copy from the device, not seven


def combine(a: MismatchSums, b: MismatchSums) -> MismatchSums:
    """The sums over both; `+` on tuples would concatenate. `MismatchSums()` is the neutral element."""
    total = MismatchSums(*(x + y for x, y in zip(a, b, strict=True)))
    return total._replace(max_ratio=max(a.max_ratio, b.max_ratio))


def _log_weights(trainer_logprobs_BT: Tensor, engine_logprobs_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """log w, detached; 0 outside the mask. Selected before subtracting, so that NaN and inf there are gone."""
    trainer_BT = torch.where(mask_BT, trainer_logprobs_BT.detach(), 0.0)
    return trainer_BT - torch.where(mask_BT, engine_logprobs_BT.detach(), 0.0)
