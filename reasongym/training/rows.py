"""From completions to rows of tokens, and from rows to micro-batches by token count. No torch.

A row holds one prompt and one or more completions of it. With `share_prompt` a group's prompt is read once and every
completion attends to it and to itself alone, which is the same computation as separate sequences with fewer tokens:
8 answers of 30 tokens to a prompt of 80 are 320 tokens for 880. Only where every layer of the model sees the whole of
a prompt and its answer is it the same: see `sharing`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from reasongym.arrays import flags, integers, num_set

__all__ = [
    "Column",
    "MicroBatch",
    "Row",
    "Sample",
    "batches_of",
    "micro_batches",
    "pack_rows",
    "split_over_ranks",
]

Column = Sequence[float]
"""One number a token of a completion, those outside its mask included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One completion to train on. token_ids and mask are held as arrays, as those of a Completion; mask: true where
    trainable.

    columns: what the loss needs of each token, by name: `engine_logprobs`, `old_logprobs`, `reference_logprobs`,
    `advantages`, `returns`, `old_values`. desirable: of a labelled completion.
    """

    prompt_ids: tuple[int, ...]
    token_ids: Sequence[int]
    mask: Sequence[int]
    columns: Mapping[str, Column] = field(default_factory=dict)
    desirable: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "token_ids", integers(self.token_ids))
        object.__setattr__(self, "mask", flags(self.mask))

    @property
    def num_trainable(self) -> int:
        return num_set(self.mask)

    def with_columns(self, **columns: Column) -> Sample:
        """The sample with these columns added or replaced."""
        return replace(self, columns={**self.columns, **columns})


@dataclass(frozen=True, slots=True)
class Row:
    """Samples of one prompt that are read together."""

    samples: tuple[Sample, ...]

    @property
    def length(self) -> int:
        """Tokens of the row: the prompt once, and every completion."""
        return len(self.samples[0].prompt_ids) + sum(len(s.token_ids) for s in self.samples)


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """Rows of one forward pass."""

    rows: tuple[Row, ...]

    @property
    def samples(self) -> tuple[Sample, ...]:
        return tuple(s for row in self.rows for s in row.samples)

    @property
    def padded_tokens(self) -> int:
        return len(self.rows) * max((row.length for row in self.rows), default=0)


def pack_rows(samples: Sequence[Sample], *, share_prompt: bool, budget: int, together: int = 1) -> list[Row]:
    """With `share_prompt`, rows of at most `budget` tokens (what is longer goes alone) of samples that follow one
    another and have the same prompt; without it a row a sample.

    together: so many samples that follow one another are never parted into two shared rows: 2 for pairs, whose loss
    needs both.
    """
    if not share_prompt:
        return [Row((sample,)) for sample in samples]
    rows: list[Row] = []
    current: list[Sample] = []
    length = 0
    for unit in (samples[i:i + together] for i in range(0, len(samples), together)):
        size = sum(len(sample.token_ids) for sample in unit)
        fits = current and unit[0].prompt_ids == current[0].prompt_ids and length + size <= budget
        if current and not fits:
            rows.append(Row(tuple(current)))
            current = []
        if not current:
            length = len(unit[0].prompt_ids)
        current += unit
        length += size
    if current:
        rows.append(Row(tuple(current)))
    return rows


def micro_batches(rows: Sequence[Row], *, budget: int, together: int = 1) -> list[MicroBatch]:
    """Group rows of similar length so that each micro-batch pads to at most `budget` tokens; what is longer goes alone.

    together: so many rows that follow one another are never parted and keep their order: 2 for pairs in two rows.
    """
    units = [rows[i:i + together] for i in range(0, len(rows), together)]
    batches: list[MicroBatch] = []
    current: list[Row] = []
    width = 0
    for unit in sorted(units, key=_longest, reverse=True):  # stable: equal lengths keep their order
        if current and (len(current) + len(unit)) * width > budget:
            batches.append(MicroBatch(tuple(current)))
            current = []
        width = width if current else _longest(unit)
        current += unit
    if current:
        batches.append(MicroBatch(tuple(current)))
    return batches


def batches_of(samples: Sequence[Sample], *, share_prompt: bool, budget: int, together: int = 1) -> list[MicroBatch]:
    """Samples to micro-batches of at most `budget` padded tokens, `together` of them always in the same one."""
    rows = pack_rows(samples, share_prompt=share_prompt, budget=budget, together=together)
    return micro_batches(rows, budget=budget, together=1 if share_prompt else together)


def _longest(rows: Sequence[Row]) -> int:
    return max(row.length for row in rows)


def split_over_ranks(batches: Sequence[MicroBatch], ranks: int) -> list[list[MicroBatch]]:
    """Deal micro-batches to ranks, heaviest first to the least loaded, then fill up with empty ones.

    Every rank gets the same number, at least one: a forward pass under ZeRO-3 is a collective.
    """
    dealt: list[list[MicroBatch]] = [[] for _ in range(ranks)]
    loads = [0] * ranks
    for batch in sorted(batches, key=lambda b: -b.padded_tokens):
        target = min(range(ranks), key=loads.__getitem__)
        dealt[target].append(batch)
        loads[target] += batch.padded_tokens
    most = max(1, *(len(d) for d in dealt))
    return [[*d, *[MicroBatch(())] * (most - len(d))] for d in dealt]
