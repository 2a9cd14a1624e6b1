"""What vLLM loads in its own processes: the receiving half of our transport, and checksums of the weights in use.

`register` is the `vllm.general_plugins` entry point: the engine core and its workers are processes of their own, so
the transport must be registered there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from reasongym.sync.shared_memory import BACKEND, open_segment, view

__all__ = ["SharedMemoryEngine", "WeightChecksums", "digests", "register", "repack_tied_heads"]

def register() -> None:
    """Make `BACKEND` known to vLLM's factory; vLLM may call it several times in one process."""
    from vllm.distributed.weight_transfer.factory import WeightTransferEngineFactory

    if BACKEND not in WeightTransferEngineFactory._registry:
        WeightTransferEngineFactory.register_engine(BACKEND, SharedMemoryEngine)  # type: ignore[type-abstract]


try:
    from vllm.distributed.weight_transfer.base import (
        WeightTransferEngine,
        WeightTransferInitInfo,
        WeightTransferUpdateInfo,
    )
except ImportError:  # without vLLM the module still imports, so that its other half can be read and tested
    WeightTransferEngine = WeightTransferInitInfo = WeightTransferUpdateInfo = object


@dataclass
class SharedMemoryInit(WeightTransferInitInfo):  # type: ignore[misc]
    """Nothing to agree on: each update names its segment."""


@dataclass
class SharedMemoryUpdate(WeightTransferUpdateInfo):  # type: ignore[misc]
    """One bucket: the segment's path and size in bytes, and its tensors as `layout.TensorSpec` dicts."""

    path: str
    nbytes: int
    tensors: list[dict[str, Any]]


class SharedMemoryEngine(WeightTransferEngine):  # type: ignore[misc]
    """Loads buckets out of a memory-mapped segment, in checkpoint format, through vLLM's layer-wise reload."""

    init_info_cls = SharedMemoryInit
    update_info_cls = SharedMemoryUpdate

    def init_transfer_engine(self, init_info: SharedMemoryInit) -> None:
        del init_info

    def start_weight_update(self) -> None:
        from vllm.model_executor.model_loader.reload import initialize_layerwise_reload

        initialize_layerwise_reload(self.model)

    def update_weights(self, update_info: dict[str, Any]) -> None:
        self.receive_weights(self.parse_update_info(update_info))
        if self.device.type != "cpu":
            torch.accelerator.synchronize()

    def receive_weights(self, update_info: SharedMemoryUpdate) -> None:
        segment = open_segment(update_info.path, update_info.nbytes)
        # The layer-wise reload keeps references to what it is given until its layer is complete, which may be in a
        # later bucket, while the sender reuses the segment: so each tensor is copied.
        self.model.load_weights([(t["name"], view(segment, t).to(self.device, copy=True)) for t in update_info.tensors])

    def finish_weight_update(self) -> None:
        from vllm.model_executor.model_loader.reload import finalize_layerwise_reload

        finalize_layerwise_reload(self.model, self.model_config)
        repack_tied_heads(self.model)

    def shutdown(self) -> None:
        return


class WeightChecksums:
    """A vLLM worker extension: digests of the weights this worker computes with, under their checkpoint names."""

    def reasongym_checksums(self) -> dict[str, str]:
        """Checkpoint name -> digest. With tensor parallelism the shards are not comparable and the answer is empty."""
        model = self.model_runner.get_model()  # type: ignore[attr-defined]
        if self.parallel_config.tensor_parallel_size > 1:  # type: ignore[attr-defined]
            return {}
        return digests(model)

    def reasongym_corrupt(self, name: str) -> None:
        """Change one element of the weights in use. For tests of the checksums only."""
        model = self.model_runner.get_model()  # type: ignore[attr-defined]
        parameter = dict(model.named_parameters())[name]
        parameter.data.view(-1)[0] += 1.0


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


def digests(model: torch.nn.Module) -> dict[str, str]:
    """Checkpoint name -> digest of the weights in use. A parameter that two modules share must be the same in both:
    where a tied copy is stale, the name's digest says so and equals nothing."""
    from reasongym.sync.checksums import digest

    uses: dict[str, dict[str, str]] = {}  # a parameter's first name -> where it is used -> digest
    owners: dict[int, str] = {}
    for name, tensor, stored in _checkpoint_tensors(model):
        owner = owners.setdefault(stored.data_ptr(), name) if stored.numel() else name
        places = uses.setdefault(owner, {})
        places[name] = digest(tensor)
        if stored.numel() and stored is not tensor:
            places[f"{name} as stored"] = digest(stored)
    return {owner: places[owner] if len(set(places.values())) == 1 else str(places) for owner, places in uses.items()}


def _checkpoint_tensors(model: Any) -> Iterator[tuple[str, torch.Tensor, torch.Tensor]]:
    """Every parameter as the checkpoint names it: name, weights in use, stored weights (empty where vLLM dropped them).
    vLLM's fused projections are split into their parts."""
    packed = getattr(model, "packed_modules_mapping", {})
    for module_name, module in model.named_modules():
        for short, parameter in module.named_parameters(recurse=False):
            tensor = _weight_in_use(module) if short == "weight" else parameter.data
            fused, parts = next(((f, p) for f, p in packed.items() if module_name.endswith(f".{f}")), ("", []))
            if not parts:
                yield f"{module_name}.{short}", tensor, parameter.data
                continue
            stem = module_name.removesuffix(fused)
            for part, piece in zip(parts, tensor.split(module.output_sizes, dim=0), strict=True):
                yield f"{stem}{part}.{short}", piece, parameter.data[:0]


def _weight_in_use(module: Any) -> torch.Tensor:
    """The weight that this module multiplies with.

    vLLM's CPU path keeps a packed copy inside a kernel and may empty `module.weight`, so comparing parameters would
    miss a stale copy. Multiplying the identity returns the packed weight exactly: each output is one product w * 1
    plus zeros.
    """
    multiply = getattr(module, "cpu_linear", None)
    width = getattr(module, "input_size_per_partition", None) or getattr(module, "embedding_dim", None)
    if multiply is None or width is None:
        return module.weight.data  # type: ignore[no-any-return]
    dtype = module.weight.dtype
    blocks = []
    for start in range(0, width, 256):
        rows = torch.zeros(min(256, width - start), width, dtype=dtype)
        rows[:, start:start + 256].fill_diagonal_(1)
        blocks.append(multiply(rows, module.weight, None).clone())
    return torch.cat(blocks).t()

