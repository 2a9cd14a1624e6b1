"""Engines without a trainer: what runs where, in how much memory, or an error."""

from __future__ import annotations

from reasongym.config import RunConfig
from reasongym.config.policy_gradient import GrpoConfig
from reasongym.planning import Hardware, ModelShape, Plan
from reasongym.planning.budgets import HOST_BASE, Budget, check_budgets, check_cache
from reasongym.planning.checks import check_shape, resolve_device, resolve_dtype, resolve_gpus_per_node
from reasongym.planning.hardware import GIB
from reasongym.planning.memory import Device, EngineMemory, engine_memory
from reasongym.planning.placement import place

__all__ = ["plan_engines"]


def plan_engines(config: RunConfig, hardware: Hardware, shape: ModelShape | None) -> Plan:
    """The configured engines, on the first GPUs, or on this machine's cores.

    shape: None (a model that is not on this machine) plans placement alone. Raises ConfigError for a model that prompt
    and answer do not fit, ResourceError for memory or GPUs that are lacking. `transport` is not used without a trainer.
    """
    config = _without_trainer(config)
    device = resolve_device(config, hardware)
    dtype = resolve_dtype(config, hardware, device)
    if shape is not None:
        check_shape(config, shape)
    slots = place(config, gpus_per_node=resolve_gpus_per_node(config, hardware, device))
    engines = tuple(slot for slot in slots if slot.kind == "engine")
    if shape is None:
        return Plan(config=config, hardware=hardware, device=device, dtype=dtype, transport="shared_memory",
                    placement=engines)
    device_bytes = int(min((gpu.memory_gib for gpu in hardware.gpus), default=0.0) * GIB)
    engine = engine_memory(config, shape, device, dtype, device_bytes)
    budgets = (_budget(config, hardware, device, engine),)
    check_budgets(budgets)
    check_cache(config, engine)
    return Plan(config=config, hardware=hardware, device=device, dtype=dtype, transport="shared_memory",
                placement=engines, shape=shape, engine=engine, budgets=budgets)


def _without_trainer(config: RunConfig) -> RunConfig:
    """`shared` starts the engines at the first GPU; one rank is the fewest that a configuration can name. The algorithm
    of a recipe says nothing here: one may have a critic, another no engine."""
    return config.model_copy(update={"algorithm": GrpoConfig(),
                                     "trainer": config.trainer.model_copy(update={"ranks": 1}),
                                     "resources": config.resources.model_copy(update={"placement": "shared"})})


def _budget(config: RunConfig, hardware: Hardware, device: Device, engine: EngineMemory) -> Budget:
    if device == "cuda":
        smallest = int(min(gpu.memory_gib for gpu in hardware.gpus) * GIB)
        asked = int(config.rollout.gpu_memory_utilization * smallest)
        return Budget(where="an engine's GPU", needed=max(asked, engine.weights + engine.overhead), available=smallest,
                      remedy="raise rollout.tensor_parallel, or lower rollout.gpu_memory_utilization")
    workers = sum(kind.tensor_parallel for kind in config.rollout.each_engine)
    per_node = -(-workers // config.resources.nodes)
    return Budget(where="the engines' memory", available=int(hardware.memory_gib * GIB),
                  needed=HOST_BASE + engine.total * per_node,
                  remedy="lower rollout.kv_cache_gib, rollout.engines or --max-new-tokens")
