"""Sequence parallelism: the ranks of a team read the same rows, each its own part of their positions
(DeepSpeed-Ulysses, arXiv 2309.14509). What a rank keeps for the backward pass is divided by the size of the team.

Attention alone needs whole rows. Before it the ranks trade their positions of all heads for all positions of some
heads, and after it back; DeepSpeed's class does that, here under our own mask, which every rank has in full.

Every rank computes the loss of the whole rows, from log-probabilities that the team puts together, and takes the
gradient of its own part of them. So the gradients of all ranks add up to the loss's, as they do over data.

Assumes layers that see what the mask shows (`sharing`): a window or a state of a layer's own would be lost.
"""

# Shapes: R rows, L positions of a row, P positions of a rank's part, H heads, D width of a head, B completions,
# T tokens of a completion.

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.functional import pad

from reasongym.training.tensors import Batch

__all__ = ["Team"]


class Team:
    """Neighbours in the order of ranks. Making one is a collective of all ranks. attention: its name in transformers,
    by which a model is loaded."""

    attention = "reasongym_team"

    def __init__(self, *, rank: int, world: int, size: int) -> None:
        groups = [dist.new_group(list(range(first, first + size))) for first in range(0, world, size)]
        self.group, self.place, self.size = groups[rank // size], rank % size, size
        self._trades: dict[tuple[int, ...], Any] = {}
        from transformers import AttentionInterface

        AttentionInterface.register(self.attention, self._attend)

    def part_of(self, batch: Batch) -> Batch:
        """This rank's positions of every row, which are filled up so that all parts are equally long. The mask stays
        that of whole rows; trainable are the tokens that this rank's positions predict."""
        length = batch.ids_RL.shape[1]
        width = -(-length // self.size)
        first, lacking = self.place * width, self.size * width - length
        row_BT, position_BT = batch.source_BT // length, batch.source_BT % length
        own_BT = (position_BT >= first) & (position_BT < first + width)
        return batch._replace(
            ids_RL=pad(batch.ids_RL, (0, lacking))[:, first:first + width].contiguous(),
            positions_RL=pad(batch.positions_RL, (0, lacking))[:, first:first + width].contiguous(),
            attention_R1LL=_filled_up(batch.attention_R1LL, lacking),
            source_BT=torch.where(own_BT, row_BT * width + position_BT - first, 0),
            trainable_BT=batch.trainable_BT & own_BT)

    def joined(self, values_BT: Tensor) -> Tensor:
        """The ranks' values put together, each of which is 0 on all ranks but one."""
        joined: Tensor = _Joined.apply(values_BT, self.group)  # type: ignore[no-untyped-call]
        return joined

    def _attend(self, module: Any, query_RHPD: Tensor, key_RHPD: Tensor, value_RHPD: Tensor,
                attention_R1LL: Tensor | None, **options: Any) -> tuple[Tensor, Tensor | None]:
        """transformers' interface of an attention function: PyTorch's fused one over whole rows, for some heads."""
        rows, heads, _, width = query_RHPD.shape
        shape = (rows, heads, key_RHPD.shape[1], width)
        if shape not in self._trades:
            self._trades[shape] = self._trade(*shape)
        found: tuple[Tensor, Tensor | None] = self._trades[shape](
            module, query_RHPD, key_RHPD, value_RHPD, attention_R1LL, **options)
        return found

    def _trade(self, rows: int, heads: int, kv_heads: int, width: int) -> Any:
        from deepspeed.runtime.sequence_parallel.ulysses_sp import UlyssesSPAttentionHF
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        return UlyssesSPAttentionHF(attn=sdpa_attention_forward, batch_size=rows, attn_head_count=heads,
                                    attn_head_size=width, kv_head_count=kv_heads, num_hidden_layers=1,
                                    process_group=self.group, seq_length_is_variable=True)


class _Joined(torch.autograd.Function):
    """A sum over the team, whose gradient stays where it is: each rank has the whole loss's already."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, group: Any) -> Tensor:
        whole = values.detach().clone()
        if whole.numel():
            dist.all_reduce(whole, group=group)
        return whole

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0], None


def _filled_up(attention_R1LL: Tensor | None, lacking: int) -> Tensor | None:
    """Positions that hold nothing look at themselves: a row of no keys would be NaN."""
    if attention_R1LL is None or not lacking:
        return attention_R1LL
    filled = pad(attention_R1LL, (0, lacking, 0, lacking))
    return filled | torch.eye(filled.shape[-1], dtype=torch.bool, device=filled.device)
