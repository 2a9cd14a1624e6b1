"""Ray: an existing cluster or one on this machine, and the options that put every actor where the plan says."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import ray

from reasongym.config import RunConfig
from reasongym.errors import ResourceError, message
from reasongym.planning import Plan
from reasongym.planning.placement import Slot

__all__ = ["Cluster", "ray_cluster"]

CONNECT_TIMEOUT_S = 10.0
OBJECT_STORE_BYTES = 512 * 2**20  # rollouts of a step; weights never pass through Ray's store


class Cluster(NamedTuple):
    """Where each actor of an engine, of the policy and of the critic goes, in order: Ray options, and environment
    variables."""

    engines: list[tuple[dict[str, Any], dict[str, str]]]
    ranks: list[tuple[dict[str, Any], dict[str, str]]]
    critic: list[tuple[dict[str, Any], dict[str, str]]]


@contextlib.contextmanager
def ray_cluster(config: RunConfig, plan: Plan, *, wait_s: float = 120.0) -> Iterator[Cluster]:
    """Connect, reserve the plan's GPUs, and shut Ray down at the end if it was started here."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_worker_niceness", "0")  # Ray starts its workers at nice 15: here they are the work
    address = config.resources.ray_address
    if address:
        _check_reachable(address)
    own = {} if address else {"num_cpus": plan.hardware.cores, "object_store_memory": OBJECT_STORE_BYTES}
    try:
        ray.init(address=address or "local", log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False,
                 **own)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ResourceError(message("Ray cannot be reached" if address else "Ray does not start",
                                    got=f"{address or 'a new Ray here'}: {str(error).strip().splitlines()[0]}",
                                    expected="a running head node" if address else "room for Ray's processes",
                                    remedy="`ray status --address ADDRESS` on this machine" if address
                                    else "`ray stop`, or free memory")) from error
    try:
        group = _reserve(config, plan, wait_s) if plan.device == "cuda" else None
        options = {kind: [_options(slot, group) for slot in plan.placement if slot.kind == kind]
                   for kind in ("engine", "rank", "critic")}
        yield Cluster(options["engine"], options["rank"], options["critic"])
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Ray itself would try for minutes. Raises ResourceError where nothing listens at HOST:PORT."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():  # "auto"
        return
    try:
        socket.create_connection((host, int(port)), timeout=CONNECT_TIMEOUT_S).close()
    except OSError as error:
        raise ResourceError(message("no Ray cluster answers", got=f"{address}: {error}",
                                    expected="the address that `ray start --head` printed",
                                    remedy="correct --ray-address, or start the head node")) from error


def _reserve(config: RunConfig, plan: Plan, wait_s: float) -> Any:
    """One bundle a node with all the GPUs the plan uses there, so that no other job takes them."""
    used = [max((gpu + 1 for slot in plan.placement if slot.node == node for gpu in slot.gpus), default=0)
            for node in range(config.resources.nodes)]
    bundles = [{"GPU": gpus, "CPU": 1} for gpus in used if gpus]
    group = ray.util.placement_group(bundles, strategy="STRICT_SPREAD" if len(bundles) > 1 else "PACK")
    if not group.wait(wait_s):
        raise ResourceError(message("the cluster does not have the GPUs", got=f"{ray.available_resources()}",
                                    expected=f"nodes with {used} free GPUs", remedy="see `ray status`"))
    return group


def _options(slot: Slot, group: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Placement of one actor. The plan names its GPUs, so Ray is told not to choose: engine and rank may share one."""
    if group is None:
        return {"num_cpus": 0}, {"CUDA_VISIBLE_DEVICES": ""}  # on CPU they take turns on the same cores
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    strategy = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=slot.node)
    return ({"num_cpus": 0, "num_gpus": 0, "scheduling_strategy": strategy},
            {"CUDA_VISIBLE_DEVICES": _visible(slot.gpus), "RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES": "1"})


def _visible(gpus: Sequence[int]) -> str:
    """The plan numbers the GPUs it may see; where CUDA_VISIBLE_DEVICES hides others, those have other numbers."""
    shown = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    return ",".join(shown[gpu] if shown else str(gpu) for gpu in gpus)
