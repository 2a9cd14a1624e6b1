"""What a configuration asks that the model's shape or the machine refuses: each a ConfigError or ResourceError."""

from __future__ import annotations

from typing import Literal

from reasongym.config import RunConfig
from reasongym.errors import ConfigError, ResourceError, message
from reasongym.planning.hardware import Hardware
from reasongym.planning.memory import Device, Dtype
from reasongym.planning.shapes import ModelShape

__all__ = [
    "Transport",
    "check_mode",
    "check_shape",
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
    asked, shared, nodes = config.sync.transport, config.resources.placement == "shared", config.resources.nodes
    if asked == "auto":
        asked = "shared_memory" if device == "cpu" else "ipc" if shared else "nccl"
    fault, remedy = "", "sync.transport=auto"
    if asked in {"nccl", "ipc"} and device == "cpu":
        fault = "needs GPUs, and the run is on a CPU"
    elif asked == "ipc" and not shared:
        fault = "passes handles on one GPU, and resources.placement=separate puts engine and trainer on different ones"
    elif asked == "nccl" and shared:
        fault = "joins different GPUs, and resources.placement=shared puts engine and trainer on the same one"
    elif asked == "shared_memory" and nodes > 1:
        fault, remedy = f"reaches one machine, and resources.nodes={nodes}", "resources.nodes=1, or GPUs with nccl"
    if fault:
        raise ConfigError(message(f"sync.transport {asked} {fault}", got=f"sync.transport={config.sync.transport}",
                                  expected="a transport that reaches every engine", remedy=remedy))
    return asked


def check_mode(config: RunConfig, device: Device) -> None:
    """Raises ConfigError where engines cannot go on while the ranks train."""
    if config.rollout.mode == "async" and device == "cuda" and config.resources.placement == "shared":
        raise ConfigError(message("asynchronous sampling needs GPUs of its own", expected="engines and ranks apart",
                                  got="rollout.mode=async, resources.placement=shared",
                                  remedy="resources.placement=separate, or rollout.mode=sync"))


def check_shape(config: RunConfig, shape: ModelShape) -> None:
    """Raises ConfigError where the context is too short or the engine's width does not divide the model."""
    rollout = config.rollout
    length = rollout.max_prompt_tokens + rollout.max_new_tokens
    if length > shape.context:
        raise ConfigError(message(f"prompt and answer exceed the context of {shape.name}",
                                  got=f"max_prompt_tokens + max_new_tokens = {length}",
                                  expected=f"at most {shape.context} tokens",
                                  remedy="lower rollout.max_new_tokens or rollout.max_prompt_tokens"))
    width = rollout.tensor_parallel
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
