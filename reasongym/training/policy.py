"""The model as the loss sees it: token ids in, log-probabilities of the completions' tokens out."""

# Shapes: R rows, L positions, D hidden width, B completions, T tokens, N trainable tokens of the micro-batch.

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor, nn

from reasongym.algorithms.logprobs import token_logprobs
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
        self.model, self.entropy_gradient, self.team = model, entropy_gradient, team
        self.temperature, self.chunk_tokens = temperature, chunk_tokens

    def forward(self, batch: Batch) -> PolicyOutput:
        if self.team is None:
            return self._read(batch)
        own = self._read(self.team.part_of(batch))
        return PolicyOutput(*(self.team.joined(values_BT) for values_BT in own))

    def _read(self, batch: Batch) -> PolicyOutput:
        body, head = self.model.base_model, self.model.get_output_embeddings()  # type: ignore[operator]
        hidden_RLD = body(input_ids=batch.ids_RL, attention_mask=batch.attention_R1LL,  # type: ignore[operator]
                          position_ids=batch.positions_RL, use_cache=False).last_hidden_state
        source_N, targets_N = batch.source_BT[batch.trainable_BT], batch.targets_BT[batch.trainable_BT]
        idle = torch.zeros(self._num_idle(len(targets_N), targets_N.device), dtype=torch.long, device=targets_N.device)
        hidden_ND = hidden_RLD.flatten(0, 1)[torch.cat([source_N, idle])]
        found = token_logprobs(hidden_ND, torch.cat([targets_N, idle]), head=head,  # type: ignore[arg-type]
                               temperature=self.temperature, chunk_tokens=self.chunk_tokens,
                               entropy_gradient=self.entropy_gradient)
        return PolicyOutput(*(_scatter(values_N, batch.trainable_BT) for values_N in found))

    def _num_idle(self, num_tokens: int, device: torch.device) -> int:
        """Tokens to send through the head without use, so that every rank calls it equally often, and at least once.

        Under ZeRO-3 each call gathers the head's weights, a collective: a rank with fewer chunks would leave the others
        waiting.
        """
        longest = torch.tensor(max(num_tokens, 1), device=device)
        if dist.is_initialized() and dist.get_world_size() > 1:
            dist.all_reduce(longest, op=dist.ReduceOp.MAX)
        least = (math.ceil(int(longest) / self.chunk_tokens) - 1) * self.chunk_tokens + 1
        return max(0, least - num_tokens)


def _scatter(values_N: Tensor, trainable_BT: Tensor) -> Tensor:
    """Values to their places; what follows the last place was idle, and adds a gradient of exactly zero."""
    num_used = int(trainable_BT.sum())
    used_N, idle_N = values_N[:num_used], values_N[num_used:]
    zeros_BT = torch.zeros(trainable_BT.shape, dtype=values_N.dtype, device=values_N.device)
    return zeros_BT.masked_scatter(trainable_BT, used_N) + idle_N.sum() * 0.0


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
