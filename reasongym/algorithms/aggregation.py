"""From per-token losses to the loss of an optimizer step, cut into shares that add up.

    token      sum of l_it / number of trainable tokens of the step               (arXiv 2503.14476, DAPO)
    sequence   sum over i of (sum over t of l_it / |o_i|) / number of sequences   (arXiv 2402.03300, GRPO)
    constant   sum of l_it / (number of sequences x constant)                     (arXiv 2503.20783, Dr. GRPO)

The denominator is one number for the whole optimizer step: all its micro-batches on all its ranks. Then the shares of
any split add up to the same loss and the same gradient, and how a batch is cut for memory cannot change the objective.
Dividing each micro-batch by its own tokens does change it: losses 1, 2 | 3, 4, 5, 6, 7 give (1.5 + 5) / 2 = 3.25 for
28 / 7 = 4.

Edge cases: a sequence without a trainable token adds nothing and does not count; a step without one has loss 0.
Not covered: where a framework averages gradients over ranks or divides by accumulation steps, the caller undoes it.
"""

# Shapes: B rows (completions of a micro-batch), T token positions of a row.

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

__all__ = ["aggregate", "denominator"]

Kind = Literal["token", "sequence", "constant"]


def denominator(*, num_tokens: int, num_sequences: int, kind: Kind, constant: float | None) -> float:
    """What every micro-batch of the step divides by; at least 1, so that an empty step is 0 and not 0 / 0.

    num_tokens: trainable tokens of the whole step. num_sequences: its sequences that have at least one.
    constant: tokens a sequence, for `constant` alone. Raises ValueError where it is needed and not positive.
    """
    if kind == "token":
        return float(max(num_tokens, 1))
    if kind == "sequence":
        return float(max(num_sequences, 1))
    if constant is None or constant <= 0:
        raise ValueError(f"aggregation 'constant' needs a positive constant, got {constant}: pass the completion limit")
    return max(num_sequences, 1) * float(constant)


def aggregate(loss_BT: Tensor, mask_BT: Tensor, *, kind: Kind, denominator: float) -> Tensor:
    """This micro-batch's share of the step's loss: a scalar. `denominator` comes from the function of that name."""
    masked_BT = torch.where(mask_BT, loss_BT, 0.0)
    if kind == "sequence":
        lengths_B = mask_BT.sum(-1).clamp(min=1)  # an empty row is 0 / 1
        return (masked_BT.sum(-1) / lengths_B).sum() / denominator
    return masked_BT.sum() / denominator
