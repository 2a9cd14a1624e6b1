"""Ray: an existing cluster or one on this machine, and the options that put every actor where the plan says."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import ray

from reasongym.config import RunConfig
from reasongym.errors import ResourceError, message
from reasongym.planning import Plan
from reasongym.planning.placement import Slot
from reasongym.rollout.seat import Placement
from reasongym.training.head import Head
from reasongym.training.reserving import Reservation, reserve
from reasongym.training.room import MoreRoom, on_cpu, started_with

__all__ = ["Cluster", "ray_cluster"]

CONNECT_TIMEOUT_S = 10.0
OBJECT_STORE_BYTES = 512 * 2**20  # rollouts of a step; weights never pass through Ray's store


class Cluster(NamedTuple):
    """Where each actor of an engine, of the policy and of the critic goes, in order: Ray options, and environment
    variables. machines: the same for something on each machine of a cluster that was there before; none where Ray was
    started here. room: where more engines can be. head: watched."""

    engines: list[Placement]
    ranks: list[Placement]
    critic: list[Placement]
    machines: list[Placement]
    room: MoreRoom
    head: Head


@contextlib.contextmanager
def ray_cluster(config: RunConfig, plan: Plan, *, wait_s: float = 120.0) -> Iterator[Cluster]:
    """Connect, reserve what the plan needs, and shut Ray down at the end if it was started here. wait_s: longest wait
    for machines that are in use. Raises ResourceError."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_worker_niceness", "0")  # Ray starts its workers at nice 15: here they are the work
    os.environ.setdefault("RAY_prestart_worker_first_driver", "0")  # every actor has a process of its own environment
    address = config.resources.ray_address
    labels = {slot.label for slot in plan.placement if slot.label}
    _connect(address, plan, labels)
    try:
        with Head(ray.get_runtime_context().gcs_address) as head:
            _check_labels(labels)
            apart = plan.device == "cuda" or address or config.resources.nodes > 1
            reserved = reserve(plan, wait_s=wait_s) if apart else None
            options = {kind: [_options(slot, reserved) for slot in plan.placement if slot.kind == kind]
                       for kind in ("engine", "rank", "critic")}
            machines = [on_cpu(None, reserved.strategy(node)) for node in reserved.bundles] \
                if reserved and address else []
            yield Cluster(options["engine"], options["rank"], options["critic"], machines,
                          MoreRoom(plan, reserved), head)
    finally:
        ray.shutdown()


def _connect(address: str | None, plan: Plan, labels: set[str]) -> None:
    """To the cluster at `address`, or to a new one here, which has every label."""
    if address:
        _check_reachable(address)
    own = {} if address else {"num_cpus": plan.hardware.cores, "object_store_memory": OBJECT_STORE_BYTES,
                              "resources": dict.fromkeys(labels, 1.0)}
    try:
        ray.init(address=address or "local", log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False,
                 **own)
    except Exception as error:  # boundary: Ray raises the bare class where its node is not up within 30 s
        raise ResourceError(_unreachable(address, f"{error}\n{error.__cause__ or ''}".strip())) from error


def _unreachable(address: str | None, why: str) -> str:
    got = f"{address or 'a new Ray here'}: {(why.splitlines() or [''])[0]}"
    if not address:
        return message("Ray does not start", got=got, expected="room for Ray's processes",
                       remedy="`ray stop`, or free memory")
    if "AuthToken" in why or "AuthenticationError" in why:
        return message("the Ray cluster does not take this machine's token", got=f"{address}, without a token or with "
                       "another", expected="the token of the head, in ~/.ray/auth_token or RAY_AUTH_TOKEN",
                       remedy="copy it from the head, and `export RAY_AUTH_MODE=token`: without that Ray shows its "
                              "token to no address that is typed")
    return message("Ray cannot be reached", got=got, expected="a cluster that this machine is part of",
                   remedy=f"`ray start --address={address}` here; `ray status`")


def _check_reachable(address: str) -> None:
    """Ray itself would try for minutes. Raises ResourceError where nothing listens at HOST:PORT, and for a client's
    address: what a run asks of Ray, a client cannot."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():  # "auto"
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_TIMEOUT_S).close()
    except OSError as error:
        raise ResourceError(message("no Ray cluster answers", got=f"{address}: {error}",
                                    expected="the address that `ray start --head` printed",
                                    remedy="correct --ray-address, or start the head node")) from error
    if address.startswith("ray://"):
        raise ResourceError(message("a run is started on a machine of its cluster", got=f"{address}, for clients",
                                    expected="HOST:PORT that `ray start --head` printed",
                                    remedy="`ray start --address=HOST:PORT` here, and --ray-address HOST:PORT"))


def _check_labels(labels: set[str]) -> None:
    """Raises ResourceError where no machine of the cluster has one of them: Ray would wait for such a machine."""
    there = ray.cluster_resources()
    lacking = sorted(label for label in labels if label not in there)
    if lacking:
        raise ResourceError(message("no machine of the cluster has a label of the run", got=f"none with {lacking[0]}",
                                    expected="a machine for each of " + ", ".join(sorted(labels)),
                                    remedy=f"on the machines meant, {started_with(lacking[0])}"))


def _options(slot: Slot, reserved: Reservation | None) -> Placement:
    """Placement of one actor. The plan names its GPUs, so Ray is told not to choose: engine and rank may share one."""
    if not slot.gpus:
        return on_cpu(slot.label, reserved and reserved.strategy(slot.node))
    assert reserved is not None
    return ({"num_cpus": 0, "num_gpus": 0, "scheduling_strategy": reserved.strategy(slot.node)},
            {"CUDA_VISIBLE_DEVICES": _visible(slot.gpus), "RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES": "1"})


def _visible(gpus: Sequence[int]) -> str:
    """The plan numbers the GPUs it may see; where CUDA_VISIBLE_DEVICES hides others, those have other numbers."""
    shown = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    return ",".join(shown[gpu] if shown else str(gpu) for gpu in gpus)
