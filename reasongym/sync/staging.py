"""New weights prepared beside those in use, so that an engine stands still for the change-over alone.

vLLM's layer-wise reload works in place: the engine waits until the last bucket is packed. Here each layer's new weights
are packed while the engine samples with the old ones, and `swap` puts them in. The price is a second set of weights in
memory for as long as an update lasts, and of those that are not packed, the embedding above all, for good: touching new
memory costs more than writing to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from reasongym.sync.in_use import Slot, input_width, slots, weight_in_use

__all__ = ["Probe", "StagedWeights"]

PROBED_COLUMNS = 16


class Probe:
    """Whether the weights in use are, row by row, what was sent under their names: then a model's parameters can be
    filled without its own loader, which may rename, transpose or scale. Some columns of each tensor are compared, bit
    for bit, after one update that the loader made."""

    def __init__(self) -> None:
        self.widths: dict[str, int] = {}
        self.columns: dict[str, torch.Tensor] = {}

    def saw(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """Keep some columns of what the model's own loader is given."""
        for name, tensor in tensors.items():
            self.widths[name] = tensor.shape[-1]
            self.columns[name] = tensor[..., _columns(tensor.shape[-1])].clone()

    def holds(self, model: Any) -> bool:
        """After the update: every parameter has parts that were sent, all of them, and they are where we would put
        them."""
        tied = _Tied(model)
        if {name for slot in tied.owners for name in slot.parts} != set(self.columns):
            return False
        return all(self._is_in_place(slot) for slot in tied.owners)

    def _is_in_place(self, slot: Slot) -> bool:
        width = _width(slot)
        if any(self.widths[name] != width for name in slot.parts):
            return False
        columns = _columns(width)
        used = weight_in_use(slot.module, columns) if slot.short == "weight" else slot.parameter.data[..., columns]
        if len(slot.parts) > 1 and sum(slot.module.output_sizes) != len(used):
            return False
        return all(torch.equal(piece, self.columns[name])
                   for name, piece in zip(slot.parts, slot.split(used), strict=True))


class StagedWeights:
    """One update of a model on CPU. `add` may run in a thread of its own while the model computes; `swap` may not.

    spare: by a parameter's id, memory that the update before took out of use, which is written over; `swap` fills it
    anew. Raises RuntimeError where a tensor has no place, or a parameter not all of its parts.
    """

    def __init__(self, model: Any, spare: dict[int, torch.Tensor] | None = None) -> None:
        tied = _Tied(model)
        self.tied = tied.users
        self.slots = {name: slot for slot in tied.owners for name in slot.parts}
        self.parts: dict[str, torch.Tensor] = {}  # of parameters that are not complete yet
        self.left = len(tied.owners)
        self.packed: list[tuple[Any, Any]] = []  # module, its new product
        self.whole: list[tuple[torch.nn.Parameter, torch.Tensor]] = []  # parameter, its new values
        self.spare = {} if spare is None else spare

    @torch.inference_mode()
    def add(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """Prepare what these tensors complete. They may be overwritten when this returns."""
        for name, tensor in tensors.items():
            slot = self.slots.get(name)
            if slot is None:
                raise RuntimeError(f"no parameter of the model is made of {name}")
            self.parts[name] = tensor
            if all(part in self.parts for part in slot.parts):
                self._prepare(slot, _joined([self.parts.pop(part) for part in slot.parts]))
        self.parts = {name: part.clone() if name in tensors else part for name, part in self.parts.items()}

    @torch.inference_mode()
    def swap(self) -> None:
        """From now on the model computes with what was prepared."""
        if self.left:
            raise RuntimeError(f"{self.left} parameters of the model were not sent, or in part: {sorted(self.parts)}")
        for parameter, values in self.whole:
            self.spare[id(parameter)] = parameter.data
            parameter.data = values
        for module, product in self.packed:
            module.cpu_linear = product

    def _prepare(self, slot: Slot, values: torch.Tensor) -> None:
        self.left -= 1
        parameter = slot.parameter
        users = [module for module in (slot.module, *self.tied.get(id(parameter), ())) if hasattr(module, "cpu_linear")]
        if slot.short != "weight" or not users:
            self.whole.append((parameter, self._kept(parameter, values)))
            return
        shadow = torch.nn.Module()  # is packed in the module's place
        shadow.weight = torch.nn.Parameter(values, requires_grad=False)
        if getattr(slot.module, "bias", None) is not None:
            shadow.bias = slot.module.bias
        slot.module.quant_method.process_weights_after_loading(shadow)
        self.packed += [(module, shadow.cpu_linear) for module in users]
        if shadow.weight.numel():  # is read without the packed copy too: an embedding
            self.whole.append((parameter, self._kept(parameter, values)))

    def _kept(self, parameter: torch.nn.Parameter, values: torch.Tensor) -> torch.Tensor:
        place = self.spare.pop(id(parameter), None)
        if place is None or place.shape != values.shape:
            place = torch.empty_like(values, dtype=parameter.dtype, memory_format=torch.contiguous_format)
        return place.copy_(values)


class _Tied:
    """The parameters of a model, each once, and the further modules that use one of them."""

    def __init__(self, model: Any) -> None:
        self.owners: list[Slot] = []
        self.users: dict[int, list[Any]] = {}
        known: set[int] = set()
        for slot in slots(model):
            key = id(slot.parameter)
            if key in known:
                self.users.setdefault(key, []).append(slot.module)
            else:
                known.add(key)
                self.owners.append(slot)


def _width(slot: Slot) -> int:
    """Columns of a parameter, also where only its packed copy is left."""
    return input_width(slot.module) if slot.parameter.numel() == 0 else slot.parameter.shape[-1]


def _columns(width: int) -> torch.Tensor:
    """Indices of some columns, the first and the last among them; the same for the same width."""
    generator = torch.Generator().manual_seed(width)
    drawn = torch.randint(width, (PROBED_COLUMNS,), generator=generator).tolist()
    return torch.tensor(sorted({0, width - 1, *drawn}))


def _joined(parts: Sequence[torch.Tensor]) -> torch.Tensor:
    """Parts on top of one another: without a copy where they lie so already."""
    first = parts[0]
    if len(parts) == 1:
        return first
    ends = [part.data_ptr() + part.nbytes for part in parts]
    starts = [part.data_ptr() for part in parts]
    if starts[1:] == ends[:-1] and all(part.is_contiguous() for part in parts):
        return first.as_strided((sum(len(part) for part in parts), *first.shape[1:]), first.stride())
    return torch.cat(list(parts))
