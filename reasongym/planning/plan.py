"""From a configuration, a machine and a model's shape to what runs where, in how much memory, or an error."""

from __future__ import annotations

from collections.abc import Iterator

from reasongym.config import RunConfig
from reasongym.planning.budgets import Budget, Needs, budgets, check_budgets, check_cache
from reasongym.planning.checks import (
    check_mode,
    check_shape,
    resolve_device,
    resolve_dtype,
    resolve_gpus_per_node,
    resolve_transport,
)
from reasongym.planning.hardware import GIB, Hardware
from reasongym.planning.memory import Device, Dtype, EngineMemory, critic_memory, engine_memory, trainer_memory
from reasongym.planning.placement import Slot, num_critic_ranks, num_engines, place
from reasongym.planning.record import Plan
from reasongym.planning.shapes import ModelShape

__all__ = ["plan"]


def plan(config: RunConfig, hardware: Hardware, shape: ModelShape | None) -> Plan:
    """Plan a run on `resources.nodes` machines like `hardware`.

    shape: of the policy; None (a model that is not on this machine) plans placement alone, and says so.
    Raises ConfigError for parts that do not fit the model or each other, ResourceError for memory, disk or GPUs that
    are lacking.
    """
    device = resolve_device(config, hardware)
    dtype = resolve_dtype(config, hardware, device)
    transport = resolve_transport(config, device)
    check_mode(config, device)
    if shape is not None:
        check_shape(config, shape)
    placement = place(config, gpus_per_node=resolve_gpus_per_node(config, hardware, device))
    warnings = [*_speed_warnings(config, hardware, device, dtype), *_placement_warnings(config, device, placement)]
    if shape is None:
        warnings.append(f"the model {config.model.path} is not on this machine: its memory is not planned and "
                        "its context and heads are not checked")
        return Plan(config=config, hardware=hardware, device=device, dtype=dtype, transport=transport,
                    placement=placement, warnings=tuple(warnings))
    needs = _needs(config, hardware, shape, device, dtype)
    found = budgets(config, hardware, shape, device, transport, needs, placement)
    check_budgets(found)
    if needs.engine:
        check_cache(config, needs.engine)
        warnings += _cache_warnings(config, needs.engine)
    warnings += _tight_warnings(found)
    return Plan(config=config, hardware=hardware, device=device, dtype=dtype, transport=transport, placement=placement,
                shape=shape, trainer=needs.trainer, critic=needs.critic, engine=needs.engine, budgets=found,
                warnings=tuple(warnings))


def _needs(config: RunConfig, hardware: Hardware, shape: ModelShape, device: Device, dtype: Dtype) -> Needs:
    device_bytes = int(min((gpu.memory_gib for gpu in hardware.gpus), default=0.0) * GIB)
    critics = num_critic_ranks(config)
    return Needs(trainer=trainer_memory(config, shape, device, dtype),
                 critic=critic_memory(config, shape, device, dtype, ranks=critics) if critics else None,
                 engine=engine_memory(config, shape, device, dtype, device_bytes) if num_engines(config) else None)


def _speed_warnings(config: RunConfig, hardware: Hardware, device: Device, dtype: Dtype) -> Iterator[str]:
    if device == "cpu" and dtype == "bfloat16" and not hardware.cpu_bfloat16:
        yield "this CPU does not multiply bfloat16: about 20 times slower than model.dtype=float32"
    if device == "cpu" and hardware.gpus:
        yield f"{len(hardware.gpus)} GPUs are left unused by resources.device=cpu"
    workers = (config.trainer.ranks + num_critic_ranks(config)
               + num_engines(config) * config.rollout.tensor_parallel)
    if device == "cpu" and workers > 2 * hardware.cores * config.resources.nodes:
        yield f"{workers} ranks and engine workers take turns on {hardware.cores * config.resources.nodes} cores"


def _placement_warnings(config: RunConfig, device: Device, placement: tuple[Slot, ...]) -> Iterator[str]:
    rollout, most = config.rollout, max(config.trainer.ranks, num_critic_ranks(config))
    if config.algorithm.samples:
        if rollout.engines > rollout.prompts_per_step:
            yield (f"{rollout.engines - rollout.prompts_per_step} of {rollout.engines} engines stay idle: a step has "
                   f"{rollout.prompts_per_step} prompts")
        batches = _most_micro_batches(config)
        if batches < most:
            yield (f"a mini-batch makes at most {batches} micro-batches for {most} ranks, so some stay idle; "
                   "lower trainer.micro_batch_tokens or trainer.mini_batches")
    if device == "cuda":
        nodes = {slot.node for slot in placement}
        if len(nodes) < config.resources.nodes:
            yield f"{config.resources.nodes - len(nodes)} of {config.resources.nodes} nodes hold nothing"


def _most_micro_batches(config: RunConfig) -> int:
    rollout, trainer = config.rollout, config.trainer
    groups = rollout.prompts_per_step // trainer.mini_batches
    prompts = groups if trainer.share_prompt else groups * rollout.group_size
    tokens = groups * rollout.group_size * rollout.max_new_tokens + prompts * rollout.max_prompt_tokens
    return -(-tokens // trainer.micro_batch_tokens)


def _cache_warnings(config: RunConfig, engine: EngineMemory) -> Iterator[str]:
    answers = -(-config.rollout.prompts_per_step * config.rollout.group_size // config.rollout.engines)
    if answers > config.rollout.max_num_seqs:
        yield (f"an engine gets {answers} answers a step and samples {config.rollout.max_num_seqs} at a time "
               "(rollout.max_num_seqs)")
    if engine.cache_tokens < engine.step_tokens:
        yield (f"the KV cache holds {engine.cache_tokens:,} tokens and a step needs up to {engine.step_tokens:,}: "
               "answers will wait for each other")


def _tight_warnings(found: tuple[Budget, ...]) -> Iterator[str]:
    for budget in found:
        if budget.share > 0.9:
            yield f"{budget.where} is {100 * budget.share:.0f} % full by this estimate; {budget.remedy}"
