"""DeepSpeed: the engine's configuration, and full weights out of partitioned ones. Only this folder names it."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

__all__ = [
    "ZeroSettings",
    "build_engine",
    "build_reference",
    "full_shape",
    "gathered",
    "init_distributed",
    "partitioned_loading",
    "step_and_norm",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroSettings:
    """What DeepSpeed is told. dtype: of parameters and compute; master weights and moments are float32 either way."""

    stage: Literal[0, 1, 2, 3]
    dtype: Literal["bfloat16", "float32"]
    device: str
    learning_rate: float
    weight_decay: float
    betas: tuple[float, float]
    max_grad_norm: float
    offload_optimizer: bool


def init_distributed(*, rank: int, world: int, local_rank: int, address: str, port: int, device: str,
                     timeout_s: float) -> None:
    """Join the ranks' process group: gloo on CPU, NCCL on GPUs; every collective has the deadline."""
    from datetime import timedelta

    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(world), "LOCAL_RANK": str(local_rank),
                   "MASTER_ADDR": address, "MASTER_PORT": str(port), "DS_ACCELERATOR": device}
    logging.getLogger("DeepSpeed").setLevel(logging.WARNING)
    import deepspeed

    # Its shared-memory all-reduce is compiled at first use, behind a lock file: a build that was killed leaves the
    # lock, and every later run waits for it without end. gloo needs no compiler.
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    deepspeed.init_distributed(dist_backend="nccl" if device == "cuda" else "gloo", verbose=False,
                               timeout=timedelta(seconds=timeout_s))


@contextlib.contextmanager
def partitioned_loading(settings: ZeroSettings, *, train: bool) -> Iterator[None]:
    """While it lasts, transformers gives each rank its share of a model as it is read, parameter by parameter: no rank
    ever holds the whole. A collective under ZeRO-3; nothing otherwise."""
    if settings.stage != 3:
        yield
        return
    from transformers.integrations import HfDeepSpeedConfig

    asked = HfDeepSpeedConfig(_configuration(settings, train=train))  # transformers looks for a living one
    try:
        yield
    finally:
        del asked


def build_engine(model: nn.Module, settings: ZeroSettings) -> Any:
    """A DeepSpeed engine whose gradient accumulation we drive ourselves, boundary by boundary."""
    import deepspeed

    engine, *_ = deepspeed.initialize(model=model, model_parameters=[p for p in model.parameters() if p.requires_grad],
                                      config=_configuration(settings, train=True))
    return engine


def build_reference(model: nn.Module, settings: ZeroSettings) -> Any:
    """A frozen model partitioned like the policy, without an optimizer."""
    import deepspeed

    model.requires_grad_(False)
    engine, *_ = deepspeed.initialize(model=model.eval(), config=_configuration(settings, train=False))
    return engine


def step_and_norm(engine: Any) -> float:
    """Make the optimizer step of what was accumulated. Returns the gradient's norm before it was clipped."""
    norm = None
    if not (engine.zero_optimization() or engine.bfloat16_enabled()):
        # Stage 0 in float32: DeepSpeed clips each rank's whole, averaged gradient and tells nobody the norm.
        gradients = [p.grad for p in engine.module.parameters() if p.grad is not None]
        norm = float(torch.nn.utils.get_total_norm(gradients))
    engine.step()
    if norm is None:
        norm = engine.get_global_grad_norm()
        assert norm is not None, "DeepSpeed reports no gradient norm: a gradient that is not finite would pass"
    return float(norm)


def _configuration(settings: ZeroSettings, *, train: bool) -> dict[str, Any]:
    stage = settings.stage if train or settings.stage == 3 else 0
    zero: dict[str, Any] = {"stage": stage, "overlap_comm": settings.device == "cuda"}
    if train and settings.offload_optimizer and settings.device == "cuda":
        zero["offload_optimizer"] = {"device": "cpu", "pin_memory": True}
    configuration: dict[str, Any] = {
        "train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 1, "steps_per_print": 10**9,
        "zero_optimization": zero, "zero_allow_untested_optimizer": True, "zero_force_ds_cpu_optimizer": False,
        "bf16": {"enabled": settings.dtype == "bfloat16"},
    }
    if train:
        configuration |= {
            "gradient_clipping": settings.max_grad_norm,
            "data_types": {"grad_accum_dtype": "fp32"},
            "optimizer": {"type": "AdamW", "params": {
                "lr": settings.learning_rate, "betas": list(settings.betas), "eps": 1e-8,
                "weight_decay": settings.weight_decay, "torch_adam": settings.device == "cpu"}},
        }
    return configuration


def full_shape(parameter: nn.Parameter) -> tuple[int, ...]:
    """Of the whole tensor, also where this rank holds a share of it."""
    return tuple(getattr(parameter, "ds_shape", parameter.shape))


@contextlib.contextmanager
def gathered(parameters: Mapping[str, nn.Parameter], *, stage: int,
             writable: bool = False) -> Iterator[dict[str, Tensor]]:
    """Name -> full tensor on every rank while the context lasts. A collective under ZeRO-3.

    writable: what is written to them stays; every rank writes the same.
    """
    if stage != 3:
        yield {name: parameter.data for name, parameter in parameters.items()}
        return
    import deepspeed

    owner = 0 if writable else None
    with torch.no_grad(), deepspeed.zero.GatheredParameters(list(parameters.values()), modifier_rank=owner):
        yield {name: parameter.data for name, parameter in parameters.items()}

