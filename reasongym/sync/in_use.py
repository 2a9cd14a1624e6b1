"""The weights that a vLLM model computes with, under the names that its checkpoint has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch

from reasongym.sync.checksums import ALL, Columns, digest

__all__ = ["Slot", "digests", "input_width", "repack_tied_heads", "slots", "weight_in_use"]

BLOCK = 256  # columns of a weight that are read back at one time


class Slot(NamedTuple):
    """One parameter of the model. parts: the checkpoint's names for it, by rows from the top; vLLM fuses projections
    that read the same input."""

    module: Any
    short: str
    parts: tuple[str, ...]

    @property
    def parameter(self) -> torch.nn.Parameter:
        return self.module._parameters[self.short]  # type: ignore[no-any-return]

    def split(self, tensor: torch.Tensor) -> Sequence[torch.Tensor]:
        """The rows of each part."""
        return (tensor,) if len(self.parts) == 1 else torch.split(tensor, self.module.output_sizes)


def slots(model: Any) -> Iterator[Slot]:
    """Every parameter, module by module. One that two modules share comes twice."""
    packed = getattr(model, "packed_modules_mapping", {})
    for name, module in model.named_modules():
        fused = next((f for f in packed if name.endswith(f".{f}")), None)
        stems = [name] if fused is None else [name.removesuffix(fused) + part for part in packed[fused]]
        for short, _ in module.named_parameters(recurse=False):
            yield Slot(module, short, tuple(f"{stem}.{short}" for stem in stems))


def digests(model: Any, columns: Columns = ALL) -> dict[str, str]:
    """Checkpoint name -> digest of these columns of the weights in use. A parameter that two modules share must be the
    same in both: where a tied copy is stale, the name's digest says so and equals nothing."""
    uses: dict[str, dict[str, str]] = {}  # a parameter's first name -> where it is used -> digest
    owners: dict[int, str] = {}
    for slot in slots(model):
        used = _used(slot, columns)
        stored = slot.parameter.data if len(slot.parts) == 1 else slot.parameter.data[:0]  # empty where vLLM dropped it
        for name, piece in zip(slot.parts, slot.split(used), strict=True):
            owner = owners.setdefault(stored.data_ptr(), name) if stored.numel() else name
            places = uses.setdefault(owner, {})
            places[name] = digest(piece)
            if stored.numel() and stored.untyped_storage().data_ptr() != used.untyped_storage().data_ptr():
                places[f"{name} as stored"] = digest(columns.cut(stored))
    return {owner: places[owner] if len(set(places.values())) == 1 else str(places) for owner, places in uses.items()}


def _used(slot: Slot, columns: Columns) -> torch.Tensor:
    width = input_width(slot.module)
    if slot.short != "weight" or getattr(slot.module, "cpu_linear", None) is None or not width:
        return columns.cut(slot.parameter.data)
    return weight_in_use(slot.module, torch.arange(width)[columns.of(width)])


def weight_in_use(module: Any, columns: torch.Tensor | None = None) -> torch.Tensor:
    """The weight that this module multiplies with, or some of its columns (indices).

    vLLM's CPU path keeps a packed copy inside a kernel and may empty `module.weight`, so comparing parameters would
    miss a stale copy. Multiplying the identity returns the packed weight exactly: each output is one product w * 1
    plus zeros.
    """
    multiply, width = getattr(module, "cpu_linear", None), input_width(module)
    if multiply is None or not width:
        weight = module.weight.data
        return weight if columns is None else weight[..., columns]  # type: ignore[no-any-return]
    wanted = torch.arange(width) if columns is None else columns
    blocks = []
    for part in torch.split(wanted, BLOCK):
        rows = torch.zeros(len(part), width, dtype=module.weight.dtype)
        rows[torch.arange(len(part)), part] = 1
        blocks.append(multiply(rows, module.weight, None).clone())
    return torch.cat(blocks).t()


def input_width(module: Any) -> int:
    """How many inputs a vLLM layer has; 0 for one that does not say."""
    return int(getattr(module, "input_size_per_partition", None) or getattr(module, "embedding_dim", None) or 0)


def repack_tied_heads(model: torch.nn.Module) -> None:
    """Pack an output head's weights anew where they are the embedding's.

    vLLM's CPU path multiplies with a packed copy. The layer-wise reload packs the layers that it loaded, and a tied
    head is never loaded by its own name: without this it goes on multiplying with the weights of the engine's start.
    """
    owners: dict[int, torch.nn.Module] = {}
    for module in model.modules():
        weight = getattr(module, "weight", None)
        if weight is None or not hasattr(module, "cpu_linear") or not weight.numel():
            continue
        if owners.setdefault(weight.data_ptr(), module) is not module:
            module.quant_method.process_weights_after_loading(module)  # type: ignore[operator, union-attr]
