"""A digest of a tensor's bytes, the same in the trainer and in an engine."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import xxhash

from reasongym.errors import SyncError, message

__all__ = ["compare", "digest"]


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
