"""The model as the loss sees it: token ids in, log-probabilities of the completions' tokens out."""

# Shapes: R rows, L positions, D hidden width, B completions, T tokens, N trainable tokens of the micro-batch.

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from reasongym.algorithms.logprobs import token_logprobs
from reasongym.errors import ModelError, message
from reasongym.training.tensors import Batch

__all__ = ["Policy", "PolicyOutput", "load_policy"]


class PolicyOutput(NamedTuple):
    """logprobs_BT: with gradient, 0 where not trainable. entropy_BT: detached, likewise."""

    logprobs_BT: Tensor
    entropy_BT: Tensor


class Policy(nn.Module):
    """A causal language model whose forward pass yields log-probabilities at the sampling temperature.

    Only trainable positions go through the vocabulary, in chunks, so that the logits of all tokens never exist.
    """

    def __init__(self, model: nn.Module, *, temperature: float, chunk_tokens: int) -> None:
        super().__init__()
        self.model = model
        self.temperature, self.chunk_tokens = temperature, chunk_tokens

    def forward(self, batch: Batch) -> PolicyOutput:
        body, head = self.model.base_model, self.model.get_output_embeddings()  # type: ignore[operator]
        hidden_RLD = body(input_ids=batch.ids_RL, attention_mask=batch.attention_R1LL,  # type: ignore[operator]
                          position_ids=batch.positions_RL, use_cache=False).last_hidden_state
        hidden_ND = hidden_RLD.flatten(0, 1)[batch.source_BT[batch.trainable_BT]]
        targets_N = batch.targets_BT[batch.trainable_BT]
        # At least one token goes through the head: under ZeRO-3 its weights are gathered by a collective, and a rank
        # whose micro-batch is empty must take part.
        if not len(targets_N):
            hidden_ND, targets_N = hidden_RLD.flatten(0, 1)[:1], batch.ids_RL.flatten()[:1]
        found = token_logprobs(hidden_ND, targets_N, head=head, temperature=self.temperature,  # type: ignore[arg-type]
                               chunk_tokens=self.chunk_tokens)
        return PolicyOutput(*(self._scatter(values_N, batch.trainable_BT) for values_N in found))

    @staticmethod
    def _scatter(values_N: Tensor, trainable_BT: Tensor) -> Tensor:
        if not trainable_BT.any():
            return values_N.sum() * 0.0 + torch.zeros(trainable_BT.shape, device=values_N.device)
        return torch.zeros(trainable_BT.shape, dtype=values_N.dtype, device=values_N.device).masked_scatter(
            trainable_BT, values_N)


def load_policy(path: str, *, dtype: torch.dtype, trust_remote_code: bool, gradient_checkpointing: bool) -> Any:
    """The Hugging Face model in training mode. Raises ModelError when it cannot be loaded or scales its logits in a way
    `Policy` would miss."""
    from transformers import AutoModelForCausalLM

    try:
        model = AutoModelForCausalLM.from_pretrained(path, dtype=dtype, trust_remote_code=trust_remote_code,
                                                     attn_implementation="sdpa")
    except (OSError, ValueError) as error:
        raise ModelError(message(f"the model {path!r} cannot be loaded", got=str(error).splitlines()[0],
                                 expected="a Hugging Face folder of a causal language model, or a hub id",
                                 remedy="check model.path; without a network give a folder")) from error
    for setting in ("final_logit_softcapping", "logits_scaling", "logit_scale"):
        if getattr(model.config, setting, None) not in (None, 1, 1.0):
            raise ModelError(message(f"models with {setting} are not supported", got=getattr(model.config, setting),
                                     expected="logits that are the output embedding times the hidden state",
                                     remedy="choose another model"))
    model.train()
    if gradient_checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return model
