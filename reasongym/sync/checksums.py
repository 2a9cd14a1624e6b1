"""A digest of a tensor's bytes, the same in the trainer and in an engine: of all of it, or of a part of its columns.

What an engine multiplies with is read back column by column, which takes longer than the transfer. A part says of every
tensor whether it is the new one, and parts that take turns see every element.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
import xxhash

from reasongym.errors import SyncError, message

__all__ = ["ALL", "Columns", "compare", "digest", "in_turn"]

PARTS = 8


class Columns(NamedTuple):
    """The part `number` of `parts` of a matrix's columns, side by side; all of a vector, and where there are fewer."""

    number: int
    parts: int

    def of(self, width: int) -> slice:
        """Which of so many columns."""
        if width < self.parts:
            return slice(0, width)
        return slice(width * self.number // self.parts, width * (self.number + 1) // self.parts)

    def cut(self, tensor: torch.Tensor) -> torch.Tensor:
        """A view of them. Both sides must keep the tensor in the same shape."""
        return tensor if tensor.ndim < 2 else tensor[..., self.of(tensor.shape[-1])]


ALL = Columns(0, 1)


def in_turn(number: int) -> Columns:
    """Of comparisons one after another, each another eighth."""
    return Columns(number % PARTS, PARTS)


def digest(tensor: torch.Tensor) -> str:
    """XXH3-64 of the tensor's bytes in row-major order, as 16 hexadecimal digits; dtype and shape do not enter."""
    flat = tensor.detach().to("cpu").contiguous().reshape(-1).view(torch.uint8)
    return xxhash.xxh3_64(flat.numpy().data).hexdigest()


def compare(expected: Mapping[str, str], got: Mapping[str, str], *, engine: int, version: int) -> None:
    """Raise SyncError unless an engine's digests are the trainer's, name by name.

    A name the engine lacks is an error; names only the engine has (a tied head, buffers) are not.
    """
    wrong = [name for name, value in expected.items() if got.get(name) != value]
    if wrong:
        some = ", ".join(f"{name} ({got.get(name, 'absent')} for {expected[name]})" for name in wrong[:3])
        raise SyncError(message(f"engine {engine} does not hold the trainer's weights of version {version}",
                                got=f"{len(wrong)} of {len(expected)} tensors differ: {some}",
                                expected="equal checksums of every tensor",
                                remedy="resume from the last checkpoint; report it if it happens again"))
