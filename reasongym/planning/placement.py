"""Which node and GPU holds which trainer rank and which engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reasongym.config import RunConfig
from reasongym.errors import ConfigError, ResourceError, message

__all__ = ["Slot", "place"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One rank or engine. gpus: their numbers on the node, empty on a CPU."""

    kind: Literal["rank", "engine"]
    index: int
    node: int
    gpus: tuple[int, ...] = ()


def place(config: RunConfig, *, gpus_per_node: int) -> tuple[Slot, ...]:
    """Ranks first, then engines. gpus_per_node 0: a CPU run, spread evenly over the nodes.

    On GPUs a rank has one and an engine `tensor_parallel` neighbours on one node. `separate` starts the engines behind
    the last rank, `shared` at the first GPU again. Raises ResourceError when the GPUs do not suffice.
    """
    nodes, ranks, engines = config.resources.nodes, config.trainer.ranks, config.rollout.engines
    if gpus_per_node == 0:
        return (*(Slot(kind="rank", index=i, node=i * nodes // ranks) for i in range(ranks)),
                *(Slot(kind="engine", index=i, node=i * nodes // engines) for i in range(engines)))
    rank_slots = [Slot(kind="rank", index=i, node=i // gpus_per_node, gpus=(i % gpus_per_node,)) for i in range(ranks)]
    first = 0 if config.resources.placement == "shared" else ranks
    engine_slots = _engines(config, first, gpus_per_node)
    last = max(slot.node * gpus_per_node + slot.gpus[-1] for slot in (*rank_slots, *engine_slots))
    if last >= nodes * gpus_per_node:
        raise ResourceError(message("the run does not fit on the GPUs", got=_got(config, nodes, gpus_per_node),
                                    expected=f"at least {last + 1} GPUs ({_why(config)})", remedy=_remedy(config)))
    return (*rank_slots, *engine_slots)


def _engines(config: RunConfig, first: int, gpus_per_node: int) -> list[Slot]:
    """An engine that would lie across two nodes starts on the next: its workers need the fast links inside one."""
    width = config.rollout.tensor_parallel
    if width > gpus_per_node:
        raise ConfigError(message("an engine is wider than a node", got=f"rollout.tensor_parallel={width}",
                                  expected=f"at most {gpus_per_node}, the GPUs of a node",
                                  remedy="lower rollout.tensor_parallel"))
    slots = []
    at = first
    for index in range(config.rollout.engines):
        if at % gpus_per_node + width > gpus_per_node:
            at += gpus_per_node - at % gpus_per_node
        start = at % gpus_per_node
        gpus = tuple(range(start, start + width))
        slots.append(Slot(kind="engine", index=index, node=at // gpus_per_node, gpus=gpus))
        at += width
    return slots


def _got(config: RunConfig, nodes: int, gpus_per_node: int) -> str:
    return f"{nodes * gpus_per_node} ({nodes} x {gpus_per_node}), placement {config.resources.placement}"


def _why(config: RunConfig) -> str:
    rollout, joined = config.rollout, "over" if config.resources.placement == "shared" else "beside"
    return f"{config.trainer.ranks} ranks {joined} {rollout.engines} engines of {rollout.tensor_parallel}"


def _remedy(config: RunConfig) -> str:
    if config.resources.placement == "separate":
        return "fewer trainer.ranks or rollout.engines, or resources.placement=shared"
    return "fewer trainer.ranks or rollout.engines"
