"""How named tensors lie in flat buckets. Pure: no tensors are touched here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Bucket", "TensorSpec", "bucketize"]

ALIGNMENT = 64  # bytes: a cache line, and enough for every dtype


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """One tensor of the model: checkpoint name, dtype name such as `bfloat16`, shape, place in its bucket in bytes."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class Bucket:
    """Tensors that are gathered, moved and loaded together."""

    tensors: tuple[TensorSpec, ...]
    nbytes: int

    def as_dicts(self) -> list[dict[str, Any]]:
        return [asdict(t) for t in self.tensors]


def bucketize(parameters: Sequence[tuple[str, str, tuple[int, ...], int]], capacity: int) -> list[Bucket]:
    """Split `(name, dtype, shape, itemsize)` in the order given into buckets of at most `capacity` bytes.

    A tensor larger than the capacity gets a bucket of its own.
    """
    buckets: list[Bucket] = []
    current: list[TensorSpec] = []
    end = 0
    for name, dtype, shape, itemsize in parameters:
        nbytes = math.prod(shape) * itemsize
        if current and end + nbytes > capacity:
            buckets.append(Bucket(tuple(current), end))
            current, end = [], 0
        current.append(TensorSpec(name, dtype, tuple(shape), end, nbytes))
        end += -(-nbytes // ALIGNMENT) * ALIGNMENT
    if current:
        buckets.append(Bucket(tuple(current), end))
    return buckets
