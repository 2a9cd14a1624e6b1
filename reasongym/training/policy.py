"""The model as the loss sees it: token ids in, log-probabilities of the completions' tokens out."""

# Shapes: R rows, L positions, D hidden width, B completions, T tokens, N trainable tokens of the micro-batch.

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from reasongym.algorithms.logprobs import LogprobsEntropy, token_logprobs
from reasongym.errors import ModelError, message
from reasongym.training.sequence import Team
from reasongym.training.tensors import Batch

__all__ = ["Policy", "PolicyOutput", "load_policy"]


class PolicyOutput(NamedTuple):
    """logprobs_BT: with gradient, 0 where not trainable. entropy_BT: likewise, detached unless the loss has it."""

    logprobs_BT: Tensor
    entropy_BT: Tensor


class Policy(nn.Module):
    """A causal language model whose forward pass yields log-probabilities at the sampling temperature.

    Only trainable positions go through the vocabulary, in chunks, so that the logits of all tokens never exist. team:
    of ranks that read each row together; the model was loaded for it.
    """

    def __init__(self, model: nn.Module, *, temperature: float, chunk_tokens: int, entropy_gradient: bool = False,
                 team: Team | None = None) -> None:
        super().__init__()
        self.model, self.team = model, team
        self.output = Output(model.get_output_embeddings(), temperature=temperature,  # type: ignore[operator]
                             chunk_tokens=chunk_tokens, entropy_gradient=entropy_gradient)

    def forward(self, batch: Batch) -> PolicyOutput:
        if self.team is None:
            return self._read(batch)
        own = self._read(self.team.part_of(batch))
        return PolicyOutput(*(self.team.joined(values_BT) for values_BT in own))

    def _read(self, batch: Batch) -> PolicyOutput:
        body = self.model.base_model
        hidden_RLD = body(input_ids=batch.ids_RL, attention_mask=batch.attention_R1LL,  # type: ignore[operator]
                          position_ids=batch.positions_RL, use_cache=False).last_hidden_state
        source_N, targets_N = batch.source_BT[batch.trainable_BT], batch.targets_BT[batch.trainable_BT]
        found = self.output(hidden_RLD.flatten(0, 1)[source_N], targets_N)
        return PolicyOutput(*(_scatter(values_N, batch.trainable_BT) for values_N in found))


class Output(nn.Module):
    """Log-probabilities of tokens by the model's own output head. A module, called once on every rank whatever the
    number of its tokens: ZeRO-3 gathers what a module reads while it runs, and that is a collective.

    borrowed: parameters of other modules that this one reads.
    """

    def __init__(self, head: nn.Linear, *, temperature: float, chunk_tokens: int, entropy_gradient: bool) -> None:
        super().__init__()
        self.borrowed = (head.weight,) if head.bias is None else (head.weight, head.bias)
        self.temperature, self.chunk_tokens, self.entropy_gradient = temperature, chunk_tokens, entropy_gradient

    def forward(self, hidden_ND: Tensor, targets_N: Tensor) -> LogprobsEntropy:
        weight_VD, *bias = self.borrowed
        return token_logprobs(hidden_ND, targets_N, weight_VD=weight_VD, bias_V=bias[0] if bias else None,
                              temperature=self.temperature, chunk_tokens=self.chunk_tokens,
                              entropy_gradient=self.entropy_gradient)


def _scatter(values_N: Tensor, trainable_BT: Tensor) -> Tensor:
    """Values to their places; without any, still connected to the model."""
    zeros_BT = torch.zeros(trainable_BT.shape, dtype=values_N.dtype, device=values_N.device)
    return zeros_BT.masked_scatter(trainable_BT, values_N)


def load_policy(path: str, *, dtype: torch.dtype, trust_remote_code: bool, gradient_checkpointing: bool,
                team: Team | None = None) -> Any:
    """The Hugging Face model in training mode. Raises ModelError when it cannot be loaded or scales its logits in a way
    `Policy` would miss."""
    from transformers import AutoModelForCausalLM

    try:
        model = AutoModelForCausalLM.from_pretrained(path, dtype=dtype, trust_remote_code=trust_remote_code,
                                                     attn_implementation=team.attention if team else "sdpa")
    except (OSError, ValueError) as error:
        raise ModelError(message(f"the model {path!r} cannot be loaded", got=str(error).splitlines()[0],
                                 expected="a Hugging Face folder of a causal language model, or a hub id",
                                 remedy="check model.path; without a network give a folder")) from error
    for setting in ("final_logit_softcapping", "logits_scaling", "logit_scale"):
        if getattr(model.config, setting, None) not in (None, 1, 1.0):
            raise ModelError(message(f"models with {setting} are not supported", got=getattr(model.config, setting),
                                     expected="logits that are the output embedding times the hidden state",
                                     remedy="choose another model"))
    head = model.get_output_embeddings()
    if type(head) is not nn.Linear:  # what another kind's forward does would be missed: `Output` reads its weights
        raise ModelError(message("the model's output head is not supported", got=type(head).__name__,
                                 expected="torch.nn.Linear: an output embedding times the hidden state",
                                 remedy="choose another model"))
    model.train()
    _switch_off_dropout(model)
    if gradient_checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return model


def _switch_off_dropout(model: nn.Module) -> None:
    """The engine samples without dropout: with it the ratio of the two policies would be noise."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        if isinstance(getattr(module, "attention_dropout", None), float):
            setattr(module, "attention_dropout", 0.0)  # noqa: B010 - modules declare tensors and modules only
