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

from reasongym.training.tensor_parallel import divided_by, pass_rows_unchecked, put_together, whole_shape

__all__ = [
    "ZeroSettings",
    "build_engine",
    "build_reference",
    "even_share",
    "full_shape",
    "gathered",
    "init_distributed",
    "own_share",
    "partitioned_loading",
    "step_and_norm",
    "step_in_place",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroSettings:
    """What DeepSpeed is told. dtype: of parameters and compute; master weights and moments are float32 either way.
    offload_parameters: of the policy and of a reference beside it, under ZeRO-3. tensor_parallel: ranks that hold each
    layer of these together, without ZeRO-3."""

    stage: Literal[0, 1, 2, 3]
    dtype: Literal["bfloat16", "float32"]
    device: str
    learning_rate: float
    weight_decay: float
    betas: tuple[float, float]
    max_grad_norm: float
    offload_optimizer: bool
    offload_parameters: bool = False
    tensor_parallel: int = 1


def init_distributed(*, rank: int, world: int, local_rank: int, address: str, port: int, device: str,
                     timeout_s: float, here: str = "") -> None:
    """Join the ranks' process group: gloo on CPU, NCCL on GPUs; every collective has the deadline. here: this machine's
    address, by which the other ranks reach it."""
    from datetime import timedelta

    # gloo listens at the address of the host's name, which is often one of the loopback's.
    if device == "cpu" and (interface := _interface(here)):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", interface)
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(world), "LOCAL_RANK": str(local_rank),
                   "MASTER_ADDR": address, "MASTER_PORT": str(port), "DS_ACCELERATOR": device}
    logging.getLogger("DeepSpeed").setLevel(logging.WARNING)
    import deepspeed

    # Its shared-memory all-reduce is compiled at first use, behind a lock file: a build that was killed leaves the
    # lock, and every later run waits for it without end. gloo needs no compiler.
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    deepspeed.init_distributed(dist_backend="nccl" if device == "cuda" else "gloo", verbose=False,
                               timeout=timedelta(seconds=timeout_s))


def _interface(address: str) -> str:
    """The network interface with this address, or an empty string."""
    import psutil

    return next((name for name, addresses in psutil.net_if_addrs().items()
                 if any(one.address == address for one in addresses)), "")


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
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return _initialized(model, settings, train=True, model_parameters=trained)


def build_reference(model: nn.Module, settings: ZeroSettings) -> Any:
    """A frozen model partitioned like the policy, without an optimizer."""
    model.requires_grad_(False)
    return _initialized(model.eval(), settings, train=False)


def _initialized(model: nn.Module, settings: ZeroSettings, *, train: bool, **arguments: Any) -> Any:
    import deepspeed

    configuration = _configuration(settings, train=train) | divided_by(settings.tensor_parallel, model)
    if settings.stage == 3:
        for module in model.modules():
            for parameter in getattr(module, "borrowed", ()):
                deepspeed.zero.register_external_parameter(module, parameter)
    engine, *_ = deepspeed.initialize(model=model, config=configuration, **arguments)
    if settings.tensor_parallel > 1:
        pass_rows_unchecked(engine)
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


def step_in_place(engine: Any) -> None:
    """Adam's fused kernel, as on CPUs by default, also where a checkpoint was written without it."""
    for group in engine.optimizer.param_groups:
        group |= {"fused": True, "foreach": None}


def _configuration(settings: ZeroSettings, *, train: bool) -> dict[str, Any]:
    stage = settings.stage if train or settings.stage == 3 else 0
    on_cpu = settings.device == "cpu"
    zero: dict[str, Any] = {"stage": stage, "overlap_comm": not on_cpu}
    if on_cpu:  # gloo gains nothing by DeepSpeed's 500 million elements at a time
        zero["reduce_bucket_size"] = 2**25  # as planning/memory.py counts
    if train and settings.offload_optimizer and settings.device == "cuda":
        zero["offload_optimizer"] = {"device": "cpu", "pin_memory": True}
    if settings.offload_parameters and stage == 3:
        zero["offload_param"] = {"device": "cpu", "pin_memory": settings.device == "cuda"}
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
                "weight_decay": settings.weight_decay} | ({"torch_adam": True, "fused": True} if on_cpu else {})},
        }
    return configuration


def full_shape(parameter: nn.Parameter) -> tuple[int, ...]:
    """Of the whole tensor, also where this rank holds a share of it."""
    shared_out = getattr(parameter, "ds_shape", None)  # by ZeRO-3; empty for a single number
    return whole_shape(parameter) if shared_out is None else tuple(shared_out)


def own_share(parameter: nn.Parameter, *, stage: int, rank: int, world: int) -> tuple[int, Tensor]:
    """What a rank holds of a parameter: the index of its first element, and the elements, flat. No collective. Without
    ZeRO-3 each rank holds everything, and its share is an even one."""
    if stage != 3:
        return even_share(parameter.data, rank=rank, world=world)
    partition: Tensor = parameter.ds_tensor.data  # type: ignore[attr-defined]  # padded on the last ranks
    start = rank * partition.numel()
    return start, partition[:max(0, parameter.ds_numel - start)]  # type: ignore[attr-defined]


def even_share(tensor: Tensor, *, rank: int, world: int) -> tuple[int, Tensor]:
    """A rank's part of a tensor that every rank has: the index of its first element, and the elements, flat."""
    size = -(-tensor.numel() // world)
    return rank * size, tensor.detach().reshape(-1)[rank * size:(rank + 1) * size]


@contextlib.contextmanager
def gathered(parameters: Mapping[str, nn.Parameter], *, stage: int,
             writable: bool = False) -> Iterator[dict[str, Tensor]]:
    """Name -> full tensor on every rank while the context lasts. A collective under ZeRO-3, and of teams whose ranks
    hold layers together.

    writable: what is written to them stays; every rank writes the same.
    """
    if stage != 3:
        with torch.no_grad(), put_together(parameters, writable=writable) as whole:
            yield whole
        return
    import deepspeed

    owner = 0 if writable else None
    with torch.no_grad(), deepspeed.zero.GatheredParameters(list(parameters.values()), modifier_rank=owner):
        yield {name: parameter.data for name, parameter in parameters.items()}

