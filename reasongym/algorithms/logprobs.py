"""Log-probabilities of sampled tokens, without the logits of all of them at once.

    log p(y_n) = z_n[y_n] - log sum_v exp(z_n[v]),   z_n = head(h_n) / temperature
    H_n        = -sum_v p_n(v) log p_n(v)

The logits of 16,384 tokens over a vocabulary of 151,936 take 10 GB in float32. Here they exist for `chunk_tokens`
tokens at a time, in the forward pass and in the backward pass alike: each chunk is checkpointed, so its logits are
dropped and computed again when its gradient is due. The price is a second pass through the head.
What remains beside them is the head's own gradient, V x D a chunk: below D tokens a smaller chunk saves nothing.

Assumption: `head` gives the same logits for the same input both times, as a linear layer does.

Edge cases: no tokens at all still calls the head once, on nothing, and gives an empty result that is connected to
`hidden_ND`: a rank without tokens takes part in the collectives of the others. A vocabulary entry with logit -inf has
probability 0 and adds 0 to the entropy.

Not covered: under ZeRO-3 a call of the head can be a collective. Ranks that differ in max(1, ceil(N / chunk_tokens))
would wait for each other for ever: the caller keeps the head gathered, or the numbers equal.
"""

# Shapes: N tokens, C tokens of one chunk, D hidden width, V vocabulary.

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

__all__ = ["LogprobsEntropy", "token_logprobs"]


class LogprobsEntropy(NamedTuple):
    """In nats, float32 (float64 from a float64 head). entropy_N is detached unless its gradient is asked for."""

    logprobs_N: Tensor
    entropy_N: Tensor


def token_logprobs(hidden_ND: Tensor, targets_N: Tensor, *, head: Callable[[Tensor], Tensor], temperature: float,
                   chunk_tokens: int, entropy_gradient: bool = False) -> LogprobsEntropy:
    """Log-probability of each target, and entropy, under softmax(head(hidden) / temperature).

    head: (C, D) -> (C, V) logits, of any floating dtype; gradients flow to `hidden_ND` and to the head's parameters.
    targets_N: int64 token ids. chunk_tokens: bounds memory alone; the result does not depend on it.
    entropy_gradient: for a loss with an entropy term; costs another pass over the vocabulary.
    """
    logprobs, entropies = [], []
    chunks = zip(torch.split(hidden_ND, chunk_tokens), torch.split(targets_N, chunk_tokens), strict=True)
    for hidden_CD, targets_C in chunks:
        arguments = (hidden_CD, targets_C, head, temperature, entropy_gradient)
        if torch.is_grad_enabled():
            logprobs_C, entropy_C = checkpoint(_chunk, *arguments, use_reentrant=False)
        else:
            logprobs_C, entropy_C = _chunk(*arguments)
        logprobs.append(logprobs_C)
        entropies.append(entropy_C)
    return LogprobsEntropy(torch.cat(logprobs), torch.cat(entropies))


def _chunk(hidden_CD: Tensor, targets_C: Tensor, head: Callable[[Tensor], Tensor], temperature: float,
           entropy_gradient: bool) -> tuple[Tensor, Tensor]:
    logits_CV = head(hidden_CD)
    if logits_CV.dtype != torch.float64:
        logits_CV = logits_CV.float()
    log_probs_CV = torch.log_softmax(logits_CV / temperature, dim=-1)
    del logits_CV  # a quarter of the peak
    logprobs_C = log_probs_CV.gather(-1, targets_C[:, None]).squeeze(-1)
    if entropy_gradient:
        bounded_CV = log_probs_CV.clamp(min=torch.finfo(log_probs_CV.dtype).min)
        return logprobs_C, -(bounded_CV * log_probs_CV.exp()).sum(-1)
    # Last on purpose: recomputation ends with the last tensor that the backward pass needs, so this runs once only.
    with torch.no_grad():
        bounded_CV = log_probs_CV.clamp(min=torch.finfo(log_probs_CV.dtype).min)  # 0 x -inf would be NaN
        entropy_C = -bounded_CV.mul_(log_probs_CV.exp()).sum(-1)
    return logprobs_C, entropy_C
