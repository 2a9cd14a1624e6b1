"""Which node and GPU holds which trainer rank, which rank of PPO's critic and which engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reasongym.config import RunConfig
from reasongym.config.policy_gradient import PpoConfig
from reasongym.errors import ConfigError, ResourceError, message

__all__ = ["Slot", "num_critic_ranks", "num_engines", "place"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One rank of the policy or of the critic, or one engine. gpus: their numbers on the node, empty on a CPU. label:
    of the machine it must be on, or None."""

    kind: Literal["rank", "critic", "engine"]
    index: int
    node: int
    gpus: tuple[int, ...] = ()
    label: str | None = None


def num_critic_ranks(config: RunConfig) -> int:
    """0 for every algorithm but PPO."""
    return config.algorithm.critic.ranks if isinstance(config.algorithm, PpoConfig) else 0


def num_engines(config: RunConfig) -> int:
    """0 where nothing is sampled: an algorithm that learns from a file, never evaluated."""
    return config.rollout.num_engines if config.algorithm.samples or config.evaluation.every else 0


def place(config: RunConfig, *, gpus_per_node: int) -> tuple[Slot, ...]:
    """Ranks first, then the critic's, then engines. gpus_per_node 0: a CPU run, whose ranks are spread evenly over the
    nodes, and whose engines are all on that of rank 0: weights go through its memory.

    On GPUs a rank has one and an engine `tensor_parallel` neighbours on one node. `separate` starts the critic behind
    the last rank and the engines behind the critic, `shared` starts both at the first GPU again. A node has one label:
    what has another one starts on the next. Raises ResourceError when the GPUs do not suffice.
    """
    nodes, ranks, critics, engines = (config.resources.nodes, config.trainer.ranks, num_critic_ranks(config),
                                      num_engines(config))
    if gpus_per_node == 0:
        mine, kinds = config.resources.trainer_label, config.rollout.each_engine[:engines]
        return (*(Slot(kind="rank", index=i, node=i * nodes // ranks, label=mine) for i in range(ranks)),
                *(Slot(kind="critic", index=i, node=i * nodes // critics, label=mine) for i in range(critics)),
                *(Slot(kind="engine", index=i, node=0, label=kind.label) for i, kind in enumerate(kinds)))
    shared = config.resources.placement == "shared"
    label = config.resources.trainer_label
    slots = [*_ranks("rank", ranks, 0, gpus_per_node, label),
             *_ranks("critic", critics, 0 if shared else ranks, gpus_per_node, label),
             *_engines(config, engines, 0 if shared else ranks + critics, gpus_per_node)]
    last = max(slot.node * gpus_per_node + slot.gpus[-1] for slot in slots)
    if last >= nodes * gpus_per_node:
        raise ResourceError(message("the run does not fit on the GPUs", got=_got(config, nodes, gpus_per_node),
                                    expected=f"at least {last + 1} GPUs ({_why(config)})", remedy=_remedy(config)))
    return tuple(slots)


def _ranks(kind: Literal["rank", "critic"], count: int, first: int, gpus_per_node: int,
           label: str | None) -> list[Slot]:
    """One GPU each, from the GPU `first` of the run on."""
    return [Slot(kind=kind, index=i, node=(first + i) // gpus_per_node, gpus=((first + i) % gpus_per_node,),
                 label=label) for i in range(count)]


def _engines(config: RunConfig, count: int, first: int, gpus_per_node: int) -> list[Slot]:
    """An engine that would lie across two nodes starts on the next: its workers need the fast links inside one."""
    slots = []
    at, held = first, config.resources.trainer_label  # by the node, as far as it is in use
    for index, kind in enumerate(config.rollout.each_engine[:count]):
        width, room = kind.tensor_parallel, min(kind.gpus_per_node or gpus_per_node, gpus_per_node)
        if width > room:
            raise ConfigError(message("an engine is wider than a node", got=f"rollout.tensor_parallel={width}",
                                      expected=f"at most {room}, the GPUs of a node",
                                      remedy="lower rollout.tensor_parallel"))
        start = at % gpus_per_node
        if start and (start + width > room or (kind.label and held and kind.label != held)):
            at, start = at + gpus_per_node - start, 0
        held = kind.label if start == 0 else held or kind.label
        slots.append(Slot(kind="engine", index=index, node=at // gpus_per_node, label=kind.label,
                          gpus=tuple(range(start, start + width))))
        at += width
    return slots


def _got(config: RunConfig, nodes: int, gpus_per_node: int) -> str:
    return f"{nodes * gpus_per_node} ({nodes} x {gpus_per_node}), placement {config.resources.placement}"


def _why(config: RunConfig) -> str:
    joined = "over" if config.resources.placement == "shared" else "beside"
    parts = [f"{config.trainer.ranks} ranks"]
    if critics := num_critic_ranks(config):
        parts.append(f"{critics} of the critic")
    if engines := num_engines(config):
        widths = sorted({kind.tensor_parallel for kind in config.rollout.kinds})
        parts.append(f"{engines} engines of {' or '.join(map(str, widths))}")
    return f" {joined} ".join(parts)


def _remedy(config: RunConfig) -> str:
    fewer = "fewer trainer.ranks, rollout.engines" + " or algorithm.critic.ranks" * bool(num_critic_ranks(config))
    if config.resources.placement == "separate":
        return f"{fewer}, or resources.placement=shared"
    return fewer
