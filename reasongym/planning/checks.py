"""What a configuration asks that the model's shape or the machine refuses: each a ConfigError or ResourceError."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from reasongym.config import RunConfig
from reasongym.errors import ConfigError, ResourceError, message
from reasongym.planning.hardware import Hardware
from reasongym.planning.memory import Device, Dtype
from reasongym.planning.placement import Slot
from reasongym.planning.shapes import ModelShape

__all__ = [
    "Transport",
    "check_mode",
    "check_reach",
    "check_shape",
    "check_stage",
    "resolve_device",
    "resolve_dtype",
    "resolve_gpus_per_node",
    "resolve_transport",
]

Transport = Literal["shared_memory", "nccl", "ipc"]


def resolve_device(config: RunConfig, hardware: Hardware) -> Device:
    """`auto` is cuda where there is a GPU. Raises ResourceError when cuda is asked for and there is none."""
    asked = config.resources.device
    if asked == "cuda" and not hardware.gpus:
        raise ResourceError(message("the run asks for a GPU and none is seen", got="resources.device=cuda, no GPU",
                                    expected="a GPU that nvidia-smi lists",
                                    remedy="resources.device=cpu with the recipe cpu, or check the driver"))
    if asked == "auto":
        return "cuda" if hardware.gpus else "cpu"
    return asked


def resolve_dtype(config: RunConfig, hardware: Hardware, device: Device) -> Dtype:
    """`auto` is bfloat16 where the hardware multiplies it, else float32."""
    if config.model.dtype != "auto":
        return config.model.dtype
    able = hardware.cpu_bfloat16 if device == "cpu" else all(gpu.bfloat16 for gpu in hardware.gpus)
    return "bfloat16" if able else "float32"


def resolve_gpus_per_node(config: RunConfig, hardware: Hardware, device: Device) -> int:
    """GPUs a node is used for: as configured, or all of them. 0 on a CPU. Raises ResourceError when there are fewer."""
    if device == "cpu":
        return 0
    asked, have = config.resources.gpus_per_node or len(hardware.gpus), len(hardware.gpus)
    if asked > have:
        raise ResourceError(message("a node has too few GPUs", got=f"{have}",
                                    expected=f"resources.gpus_per_node={asked}",
                                    remedy=f"set resources.gpus_per_node={have}, or run where there are {asked}"))
    return asked


def resolve_transport(config: RunConfig, device: Device) -> Transport:
    """`auto`: shared memory on a CPU; on GPUs ipc where engine and trainer share them, else nccl.

    Raises ConfigError for a transport that does not reach the engines.
    """
    asked, shared = config.sync.transport, config.resources.placement == "shared"
    if asked == "auto":
        asked = "shared_memory" if device == "cpu" else "ipc" if shared else "nccl"
    fault = ""
    if asked in {"nccl", "ipc"} and device == "cpu":
        fault = "needs GPUs, and the run is on a CPU"
    elif asked == "ipc" and not shared:
        fault = "passes handles on one GPU, and resources.placement=separate puts engine and trainer on different ones"
    elif asked == "nccl" and shared:
        fault = "joins different GPUs, and resources.placement=shared puts engine and trainer on the same one"
    if fault:
        raise ConfigError(message(f"sync.transport {asked} {fault}", got=f"sync.transport={config.sync.transport}",
                                  expected="a transport that reaches every engine", remedy="sync.transport=auto"))
    return asked


def check_reach(transport: Transport, placement: Sequence[Slot]) -> None:
    """Raises ConfigError where weights go through the memory of rank 0's machine and an engine is on another."""
    node = next((slot.node for slot in placement if slot.kind == "rank"), None)
    far = next((slot for slot in placement if slot.kind == "engine" and slot.node != node), None)
    if transport == "shared_memory" and node is not None and far is not None:
        raise ConfigError(message("sync.transport shared_memory reaches one machine, and not all engines are on it",
                                  got=f"rank 0 on node {node}, engine {far.index} on node {far.node}",
                                  expected="a transport that reaches every engine", remedy="sync.transport=auto"))


def check_mode(config: RunConfig, device: Device) -> None:
    """Raises ConfigError where engines cannot go on while the ranks train."""
    if config.rollout.mode == "async" and device == "cuda" and config.resources.placement == "shared":
        raise ConfigError(message("asynchronous sampling needs GPUs of its own", expected="engines and ranks apart",
                                  got="rollout.mode=async, resources.placement=shared",
                                  remedy="resources.placement=separate, or rollout.mode=sync"))
    resources = config.resources
    elsewhere = sorted({str(kind.label) for kind in config.rollout.kinds} - {"None", str(resources.trainer_label)})
    if device == "cuda" and resources.placement == "shared" and elsewhere:
        raise ConfigError(message("engines over the ranks' GPUs are on the machines of the ranks",
                                  got=f"engines with the label {elsewhere[0]}, resources.placement=shared",
                                  expected="resources.trainer_label for engines with a label",
                                  remedy="resources.placement=separate, or engines without a label"))


def check_stage(config: RunConfig, dtype: Dtype) -> None:
    """Raises ConfigError where DeepSpeed would refuse the ZeRO stage once everything is loaded."""
    if config.trainer.zero_stage == 0 and dtype == "bfloat16":
        raise ConfigError(message("ZeRO stage 0 does not train in bfloat16 with float32 gradients",
                                  got="trainer.zero_stage=0", expected="trainer.zero_stage 1, 2 or 3 under bfloat16",
                                  remedy="set trainer.zero_stage=1, or model.dtype=float32"))


def check_shape(config: RunConfig, shape: ModelShape) -> None:
    """Raises ConfigError where the context is too short, the engine's width does not divide the model, or a team of
    ranks cannot read its rows or hold its layers together."""
    rollout = config.rollout
    length = rollout.max_prompt_tokens + rollout.max_new_tokens
    if length > shape.context:
        raise ConfigError(message(f"prompt and answer exceed the context of {shape.name}",
                                  got=f"max_prompt_tokens + max_new_tokens = {length}",
                                  expected=f"at most {shape.context} tokens",
                                  remedy="lower rollout.max_new_tokens or rollout.max_prompt_tokens"))
    for width in sorted({kind.tensor_parallel for kind in rollout.kinds}):
        _check_width(width, shape)
    if config.trainer.sequence_parallel > 1:
        _check_team(config.trainer.sequence_parallel, length, shape)
    _check_parts(config.trainer.tensor_parallel, shape)


def _check_team(size: int, length: int, shape: ModelShape) -> None:
    """Each rank of a team has some heads for all positions of a row, under a mask that the layers must follow."""
    if shape.heads % size or (shape.kv_heads % size and size % shape.kv_heads):
        raise ConfigError(message(f"trainer.sequence_parallel does not divide the heads of {shape.name}",
                                  got=f"{size} ranks for {shape.heads} attention and {shape.kv_heads} key-value heads",
                                  expected="a divisor of the first, and a divisor or a multiple of the second",
                                  remedy="change trainer.sequence_parallel"))
    if shape.seen_whole is not None and length > shape.seen_whole:
        raise ConfigError(message(f"not all layers of {shape.name} see a whole prompt and its answer",
                                  got=f"trainer.sequence_parallel={size}, rows of {length} tokens",
                                  expected=f"at most {shape.seen_whole} tokens, which all layers see",
                                  remedy="trainer.sequence_parallel=1, or shorter answers"))


def _check_parts(size: int, shape: ModelShape) -> None:
    """Each rank of a team has as many heads and MLP columns of a layer as the others."""
    if shape.heads % size or shape.kv_heads % size or shape.intermediate % size:
        raise ConfigError(message(f"trainer.tensor_parallel does not divide the layers of {shape.name}",
                                  got=f"{size} ranks for {shape.heads} attention heads, {shape.kv_heads} key-value "
                                      f"heads and {shape.intermediate} MLP columns", expected="a divisor of each",
                                  remedy="change trainer.tensor_parallel"))


def _check_width(width: int, shape: ModelShape) -> None:
    keys = shape.kv_heads % width and width % shape.kv_heads
    for what, count, left in (("attention heads", shape.heads, shape.heads % width),
                              ("key-value heads", shape.kv_heads, keys),
                              ("MLP columns", shape.intermediate, shape.intermediate % width)):
        if left:
            fits = [w for w in range(1, 17) if _divides(w, shape)]
            raise ConfigError(message(f"rollout.tensor_parallel does not divide the {what} of {shape.name}",
                                      got=f"{width} workers for {count} {what}",
                                      expected=f"one of {', '.join(map(str, fits))}",
                                      remedy=f"set rollout.tensor_parallel={max(w for w in fits if w <= width)}"))


def _divides(width: int, shape: ModelShape) -> bool:
    keys_fit = shape.kv_heads % width == 0 or width % shape.kv_heads == 0
    return keys_fit and shape.heads % width == 0 and shape.intermediate % width == 0
