"""The plan of a run, and how it is shown to people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from reasongym.config import RunConfig
from reasongym.planning.activations import shares_prompt
from reasongym.planning.budgets import Budget
from reasongym.planning.checks import Transport
from reasongym.planning.hardware import GIB, Hardware
from reasongym.planning.memory import DTYPE_BYTES, Device, Dtype, EngineMemory, TrainerMemory
from reasongym.planning.placement import Slot, num_critic_ranks, num_engines
from reasongym.planning.shapes import ModelShape

__all__ = ["Plan"]

LABEL = 52


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What `auto` became, where everything lies, and what it needs.

    shape, trainer, critic, engine: None where the model is not known on this machine, when budgets is empty; critic and
    engine also where the run has none.
    """

    config: RunConfig
    hardware: Hardware
    device: Device
    dtype: Dtype
    transport: Transport
    placement: tuple[Slot, ...]
    shape: ModelShape | None = None
    trainer: TrainerMemory | None = None
    critic: TrainerMemory | None = None
    engine: EngineMemory | None = None
    budgets: tuple[Budget, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def shares_gpus(self) -> bool:
        """Engine and trainer take turns on the same GPUs: one sleeps while the other works."""
        return self.device == "cuda" and self.config.resources.placement == "shared" and bool(num_engines(self.config))

    @property
    def critic_apart(self) -> bool:
        """Critic and policy lie on different GPUs, so that they can work at the same time."""
        return self.device == "cuda" and self.config.resources.placement == "separate"

    def describe(self) -> str:
        """Several lines of text for people, as `reasongym train --dry-run` prints it."""
        return _describe(self)


def _describe(plan: Plan) -> str:
    """Sections with one figure a line: model, machine, step, memory of a rank and of an engine, placement, totals."""
    sections = [("Run", _run(plan)), ("A step, at most", _step(plan)),
                ("A trainer rank", _rank(plan, plan.trainer, plan.config.trainer.ranks)),
                ("A rank of the critic", _rank(plan, plan.critic, num_critic_ranks(plan.config))),
                ("An engine worker", _engine(plan)), ("Placement", _placement(plan.placement)),
                ("Memory and disk: needed of available", _budgets(plan))]
    blocks = [_block(title, list(lines)) for title, lines in sections]
    warnings = [f"warning: {text}" for text in plan.warnings]
    return "\n".join([*(block for block in blocks if block), *warnings])


def _block(title: str, lines: list[tuple[str, str]]) -> str:
    return "\n".join([title, *(f"  {label:<{LABEL}} {value}" for label, value in lines), ""]) if lines else ""


def _run(plan: Plan) -> Iterator[tuple[str, str]]:
    config, nodes = plan.config, plan.config.resources.nodes
    if plan.shape is None:
        yield "model", f"{config.model.path}: not on this machine, size unknown"
    else:
        weights = plan.shape.parameters * DTYPE_BYTES[plan.dtype]
        yield "model", f"{plan.shape.name}: {plan.shape.parameters:,} parameters, {_gib(weights)} in {plan.dtype}"
    yield "task and algorithm", f"{config.task.name}, {config.algorithm.name}, {config.steps} steps"
    yield "machine" if nodes == 1 else f"each of {nodes} machines", _machine(plan.hardware)
    yield "device, dtype", f"{plan.device}, {plan.dtype}"
    yield "placement of ranks and engines", config.resources.placement if plan.device == "cuda" else "on the same cores"
    yield "weights to the engines", plan.transport


def _machine(hardware: Hardware) -> str:
    gpus = f"{len(hardware.gpus)} x {hardware.gpus[0].name}, " if hardware.gpus else ""
    return f"{gpus}{hardware.cores} cores, {hardware.memory_gib:.1f} GiB memory"


def _step(plan: Plan) -> Iterator[tuple[str, str]]:
    if not plan.config.algorithm.samples:
        yield "optimizer steps", f"{plan.config.trainer.mini_batches * plan.config.trainer.epochs}"
        return
    rollout = plan.config.rollout
    answers = rollout.prompts_per_step * rollout.group_size
    prompts = rollout.prompts_per_step if shares_prompt(plan.config, plan.shape) else answers
    sampled = answers * rollout.max_new_tokens
    passes = plan.config.trainer.epochs
    yield "answers", f"{answers:,} ({rollout.prompts_per_step} prompts x {rollout.group_size})"
    yield "tokens sampled", f"{sampled:,}"
    yield "tokens trained, prompts included", f"{(sampled + prompts * rollout.max_prompt_tokens) * passes:,}"
    yield "optimizer steps", f"{plan.config.trainer.mini_batches * passes}"


def _rank(plan: Plan, need: TrainerMemory | None, ranks: int) -> Iterator[tuple[str, str]]:
    trainer = plan.config.trainer
    if need is None:
        return
    width = trainer.tensor_parallel if need is plan.trainer else 1
    parts = f"layers in {width} parts, " if width > 1 else ""
    yield "share", f"1 of {ranks}, {parts}ZeRO stage {trainer.zero_stage}"
    yield f"parameters{' (host)' if need.fetched else ''}", _gib(need.parameters)
    where = " (host)" if need.offloaded else ""
    yield f"gradients{where}", _gib(need.gradients)
    yield f"master weights and Adam moments{where}", _gib(need.optimizer)
    if need.reference:
        yield "reference policy", _gib(need.reference)
    yield "gradients on their way to the other ranks", _gib(need.bucket)
    if need.gathered:
        yield "parameters gathered for use", _gib(need.gathered)
    kind = "recomputed" if trainer.gradient_checkpointing else "kept"
    output = "a chunk of logits" if need is plan.trainer else "its output"
    yield f"activations, {kind}, and {output}", f"{_gib(need.activations)} + {_gib(need.logits)}"
    yield "process", _gib(need.overhead)
    yield "peak", _gib(need.peak)


def _engine(plan: Plan) -> Iterator[tuple[str, str]]:
    need = plan.engine
    if need is None:
        return
    rollout = plan.config.rollout
    widths = sorted({kind.tensor_parallel for kind in rollout.kinds})
    yield "share", (f"1 of {' or '.join(map(str, widths))} of an engine (tensor parallel); engines: "
                    f"{rollout.num_engines}")
    yield "weights", _gib(need.weights)
    yield "KV cache", _gib(need.cache)
    yield "KV cache of the engine, a step's need", f"{need.cache_tokens:,} tokens, {need.step_tokens:,}"
    yield "process", _gib(need.overhead)
    yield "total", _gib(need.total)


def _placement(slots: Iterable[Slot]) -> Iterator[tuple[str, str]]:
    order = ("rank", "critic", "engine")
    by_node = sorted(slots, key=lambda slot: (slot.node, order.index(slot.kind), slot.index))
    for (node, kind, label), group in groupby(by_node, key=lambda slot: (slot.node, slot.kind, slot.label)):
        held = list(group)
        gpus = [number for slot in held for number in slot.gpus]
        where = f"GPU{'s' if len(gpus) > 1 else ''} {_range(gpus)}" if gpus else "CPU"
        name = "critic rank" if kind == "critic" else kind
        numbers = _range([slot.index for slot in held])
        yield (f"node {node}{f' ({label})' if label else ''}, {where}",
               f"{name}{'s' if len(held) > 1 else ''} {numbers}")


def _range(numbers: list[int]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}"


def _budgets(plan: Plan) -> Iterator[tuple[str, str]]:
    for budget in plan.budgets:
        yield budget.where, f"{_gib(budget.needed)} of {_gib(budget.available)} ({100 * budget.share:.0f} %)"


def _gib(count: int) -> str:
    return f"{count / GIB:,.2f} GiB"
