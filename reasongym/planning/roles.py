"""A plan by role: what one rank of the policy, one of the critic and one engine worker hold, part by part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from reasongym.planning.hardware import GIB
from reasongym.planning.memory import EngineMemory, TrainerMemory
from reasongym.planning.placement import Slot
from reasongym.planning.record import Plan

__all__ = ["Role", "roles", "where"]

NAMES = {"rank": "policy", "critic": "critic", "engine": "engine"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """One process of a role, in bytes.

    count: processes. devices: where they lie, as text. always: by part, held at all times. turns: by moment, then by
    part, what comes and goes: the moments take turns. host: by part, in host memory, where the device is a GPU.
    capacity: of its device; None on a CPU, whose memory all share.
    """

    name: str
    count: int
    devices: str
    always: Mapping[str, int]
    turns: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    host: Mapping[str, int] = field(default_factory=dict)
    capacity: int | None = None

    @property
    def total(self) -> int:
        """At its fullest moment."""
        return sum(self.always.values()) + max((sum(parts.values()) for parts in self.turns.values()), default=0)

    @property
    def free(self) -> int | None:
        return None if self.capacity is None else self.capacity - self.total

    def as_dict(self) -> dict[str, object]:
        """For JSON; parts of 0 bytes are left out."""
        return {"role": self.name, "count": self.count, "devices": self.devices, "always": _held(self.always),
                "turns": {moment: _held(parts) for moment, parts in self.turns.items()}, "host": _held(self.host),
                "total": self.total, "capacity": self.capacity, "free": self.free}


def roles(plan: Plan) -> tuple[Role, ...]:
    """Those that the run has; none for a model of unknown shape."""
    return tuple(_roles(plan))


def _roles(plan: Plan) -> Iterator[Role]:
    capacity = int(min(gpu.memory_gib for gpu in plan.hardware.gpus) * GIB) if plan.device == "cuda" else None
    for kind, need in (("rank", plan.trainer), ("critic", plan.critic)):
        if need is not None:
            slots = [slot for slot in plan.placement if slot.kind == kind]
            yield Role(name=NAMES[kind], count=len(slots), devices=where(slots), always=_always(need),
                       turns=_turns(need), host=_host(plan, need), capacity=capacity)
    if plan.engine is not None:
        slots = [slot for slot in plan.placement if slot.kind == "engine"]
        workers = sum(plan.config.rollout.each_engine[slot.index].tensor_parallel for slot in slots)
        yield Role(name="engine", count=workers, devices=where(slots), always=_engine(plan.engine),
                   turns={"as weights arrive": {"packed weights": plan.engine.transfer}}, capacity=capacity)


def _always(need: TrainerMemory) -> dict[str, int]:
    state = {} if need.offloaded else {"gradients": need.gradients, "master weights and moments": need.optimizer}
    weights = {} if need.fetched else {"weights": need.parameters, "reference policy": need.reference}
    return {"process": need.overhead, **weights, **state, "bucket of gradients": need.bucket,
            "weights to share, rank 0": need.mapped}


def _turns(need: TrainerMemory) -> dict[str, dict[str, int]]:
    return {
        "in the backward pass": {"gathered parameters": need.gathered, "activations": need.activations,
                                 "logits and head gradient": need.logits},
        "as gradients are reduced": {"bucket, copied; activations left": need.reduction},
        "in the optimizer's step": {"gradients, flat": need.step},
        "as weights are sent": {"gathered bucket, packed": need.packed},
    }


def _host(plan: Plan, need: TrainerMemory) -> dict[str, int]:
    if plan.device == "cpu":
        return {}
    return {"offloaded gradients, weights, moments": need.offload, "while the model is read": need.loading,
            "the model, as rank 0 writes it": need.exported}


def _engine(need: EngineMemory) -> dict[str, int]:
    return {"process": need.overhead, "weights": need.weights, "KV cache": need.cache}


def _held(parts: Mapping[str, int]) -> dict[str, int]:
    return {name: count for name, count in parts.items() if count}


def where(slots: Sequence[Slot]) -> str:
    """`node 0: GPUs 0-3`; nodes alike are put together, as in `nodes 0-2: GPUs 0-7`; without a GPU `node 0`."""
    of_node = {node: sorted({gpu for slot in held for gpu in slot.gpus})
               for node, held in groupby(sorted(slots, key=lambda slot: slot.node), key=lambda slot: slot.node)}
    parts = []
    for gpus, nodes in groupby(of_node, key=lambda node: of_node[node]):
        text = _numbered("node", list(nodes))
        parts.append(f"{text}: {_numbered('GPU', gpus)}" if gpus else text)
    return ", ".join(parts)


def _numbered(noun: str, numbers: Sequence[int]) -> str:
    return f"{noun} {numbers[0]}" if len(numbers) == 1 else f"{noun}s {numbers[0]}-{numbers[-1]}"
