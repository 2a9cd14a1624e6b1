"""PPO's critic: the body of the policy's model with a single output, on ranks and with an optimizer of its own."""

# Shapes: R rows, L positions, D hidden width, B completions, T tokens of a completion.

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from reasongym.algorithms import ppo
from reasongym.algorithms.aggregation import aggregate
from reasongym.algorithms.correction import MismatchSums
from reasongym.config.policy_gradient import CriticConfig
from reasongym.training.policy import load_policy
from reasongym.training.rows import MicroBatch
from reasongym.training.tensors import Batch
from reasongym.training.update import MicroLoss
from reasongym.training.zero import partitioned_loading
from reasongym.training.zero_rank import RankSettings, StepTotals, ZeroRank

__all__ = ["Critic", "CriticOutput", "CriticRank", "ValueHead", "ValueSettings", "critic_settings", "value_share"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueSettings:
    """denominator: trainable tokens of the optimizer step, over all micro-batches and ranks. value_clip: None is no
    bound."""

    denominator: float
    value_clip: float | None


class CriticOutput(NamedTuple):
    """values_BT: float32, with gradient, of what stands before each token; 0 where not trainable."""

    values_BT: Tensor


class ValueHead(nn.Linear):
    """One number a position; 0 until it is trained, so that PPO begins without a baseline and not with noise.

    It computes in float32. DeepSpeed keeps one type for all weights of a module, so under bfloat16 the weights have it,
    over a float32 master copy.
    """

    def __init__(self, width: int, *, dtype: torch.dtype) -> None:
        super().__init__(width, 1, dtype=dtype)
        nn.init.zeros_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, hidden_RLD: Tensor) -> Tensor:
        return linear(hidden_RLD.float(), self.weight.float(), self.bias.float())[..., 0]


class Critic(nn.Module):
    """The body, and a head that every forward pass calls once: with no completion too, for under ZeRO-3 each call is a
    collective."""

    def __init__(self, body: nn.Module, head: ValueHead) -> None:
        super().__init__()
        self.body, self.head = body, head

    def forward(self, batch: Batch) -> CriticOutput:
        hidden_RLD = self.body(input_ids=batch.ids_RL, attention_mask=batch.attention_R1LL,
                               position_ids=batch.positions_RL, use_cache=False).last_hidden_state
        values_BT = self.head(hidden_RLD).flatten()[batch.source_BT]
        return CriticOutput(torch.where(batch.trainable_BT, values_BT, 0.0))


class CriticRank(ZeroRank):
    """Holds a partition of the critic and of its optimizer."""

    noun = "critic rank"

    def load_module(self) -> Critic:
        s = self.settings
        dtype = getattr(torch, s.zero.dtype)
        with partitioned_loading(s.zero, train=True):
            model = load_policy(s.model, dtype=dtype, trust_remote_code=s.trust_remote_code,
                                gradient_checkpointing=s.gradient_checkpointing)
        return Critic(model.base_model, ValueHead(model.config.get_text_config().hidden_size, dtype=dtype))

    def values(self, micros: Sequence[MicroBatch]) -> list[list[list[float]]]:
        """Of each completion's tokens before they are sampled, without gradient, by micro-batch."""
        return self.measure(self.engine, micros, "values_BT")

    def train(self, micros: Sequence[MicroBatch], loss: ValueSettings, learning_rate: float) -> StepTotals:
        """One optimizer step over this rank's micro-batches; every rank is given equally many."""
        return self.step(micros, learning_rate, lambda batch, output: value_share(batch, output, loss))


def critic_settings(policy: RankSettings, critic: CriticConfig) -> RankSettings:
    """Those of the policy's ranks, but for what the critic has of its own."""
    zero = replace(policy.zero, learning_rate=critic.learning_rate, max_grad_norm=critic.max_grad_norm,
                   tensor_parallel=1)
    return replace(policy, zero=zero, world=critic.ranks, reference=False, sequence_parallel=1,
                   threads=max(1, policy.threads * policy.world // critic.ranks))


def value_share(batch: Batch, output: CriticOutput, settings: ValueSettings) -> MicroLoss:
    """One micro-batch's share of the step's value loss. Columns: `old_values` and `returns`."""
    if not batch.columns:
        return MicroLoss(output.values_BT.sum(), {}, MismatchSums())  # of nothing: 0, and connected to all weights
    mask_BT = batch.trainable_BT
    found = ppo.value_loss(values_BT=output.values_BT, old_values_BT=batch.columns["old_values"],
                           returns_BT=batch.columns["returns"], mask_BT=mask_BT,
                           value_clip=math.inf if settings.value_clip is None else settings.value_clip)
    sums = {"tokens": float(mask_BT.sum()), "clipped": float((found.clipped_BT & mask_BT).sum())}
    return MicroLoss(aggregate(found.loss_BT, mask_BT, kind="token", denominator=settings.denominator), sums,
                     MismatchSums())
