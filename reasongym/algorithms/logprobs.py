"""Log-probabilities of sampled tokens, without the logits of all of them at once.

    log p(y_n) = z_n[y_n] - log sum_v exp(z_n[v]),   z_n = (W h_n + b) / temperature
    H_n        = -sum_v p_n(v) log p_n(v)

The logits of 16,384 tokens over a vocabulary of 151,936 take 10 GB in float32. Here they exist for `chunk_tokens`
tokens at a time, in the forward pass and in the backward pass alike: what is kept is one number a token, and a chunk's
logits are computed again when its gradient is due. Both passes write all chunks over one another, in one place, and the
gradient of W is added up where it will stay:

    dL/dz_n = g_n (onehot(y_n) - p_n) - e_n p_n (log p_n + H_n),   g, e: gradients of log p(y_n) and H_n

The price is a second product with W; reading a large fresh tensor for each of a dozen operations cost more.

Edge cases: no tokens at all give an empty result that is connected to `hidden_ND` and W: a rank without tokens takes
part in the collectives of the others. A vocabulary entry with logit -inf has probability 0 and adds 0 to the entropy.
"""

# Shapes: N tokens, C tokens of one chunk, D hidden width, V vocabulary.

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import linear

__all__ = ["LogprobsEntropy", "token_logprobs"]


class LogprobsEntropy(NamedTuple):
    """In nats, float32 (float64 from a float64 head). entropy_N is detached unless its gradient is asked for."""

    logprobs_N: Tensor
    entropy_N: Tensor


def token_logprobs(hidden_ND: Tensor, targets_N: Tensor, *, weight_VD: Tensor, bias_V: Tensor | None = None,
                   temperature: float, chunk_tokens: int, entropy_gradient: bool = False) -> LogprobsEntropy:
    """Log-probability of each target, and entropy, under softmax((hidden W^T + bias) / temperature).

    weight_VD, bias_V: of the output head, of the dtype of `hidden_ND`; gradients flow to all three, once. targets_N:
    int64 token ids. chunk_tokens: bounds memory; what it changes is that the gradient of a bfloat16 head is rounded
    once a chunk (0.2 % off in one chunk of 8,192 tokens, 0.5 % in 32). entropy_gradient: for a loss with an entropy
    term; costs another pass over the vocabulary.
    """
    assert hidden_ND.dtype == weight_VD.dtype, f"hidden states of {hidden_ND.dtype}, a head of {weight_VD.dtype}"
    found: tuple[Tensor, Tensor] = _TokenLogprobs.apply(  # type: ignore[no-untyped-call]
        hidden_ND, weight_VD, bias_V, targets_N, temperature, chunk_tokens, entropy_gradient)
    return LogprobsEntropy(*found)


class _TokenLogprobs(torch.autograd.Function):
    """norm_N: log sum_v exp(z_n[v])."""

    @staticmethod
    def forward(ctx: Any, hidden_ND: Tensor, weight_VD: Tensor, bias_V: Tensor | None, targets_N: Tensor,
                temperature: float, chunk_tokens: int, entropy_gradient: bool) -> tuple[Tensor, Tensor]:
        room = _Room(hidden_ND, weight_VD, bias_V, temperature, chunk_tokens)
        logprobs_N, entropy_N, norm_N = room.values(), room.values(), room.values()
        for at, logits_CV, other_CV in room.chunks():
            most_C1 = logits_CV.amax(-1, keepdim=True)
            torch.exp(logits_CV.sub_(most_C1), out=other_CV)
            sum_C1 = other_CV.sum(-1, keepdim=True)
            log_C1 = sum_C1.log()
            logprobs_N[at] = (logits_CV.gather(-1, targets_N[at, None]) - log_C1).squeeze(-1)
            weighted_CV = other_CV.mul_(_bounded(logits_CV))
            entropy_N[at] = (log_C1 - weighted_CV.sum(-1, keepdim=True) / sum_C1).squeeze(-1)
            norm_N[at] = (most_C1 + log_C1).squeeze(-1)
        ctx.save_for_backward(hidden_ND, weight_VD, bias_V, targets_N, norm_N, entropy_N)
        ctx.temperature, ctx.chunk_tokens, ctx.entropy_gradient = temperature, chunk_tokens, entropy_gradient
        if not entropy_gradient:
            ctx.mark_non_differentiable(entropy_N)
        return logprobs_N, entropy_N

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient_N: Tensor, entropy_gradient_N: Tensor) -> tuple[Tensor | None, ...]:
        hidden_ND, weight_VD, bias_V, targets_N, norm_N, entropy_N = ctx.saved_tensors
        wanted = ctx.needs_input_grad
        of_hidden_ND = torch.empty_like(hidden_ND) if wanted[0] else None
        of_weight_VD = torch.zeros_like(weight_VD) if wanted[1] else None
        of_bias_V = torch.zeros_like(bias_V) if wanted[2] else None
        room = _Room(hidden_ND, weight_VD, bias_V, ctx.temperature, ctx.chunk_tokens)
        for at, logits_CV, other_CV in room.chunks():
            logprobs_CV = logits_CV.sub_(norm_N[at, None])
            gradient_C1 = gradient_N[at, None] / ctx.temperature
            if ctx.entropy_gradient:
                torch.exp(logprobs_CV, out=other_CV)
                _bounded(logprobs_CV).add_(entropy_N[at, None]).mul_(other_CV)
                logprobs_CV.mul_(entropy_gradient_N[at, None] / -ctx.temperature)
                of_logits_CV = logprobs_CV.addcmul_(other_CV, gradient_C1, value=-1)
            else:
                of_logits_CV = logprobs_CV.exp_().mul_(-gradient_C1)
            of_logits_CV.scatter_add_(-1, targets_N[at, None], gradient_C1)
            of_logits_CV = of_logits_CV.to(hidden_ND.dtype)
            if of_hidden_ND is not None:
                torch.mm(of_logits_CV, weight_VD, out=of_hidden_ND[at])
            if of_weight_VD is not None:
                of_weight_VD.addmm_(of_logits_CV.t(), hidden_ND[at])
            if of_bias_V is not None:
                of_bias_V.add_(of_logits_CV.sum(0))
            del of_logits_CV  # of another dtype it is a place of its own
        return of_hidden_ND, of_weight_VD, of_bias_V, None, None, None, None


class _Room:
    """The logits of chunk after chunk in one place, and another place of their size."""

    def __init__(self, hidden_ND: Tensor, weight_VD: Tensor, bias_V: Tensor | None, temperature: float,
                 chunk_tokens: int) -> None:
        self.hidden_ND, self.weight_VD, self.bias_V = hidden_ND, weight_VD, bias_V
        self.temperature, self.chunk_tokens = temperature, chunk_tokens

    def values(self) -> Tensor:
        """A number a token."""
        return self.hidden_ND.new_empty(len(self.hidden_ND), dtype=self._dtype)

    def chunks(self) -> Iterator[tuple[slice, Tensor, Tensor]]:
        """Which tokens, their logits, (C, V), at the temperature, and a place for as many numbers."""
        num_tokens = len(self.hidden_ND)
        both = [self.hidden_ND.new_empty(min(self.chunk_tokens, num_tokens), len(self.weight_VD), dtype=self._dtype)
                for _ in range(2)]
        for start in range(0, num_tokens, self.chunk_tokens):
            at = slice(start, min(start + self.chunk_tokens, num_tokens))
            logits_CV, other_CV = (place[:at.stop - at.start] for place in both)
            hidden_CD = self.hidden_ND[at]
            if hidden_CD.dtype != self._dtype:
                logits_CV.copy_(linear(hidden_CD, self.weight_VD, self.bias_V))
            elif self.bias_V is None:
                torch.mm(hidden_CD, self.weight_VD.t(), out=logits_CV)
            else:
                torch.addmm(self.bias_V, hidden_CD, self.weight_VD.t(), out=logits_CV)
            yield at, logits_CV.div_(self.temperature), other_CV

    @property
    def _dtype(self) -> torch.dtype:
        return torch.promote_types(self.hidden_ND.dtype, torch.float32)


def _bounded(logprobs: Tensor) -> Tensor:
    """In place: 0 x -inf would be NaN."""
    return logprobs.clamp_(min=torch.finfo(logprobs.dtype).min)
