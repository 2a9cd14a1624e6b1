"""The machines of a run on a Ray cluster, reserved in one piece: all that the plan asks for, or a message that says
what is lacking and where. No actor is started before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import ray

from reasongym.errors import ResourceError, message
from reasongym.planning import Plan

__all__ = ["LABEL_SHARE", "Machine", "Reservation", "fits", "needs", "reserve"]

LABEL_SHARE = 0.001
"""Of a label, what is reserved on its machine: a label says where, and never how many."""
JOIN_TIMEOUT_S = 20.0
"""How long machines are waited for that the cluster does not have: they may be joining it."""

Bundle = dict[str, float]
"""Ray's resources on one machine, by name: CPU, GPU, and labels, of which any amount will do."""


class Machine(NamedTuple):
    """One that Ray knows. total, free: its resources."""

    address: str
    total: Mapping[str, float]
    free: Mapping[str, float]


class Reservation(NamedTuple):
    """group: Ray's placement group. bundles: by node of the plan, the place of its bundle in the group."""

    group: Any
    bundles: Mapping[int, int]

    def strategy(self, node: int) -> Any:
        """Ray's scheduling strategy of an actor on this node of the plan."""
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        return PlacementGroupSchedulingStrategy(self.group, placement_group_bundle_index=self.bundles[node])

    @property
    def node_ids(self) -> dict[int, str]:
        """By node of the plan, Ray's name of the machine that it became."""
        where = ray.util.placement_group_table(self.group)["bundles_to_node_id"]
        return {node: where[index] for node, index in self.bundles.items()}


def needs(plan: Plan) -> dict[int, Bundle]:
    """By node of the plan, what is reserved there: its GPUs, or on a CPU a core for each actor, as far as a machine has
    so many, for they take turns; and a machine with the labels of all that is there."""
    found: dict[int, Bundle] = {}
    for node in sorted({slot.node for slot in plan.placement}):
        slots = [slot for slot in plan.placement if slot.node == node]
        gpus = max((gpu + 1 for slot in slots for gpu in slot.gpus), default=0)
        found[node] = {"GPU": gpus, "CPU": 1} if gpus else {"CPU": min(len(slots), plan.hardware.cores)}
        found[node] |= {slot.label: LABEL_SHARE for slot in slots if slot.label}
    return found


def reserve(plan: Plan, *, wait_s: float) -> Reservation:
    """Each node of the plan on a machine of its own; a single one on this machine, where it has room.

    wait_s: longest wait for what others hold. Raises ResourceError where it is not there then, and soon where the
    cluster has too little even when nothing is in use.
    """
    bundles = needs(plan)
    wanted = list(bundles.values())
    if len(wanted) == 1:
        group = ray.util.placement_group(wanted, strategy="STRICT_PACK",
                                         _soft_target_node_id=ray.get_runtime_context().get_node_id())
    else:
        group = ray.util.placement_group(wanted, strategy="STRICT_SPREAD")
    ever = fits(wanted, [machine.total for machine in _machines()])
    if not group.wait(wait_s if ever else min(wait_s, JOIN_TIMEOUT_S)):
        ray.util.remove_placement_group(group)
        raise ResourceError(_lacking(wanted, _machines()))
    return Reservation(group, {node: index for index, node in enumerate(bundles)})


def fits(bundles: Sequence[Mapping[str, float]], machines: Sequence[Mapping[str, float]]) -> bool:
    """Whether each bundle gets a machine of its own that has all of it. machines: the resources of each."""
    taken: dict[int, int] = {}  # machine -> bundle: a matching, made larger path by path

    def place(bundle: int, tried: set[int]) -> bool:
        for index, has in enumerate(machines):
            if index in tried or any(has.get(name, 0.0) < amount for name, amount in bundles[bundle].items()):
                continue
            tried.add(index)
            if index not in taken or place(taken[index], tried):
                taken[index] = bundle
                return True
        return False

    return all(place(bundle, set()) for bundle in range(len(bundles)))


def _machines() -> list[Machine]:
    from ray._private.state import available_resources_per_node

    free = available_resources_per_node()
    return [Machine(node["NodeManagerAddress"], node["Resources"], free.get(node["NodeID"], {}))
            for node in ray.nodes() if node["Alive"]]


def _lacking(bundles: Sequence[Bundle], machines: Sequence[Machine]) -> str:
    names = list(dict.fromkeys(name for bundle in bundles for name in bundle))
    ever = fits(bundles, [machine.total for machine in machines])
    alike = Counter(", ".join(_amount(name, amount) for name, amount in bundle.items()) for bundle in bundles)
    remedy = ("`ray status` on the head says who holds what is not free: end that, or wait for it" if ever else
              "`ray start --address=HEAD:PORT` on more machines, with what is lacking (--num-gpus, --num-cpus, "
              "--resources); or a smaller run (resources.nodes, rollout.engines, trainer.ranks)")
    return message("the cluster does not have the machines" + (" free" if ever else ""),
                   got="; ".join(f"{machine.address} with {_free(machine, names)}" for machine in machines) or "none",
                   expected=" and ".join(f"{count} machine{'s' if count > 1 else ''} with {what}"
                                         for what, count in alike.items()), remedy=remedy)


def _free(machine: Machine, names: Sequence[str]) -> str:
    """Of each resource, what is free of what the machine has."""
    return ", ".join(f"{machine.free.get(name, 0.0):g} of {machine.total[name]:g} {name} free"
                     if name in machine.total else f"no {name}" for name in names)


def _amount(name: str, amount: float) -> str:
    return f"the label {name}" if amount == LABEL_SHARE else f"{amount:g} {name}"
