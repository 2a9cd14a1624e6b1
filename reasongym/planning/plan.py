"""From a configuration, a machine and a model's shape to what runs where, in how much memory, or an error."""

from __future__ import annotations

from collections.abc import Iterator

from reasongym.config import RunConfig
from reasongym.planning.activations import shares_prompt
from reasongym.planning.budgets import Budget, Needs, budgets, check_budgets, check_cache
from reasongym.planning.checks import (
    check_mode,
    check_reach,
    check_shape,
    check_stage,
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

__all__ = ["assess", "plan"]


def plan(config: RunConfig, hardware: Hardware, shape: ModelShape | None) -> Plan:
    """Plan a run on `resources.nodes` machines like `hardware`.

    shape: of the policy; None (a model that is not on this machine) plans placement alone, and says so.
    Raises ConfigError for parts that do not fit the model or each other, ResourceError for memory, disk or GPUs that
    are lacking.
    """
    made = assess(config, hardware, shape)
    check_budgets(made.budgets)
    if made.engine:
        check_cache(config, made.engine)
    return made


def assess(config: RunConfig, hardware: Hardware, shape: ModelShape | None) -> Plan:
    """`plan`, where memory and disk may lack: the plan's budgets then say of what, and by how much. Raises ConfigError,
    and ResourceError for GPUs."""
    device = resolve_device(config, hardware)
    dtype = resolve_dtype(config, hardware, device)
    transport = resolve_transport(config, device)
    check_mode(config, device)
    check_stage(config, dtype)
    if shape is not None:
        check_shape(config, shape)
    placement = place(config, gpus_per_node=resolve_gpus_per_node(config, hardware, device))
    check_reach(transport, placement)
    warnings = [*_speed_warnings(config, hardware, device, dtype),
                *_placement_warnings(config, shape, device, placement)]
    if shape is None:
        warnings.append(f"the model {config.model.path} is not on this machine: its memory is not planned and "
                        "its context and heads are not checked")
        return Plan(config=config, hardware=hardware, device=device, dtype=dtype, transport=transport,
                    placement=placement, warnings=tuple(warnings))
    needs = _needs(config, hardware, shape, device, dtype)
    found = budgets(config, hardware, shape, device, transport, needs, placement)
    if needs.engine:
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
               + sum(kind.tensor_parallel for kind in config.rollout.each_engine[:num_engines(config)]))
    if device == "cpu" and workers > 2 * hardware.cores * config.resources.nodes:
        yield f"{workers} ranks and engine workers take turns on {hardware.cores * config.resources.nodes} cores"


def _placement_warnings(config: RunConfig, shape: ModelShape | None, device: Device,
                        placement: tuple[Slot, ...]) -> Iterator[str]:
    rollout = config.rollout
    team = config.trainer.sequence_parallel * config.trainer.tensor_parallel
    most = max(config.trainer.ranks // team, num_critic_ranks(config))
    if config.algorithm.samples:
        if rollout.num_engines > rollout.prompts_per_step:
            yield (f"{rollout.num_engines - rollout.prompts_per_step} of {rollout.num_engines} engines stay idle: a "
                   f"step has {rollout.prompts_per_step} prompts")
        batches = _most_micro_batches(config, shape)
        if batches < most:
            yield (f"a mini-batch makes at most {batches} micro-batches for {most} ranks, so some stay idle; "
                   "lower trainer.micro_batch_tokens or trainer.mini_batches")
    nodes = {slot.node for slot in placement}
    if len(nodes) < config.resources.nodes:
        yield f"{config.resources.nodes - len(nodes)} of {config.resources.nodes} nodes hold nothing"


def _most_micro_batches(config: RunConfig, shape: ModelShape | None) -> int:
    rollout, trainer = config.rollout, config.trainer
    groups = rollout.prompts_per_step // trainer.mini_batches
    prompts = groups if shares_prompt(config, shape) else groups * rollout.group_size
    tokens = groups * rollout.group_size * rollout.max_new_tokens + prompts * rollout.max_prompt_tokens
    return -(-tokens // trainer.micro_batch_tokens)


def _cache_warnings(config: RunConfig, engine: EngineMemory) -> Iterator[str]:
    answers = -(-config.rollout.prompts_per_step * config.rollout.group_size // config.rollout.num_engines)
    if answers > config.rollout.max_num_seqs:
        yield (f"an engine gets {answers} answers a step and samples {config.rollout.max_num_seqs} at a time "
               "(rollout.max_num_seqs)")
    if engine.cache_tokens < engine.step_tokens:
        yield (f"the KV cache holds {engine.cache_tokens:,} tokens and a step needs up to {engine.step_tokens:,}: "
               "answers will wait for each other")


def _tight_warnings(found: tuple[Budget, ...]) -> Iterator[str]:
    for budget in found:
        if budget.fits and budget.share > 0.9:
            yield f"{budget.where} is {100 * budget.share:.0f} % full by this estimate; {budget.remedy}"
