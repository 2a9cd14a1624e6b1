"""Kinds of faults: whom each of them hits, how, and what has to hold of a run afterwards."""

from __future__ import annotations

import contextlib
import random
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import psutil

from benchmarks.fault_places import (
    DISK_MIB,
    MIB,
    STORE_MIB,
    Cluster,
    PlaceName,
    SmallDisk,
    filler,
)
from benchmarks.fault_processes import PATIENCE, POLL_S, Find, agents, command_of, named, programs
from benchmarks.fault_runs import CODE, SUMS, Training, Work

VICTIM_S = 120.0 * PATIENCE
"""Longest wait for a process of the kind: a new engine takes half a minute to start."""
GOES_ON_S = 300.0 * PATIENCE
"""Longest time from a fault, or from --resume, to the next row of metrics."""
START_S = 25.0
"""About as long as the parts of a run take to start."""

Act = Callable[[Training, random.Random], float]
"""Makes one fault. Returns when, in seconds since 1970."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """what: for the table. per_run: faults in one run.

    ends: exit status of a run that the fault ends, and that goes on with --resume once `mend` was called; None where it
    goes on by itself. loses: an answer may lose its reward by it, so that from its step on the run is another one.
    starting: it comes before the first step.
    """

    what: str
    act: Act
    work: Work = SUMS
    place: PlaceName = "this_machine"
    per_run: int = 5
    ends: int | None = None
    mend: Callable[[Training], None] = lambda training: None
    loses: bool = False
    starting: bool = False


# --- what is done to them ---


def signalled(find: Find, number: signal.Signals = signal.SIGKILL) -> Act:
    """A signal to one of those that are found; waits for the first."""
    def act(training: Training, rng: random.Random) -> float:
        del training
        deadline = time.monotonic() + VICTIM_S
        while time.monotonic() < deadline:
            if found := find():
                with contextlib.suppress(psutil.NoSuchProcess):  # it has just ended by itself: another one
                    rng.choice(found).send_signal(number)
                    return time.time()
            time.sleep(POLL_S / 10)
        raise TimeoutError(f"nothing to hit in {VICTIM_S:.0f} s")

    return act


def nothing(training: Training, rng: random.Random) -> float:
    """How far two undisturbed runs are apart."""
    del training, rng
    return time.time()


def kill_driver(training: Training, rng: random.Random) -> float:
    """Its process alone: what it has started is not told."""
    del rng
    assert training.process is not None
    training.process.kill()
    return time.time()


def lose_node(training: Training, rng: random.Random) -> float:
    """The second node's raylet is killed, once an engine is on it; another node comes in its place later."""
    nodes: Cluster = training.place.data
    deadline = time.monotonic() + VICTIM_S
    while not _has_engine(nodes) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    raylet = nodes.second.raylet() if nodes.second is not None else None
    if raylet is None or not _has_engine(nodes):
        raise TimeoutError(f"no engine on the second node in {VICTIM_S:.0f} s")
    raylet.kill()
    hit = time.time()
    time.sleep(rng.uniform(0, 10))
    nodes.start_second()
    return hit


def _has_engine(nodes: Cluster) -> bool:
    there = nodes.second.processes if nodes.second is not None else ()
    return any("VLLM::EngineCore" in command_of(process) for process in there)


def fill_store(training: Training, rng: random.Random) -> float:
    """Another driver puts twice as much as there is room for, and keeps it for a while."""
    nodes: Cluster = training.place.data
    process = filler(nodes.address, 2 * STORE_MIB, rng.uniform(2, 8))
    hit = time.time()
    if not any(nodes.spilled.rglob("*")):
        raise OSError("the object store was filled and nothing was spilled")
    process.wait(60)
    return hit


def fill_disk(training: Training, rng: random.Random) -> float:
    """What is left is less than a checkpoint takes, and now and then nothing."""
    disk: SmallDisk = training.place.data
    disk.fill(rng.choice((0, rng.randrange(DISK_MIB * MIB // 20))))
    return time.time()


def empty_disk(training: Training) -> None:
    disk: SmallDisk = training.place.data
    disk.empty()


RANKS = named("ray::Rank")
PARTS = named("ray::Rank", "ray::Engine", "VLLM::EngineCore")
KINDS = {
    "none": Kind(what="none", act=nothing, work=CODE),
    "engine_actor": Kind(what="SIGKILL of an engine's actor", act=signalled(named("ray::Engine"))),
    "vllm_core": Kind(what="SIGKILL of vLLM's core", act=signalled(named("VLLM::EngineCore"))),
    "scoring_worker": Kind(what="SIGKILL of a scoring worker", act=signalled(named("reasongym.scoring.worker"))),
    "sandbox_agent": Kind(what="SIGKILL of a sandbox's first process", act=signalled(agents), work=CODE),
    "sandbox_program": Kind(what="SIGKILL of a sandboxed program", act=signalled(programs), work=CODE, loses=True),
    "training_rank": Kind(what="SIGKILL of a training rank", act=signalled(RANKS)),
    "start_up": Kind(what="SIGKILL of a rank or an engine at the start, then --resume", act=signalled(PARTS),
                     starting=True, per_run=1, ends=1),
    "hung_rank": Kind(what="SIGSTOP of a training rank", act=signalled(RANKS, signal.SIGSTOP)),
    "driver": Kind(what="SIGKILL of the driver, then --resume", act=kill_driver, ends=-signal.SIGKILL),
    "raylet": Kind(what="SIGKILL of a second node's raylet with an engine on it", act=lose_node, place="two_nodes",
                   per_run=1),
    # A fault lasts about ten seconds: of quicker steps the last would come after the run's end.
    "object_store": Kind(what="the object store full, and spilling", act=fill_store, work=CODE, place="one_node",
                         per_run=2),
    "disk_full": Kind(what="the disk full, then room and --resume", act=fill_disk, place="small_disk", ends=2,
                      mend=empty_disk),
}


@dataclass(frozen=True)
class Moment:
    """delay_s: after the row of that step, or of one that comes before the first step, after the start of the run."""

    step: int
    delay_s: float


def moments(seed: str, count: int, *, steps: int, step_s: float, starting: bool = False) -> Iterator[Moment]:
    """At random, each in a step of its own, and none so late that no checkpoint comes after it."""
    rng = random.Random(seed)
    if starting:
        yield Moment(0, rng.uniform(0, START_S))
        return
    chosen = sorted(rng.sample(range(1, steps - 2), count))
    yield from (Moment(step, rng.uniform(0, step_s)) for step in chosen)
