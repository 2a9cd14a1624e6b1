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


Parameter = tuple[str, str, tuple[int, ...], int]
"""Name, dtype, shape, bytes of an element."""


def bucketize(parameters: Sequence[Parameter], capacity: int) -> list[Bucket]:
    """Split them in the order given into buckets of at most `capacity` bytes: as few as that takes, and as even, since
    a bucket is written while the one before it is read.

    A tensor larger than the capacity gets a bucket of its own.
    """
    count, low, high = len(_filled(parameters, capacity)), 0, capacity
    while high - low > ALIGNMENT:
        middle = (low + high) // 2
        low, high = (low, middle) if len(_filled(parameters, middle)) == count else (middle, high)
    return _filled(parameters, high)


def _filled(parameters: Sequence[Parameter], capacity: int) -> list[Bucket]:
    """One bucket after another, each as full as it gets."""
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
