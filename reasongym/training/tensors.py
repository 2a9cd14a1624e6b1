"""A micro-batch as tensors."""

# Shapes: R rows, L positions of a row (padded), B completions, T tokens of a completion (padded).

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from reasongym.training.rows import MicroBatch, Row

__all__ = ["Batch", "collate", "padded"]

PADDING = -1  # segment of positions that hold nothing
OF_CODE = {"b": torch.int8, "i": torch.int32, "f": torch.float32, "d": torch.float64}  # by an array's typecode
PROMPT = 0  # segment of the prompt; completions are 1, 2, ...


class Batch(NamedTuple):
    """Everything a forward pass and its loss need.

    attention_R1LL: True where a query may look, or None when plain causal attention says the same.
    source_BT: index into the flattened R*L positions whose hidden state predicts token t. trainable_BT: the loss mask.
    columns: the samples' numbers a token by name, each (B, T), 0 where there is no token. desirable_B: bool.
    """

    ids_RL: Tensor
    positions_RL: Tensor
    attention_R1LL: Tensor | None
    source_BT: Tensor
    targets_BT: Tensor
    trainable_BT: Tensor
    columns: dict[str, Tensor]
    desirable_B: Tensor


def collate(micro: MicroBatch, *, device: torch.device, pad_id: int = 0) -> Batch:
    """Tensors of a micro-batch. An empty one becomes a single padded row and no completion."""
    rows = micro.rows
    length = max([row.length for row in rows], default=2)
    ids_RL = torch.full((max(len(rows), 1), length), pad_id)
    positions_RL = torch.arange(length).repeat(len(ids_RL), 1)
    segments_RL = torch.full_like(ids_RL, PADDING)
    sources: list[Tensor] = []
    for index, row in enumerate(rows):
        sources += _fill(row, ids_RL[index], positions_RL[index], segments_RL[index], offset=index * length)
    samples = micro.samples
    shared = any(len(row.samples) > 1 for row in rows)
    batch = Batch(
        ids_RL=ids_RL, positions_RL=positions_RL, attention_R1LL=_attention(segments_RL) if shared else None,
        source_BT=padded([source.tolist() for source in sources], dtype=torch.long),
        targets_BT=padded([s.token_ids for s in samples], dtype=torch.long),
        trainable_BT=padded([s.mask for s in samples], dtype=torch.bool),
        columns={name: padded([s.columns[name] for s in samples]) for name in (samples[0].columns if samples else ())},
        desirable_B=torch.tensor([s.desirable for s in samples], dtype=torch.bool))
    return _moved(batch, device)


def padded(rows: Sequence[Sequence[float]], *, dtype: torch.dtype = torch.float32) -> Tensor:
    """(B, T): rows of numbers, filled up with 0 to the longest; T is at least 1."""
    width = max([len(row) for row in rows], default=0) or 1
    filled = torch.zeros(len(rows), width, dtype=dtype)
    for index, row in enumerate(rows):
        filled[index, :len(row)] = _tensor(row, dtype)
    return filled


def _tensor(numbers: Sequence[float], dtype: torch.dtype) -> Tensor:
    """An array's numbers are not looked at one by one."""
    if isinstance(numbers, array) and numbers:
        return torch.frombuffer(numbers, dtype=OF_CODE[numbers.typecode]).to(dtype)
    return torch.tensor(numbers, dtype=dtype)


def _moved(batch: Batch, device: torch.device) -> Batch:
    columns = {name: column_BT.to(device) for name, column_BT in batch.columns.items()}
    tensors = {name: value.to(device) for name, value in batch._asdict().items() if isinstance(value, Tensor)}
    return batch._replace(columns=columns, **tensors)


def _fill(row: Row, ids_L: Tensor, positions_L: Tensor, segments_L: Tensor, *, offset: int) -> list[Tensor]:
    """Write a row in place; for each of its completions, the flat positions that predict its tokens."""
    prompt = row.samples[0].prompt_ids
    start = len(prompt)
    ids_L[:start] = torch.tensor(prompt, dtype=torch.long)
    segments_L[:start] = PROMPT
    sources = []
    for segment, sample in enumerate(row.samples, start=1):
        n = len(sample.token_ids)
        end = start + n
        ids_L[start:end] = _tensor(sample.token_ids, torch.long)
        positions_L[start:end] = torch.arange(len(prompt), len(prompt) + n)
        segments_L[start:end] = segment
        # The prompt's last position predicts the first token of every completion; after it, each token the next.
        previous = torch.arange(start - 1, end - 1)
        previous[:1] = len(prompt) - 1
        sources.append(previous + offset)
        start = end
    return sources


def _attention(segments_RL: Tensor) -> Tensor:
    """Causal within a completion and to its prompt. Padding looks at itself: a row of no keys would be NaN."""
    length = segments_RL.shape[1]
    query_RL1, key_R1L = segments_RL[:, :, None], segments_RL[:, None, :]
    causal_LL = torch.ones(length, length, dtype=torch.bool).tril()
    allowed = causal_LL & ((query_RL1 == key_R1L) | (key_R1L == PROMPT))
    return (allowed | torch.eye(length, dtype=torch.bool))[:, None]
