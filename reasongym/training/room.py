"""Where engines can be that are added while a run goes on: beside what the plan has reserved."""

from __future__ import annotations

from typing import Any

import ray

from reasongym.errors import ResourceError, message
from reasongym.planning import Plan
from reasongym.planning.hardware import GIB
from reasongym.rollout.requests import EngineSettings
from reasongym.rollout.seat import Placement
from reasongym.training.reserving import LABEL_SHARE, Reservation

__all__ = ["MoreRoom", "on_cpu", "started_with"]


def on_cpu(label: str | None, strategy: Any = None) -> Placement:
    """Of an actor that takes turns with the others on the same cores. strategy: Ray's, of a machine that is reserved
    and has the label; None: any machine that has it."""
    options = {"scheduling_strategy": strategy} if strategy else {"resources": {label: LABEL_SHARE} if label else {}}
    return {"num_cpus": 0} | options, {"CUDA_VISIBLE_DEVICES": ""}


def started_with(label: str) -> str:
    """How a machine gets a label."""
    return f"""`ray start --resources '{{"{label}": 1}}'`"""


class MoreRoom:
    """On GPUs an engine gets the place of one that has left, or a reservation of its own, which Ray grants as soon as
    its machine has them free; on a CPU as much of the memory of rank 0's machine as the plan has left over: weights go
    no further there."""

    def __init__(self, plan: Plan, machines: Reservation | None = None) -> None:
        self._plan, self._machines = plan, machines
        self._spare = min((budget.available - budget.needed for budget in plan.budgets
                           if budget.where.startswith("host memory")), default=0)
        self._reserved: list[tuple[Placement, Any]] = []
        self._vacant: list[tuple[str, int, Placement]] = []  # among the plan's GPUs, by label and number of GPUs

    def take(self, settings: EngineSettings) -> Placement:
        """For one more engine; it waits for its GPUs where none are free. Raises ResourceError for memory, and for a
        label that no machine has."""
        if settings.label and settings.label not in ray.cluster_resources():
            raise ResourceError(message("no machine of the cluster has the label", got=settings.label,
                                        expected="a machine that was started with it",
                                        remedy=started_with(settings.label)))
        if self._plan.device == "cpu":
            self._take_memory(settings)
            return on_cpu(settings.label or None, self._machines and self._machines.strategy(0))
        for entry in self._vacant:
            if entry[:2] == (settings.label, settings.tensor_parallel):
                self._vacant.remove(entry)
                return entry[2]
        return self._reserve(settings)

    def give_back(self, settings: EngineSettings, placement: Placement) -> None:
        """The plan's GPUs stay the run's, for the next engine that is added; others are free for everybody."""
        if self._plan.device == "cpu":
            self._spare += self._needed(settings)
            return
        for entry in self._reserved:
            if entry[0] is placement:
                self._reserved.remove(entry)
                ray.util.remove_placement_group(entry[1])
                return
        self._vacant.append((settings.label, settings.tensor_parallel, placement))

    def _reserve(self, settings: EngineSettings) -> Placement:
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        label = {settings.label: LABEL_SHARE} if settings.label else {}
        group = ray.util.placement_group([{"GPU": settings.tensor_parallel, "CPU": 1} | label], strategy="PACK")
        strategy = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=0)
        placement: Placement = ({"num_cpus": 0, "num_gpus": settings.tensor_parallel,
                                 "scheduling_strategy": strategy}, {})
        self._reserved.append((placement, group))
        return placement

    def _take_memory(self, settings: EngineSettings) -> None:
        needed = self._needed(settings)
        if needed > self._spare:
            raise ResourceError(message("not enough memory for another engine", got=f"{self._spare / GIB:.1f} GiB left",
                                        expected=f"about {needed / GIB:.1f} GiB", remedy="a smaller "
                                        "rollout.kv_cache_gib when the run is started, or a larger machine"))
        self._spare -= needed

    def _needed(self, settings: EngineSettings) -> int:
        """0 where the model's shape is not known, and nothing was planned."""
        return self._plan.engine.total * settings.tensor_parallel if self._plan.engine else 0
