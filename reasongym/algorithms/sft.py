"""Supervised fine-tuning: the negative log-likelihood of worked solutions.

    l_t = -log pi_theta(o_t | q, o_<t)                                  trainable tokens

It is REINFORCE with an advantage of 1 for every token of somebody else's completion.

Assumption: every trainable token is worth imitating, the end of the turn among them: a model that is never trained on
its end token never stops.

Edge cases: positions outside the mask are 0 and get no gradient, whatever they hold. A token of probability 0 gives
inf: a solution that the model cannot write is no solution for it.

Departures from common practice
1. No mean here: `aggregation` takes it, by token or by sequence, over the whole optimizer step. The mean of micro-batch
   means that many trainers report weighs the tokens of a short micro-batch more.
2. Log-probabilities are of the temperature-scaled distribution, as everywhere here: the model's own at temperature 1.
"""

# Shapes: B rows (completions of a micro-batch), T token positions of a row.

import torch
from torch import Tensor

from reasongym.algorithms.about import About

__all__ = ["ABOUT", "loss"]

ABOUT = About(title="Supervised fine-tuning", paper="none: maximum likelihood", kind="solutions",
              advantage="none: every token is imitated", ratio="none", clip="none",
              aggregation="token or sequence mean", kl="none")


def loss(*, logprobs_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """The loss of every token, (B, T), in nats; 0 where masked."""
    # Selected before the sign: NaN under the mask times a zero gradient would still be NaN.
    return -torch.where(mask_BT, logprobs_BT, 0.0)
