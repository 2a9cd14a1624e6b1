"""What vLLM loads in its own processes: the receiving half of our transport, and questions about the weights in use.

`register` is the `vllm.general_plugins` entry point: the engine core and its workers are processes of their own, so
the transport must be registered there, and the processes told to end with their engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from reasongym.sync.checksums import Columns
from reasongym.sync.door import Door, can_open
from reasongym.sync.in_use import digests, repack_tied_heads
from reasongym.sync.orphans import end_with_engine
from reasongym.sync.shared_memory import BACKEND, open_segment, view
from reasongym.sync.staging import Probe, StagedWeights

__all__ = ["SharedMemoryEngine", "WorkerExtension", "register"]


def register() -> None:
    """Make `BACKEND` known to vLLM's factory; vLLM may call it several times in one process."""
    from vllm.distributed.weight_transfer.factory import WeightTransferEngineFactory

    if BACKEND not in WeightTransferEngineFactory._registry:
        WeightTransferEngineFactory.register_engine(BACKEND, SharedMemoryEngine)  # type: ignore[type-abstract]
        end_with_engine()


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
    """Loads buckets out of a memory-mapped segment, in checkpoint format.

    The first update goes through vLLM's layer-wise reload, in place. Where it shows that the model keeps its weights as
    they are sent (`Probe`), later ones are staged: they come in by a door of their own, are prepared in its thread
    while the model computes, and swapped in. On GPUs, under tensor parallelism and for other models every update is
    like the first.
    """

    init_info_cls = SharedMemoryInit
    update_info_cls = SharedMemoryUpdate

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.segments: dict[str, torch.Tensor] = {}  # mapped once: touching a mapping anew costs as much as a copy
        self.probe: Probe | None = Probe() if self._may_stage() else None
        self.door: Door | None = None
        self.staged: StagedWeights | None = None
        self.spare: dict[int, torch.Tensor] = {}

    def init_transfer_engine(self, init_info: SharedMemoryInit) -> None:
        del init_info
        self.segments = {}

    def start_weight_update(self) -> None:
        from vllm.model_executor.model_loader.reload import initialize_layerwise_reload

        initialize_layerwise_reload(self.model)

    def update_weights(self, update_info: dict[str, Any]) -> None:
        self.receive_weights(self.parse_update_info(update_info))
        if self.device.type != "cpu":
            torch.accelerator.synchronize()

    def receive_weights(self, update_info: SharedMemoryUpdate) -> None:
        tensors = self._tensors(update_info)
        if self.probe is not None:
            self.probe.saw(tensors)
        # The layer-wise reload keeps references to what it is given until its layer is complete, which may be in a
        # later bucket, while the sender reuses the segment: so each tensor is copied.
        self.model.load_weights([(name, tensor.to(self.device, copy=True)) for name, tensor in tensors.items()])

    def stage(self) -> None:
        """Begin an update beside the weights in use; one that was not finished is forgotten."""
        self.staged = StagedWeights(self.model, self.spare)

    def prepare(self, update_info: dict[str, Any]) -> None:
        """Take a bucket of the staged update. When this returns its segment may be written again."""
        assert self.staged is not None
        self.staged.add(self._tensors(self.parse_update_info(update_info)))

    def _tensors(self, update_info: SharedMemoryUpdate) -> dict[str, torch.Tensor]:
        if update_info.path not in self.segments:
            self.segments[update_info.path] = open_segment(update_info.path, update_info.nbytes)
        segment = self.segments[update_info.path]
        return {spec["name"]: view(segment, spec) for spec in update_info.tensors}

    def swap(self) -> None:
        """End the staged update: from now on the model computes with it."""
        assert self.staged is not None
        staged, self.staged = self.staged, None
        staged.swap()

    def finish_weight_update(self) -> None:
        from vllm.model_executor.model_loader.reload import finalize_layerwise_reload

        finalize_layerwise_reload(self.model, self.model_config)
        repack_tied_heads(self.model)
        if self.probe is not None:
            if self.probe.holds(self.model):
                self.door = Door({"stage": self.stage, "prepare": self.prepare})
            self.probe = None

    def shutdown(self) -> None:
        if self.door is not None:
            self.door.close()

    def _may_stage(self) -> bool:
        from vllm.platforms import current_platform

        # Zen's layers may compute with the very tensor that they are given, here a segment that is written again.
        return (can_open() and self.device.type == "cpu" and self.parallel_config.tensor_parallel_size == 1
                and not current_platform.is_zen_cpu())


class WorkerExtension:
    """What our engines ask of a vLLM worker beyond vLLM's own calls."""

    def reasongym_door(self) -> list[str]:
        """Where weights can be prepared while the worker computes: the address of its door. Else nothing."""
        door: Door | None = getattr(self.weight_transfer_engine, "door", None)  # type: ignore[attr-defined]
        return [] if door is None else list(door.address)

    def reasongym_swap(self) -> None:
        """Compute with the weights that came in by the door."""
        self.weight_transfer_engine.swap()  # type: ignore[attr-defined]

    def reasongym_checksums(self, number: int, parts: int) -> dict[str, str]:
        """Checkpoint name -> digest of these columns (`checksums.Columns`). With tensor parallelism the shards are not
        comparable and the answer is empty."""
        model = self.model_runner.get_model()  # type: ignore[attr-defined]
        if self.parallel_config.tensor_parallel_size > 1:  # type: ignore[attr-defined]
            return {}
        return digests(model, Columns(number, parts))

    def reasongym_corrupt(self, name: str) -> None:
        """Change one element of the weights in use. For tests of the checksums only."""
        model = self.model_runner.get_model()  # type: ignore[attr-defined]
        parameter = dict(model.named_parameters())[name]
        parameter.data.view(-1)[0] += 1.0
