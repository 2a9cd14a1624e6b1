"""Where runs with faults go on: this machine, a small disk of its own, a Ray cluster of two nodes on this machine.

    python -m benchmarks.fault_places ADDRESS MIB SECONDS

puts so many MiB into the object store of a cluster, says `full`, and holds them for so long.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import psutil

from benchmarks.fault_processes import PATIENCE, POLL_S, known
from benchmarks.fault_runs import Place

MIB = 2**20
DISK_MIB, STORE_MIB = 700, 100
NODE_START_S, NODE_END_S = 90.0 * PATIENCE, 30.0
VARIABLES = {"RAY_worker_niceness": "0", "RAY_max_direct_call_object_size": "1000", "RAY_AUTH_MODE": "token",
             "RAY_AUTH_TOKEN": secrets.token_hex(16)}
"""Of a cluster and its drivers: nearly all that a run passes on goes through the object store."""


@contextlib.contextmanager
def this_machine(workshop: Path) -> Iterator[Place]:
    """Ray is the run's own."""
    yield Place(workshop / "runs", workshop / "runs")


# --- a small disk ---


class SmallDisk(NamedTuple):
    """folder: the disk, seen from here."""

    folder: Path

    @property
    def ballast(self) -> Path:
        return self.folder / "ballast"

    def fill(self, left: int) -> None:
        """Until `left` bytes are free. What the run writes meanwhile may take some of the room."""
        with self.ballast.open("wb") as file:
            while (free := shutil.disk_usage(self.folder).free) > left:
                with contextlib.suppress(OSError):
                    os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, free - left)

    def empty(self) -> None:
        self.ballast.unlink(missing_ok=True)


@contextlib.contextmanager
def small_disk(workshop: Path) -> Iterator[Place]:
    """The runs lie on a tmpfs in a mount namespace of its own, which goes with the process that holds it."""
    target = workshop / "small-disk"
    target.mkdir(exist_ok=True)
    script = f'mount -t tmpfs -o size={DISK_MIB}m none "$0" && echo mounted && exec sleep infinity'
    with subprocess.Popen(["unshare", "--mount", "sh", "-c", script, str(target)], stdout=subprocess.PIPE) as holder:
        try:
            known(holder)
            assert holder.stdout is not None
            if holder.stdout.readline() != b"mounted\n":
                raise OSError("no tmpfs in a mount namespace: this kind of fault needs the rights of root")
            seen = Path(f"/proc/{holder.pid}/root{target}")
            yield Place(target, seen, prefix=("nsenter", "-t", str(holder.pid), "-m", "--"), data=SmallDisk(seen))
        finally:
            holder.kill()


# --- a cluster ---


class Node:
    """A node of a Ray cluster: `ray start --block`, and all that it has started."""

    def __init__(self, arguments: Sequence[str]) -> None:
        command = [str(Path(sys.executable).with_name("ray")), "start", "--block", "--disable-usage-stats", *arguments]
        self._process = known(subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
            env=os.environ | VARIABLES, start_new_session=True))

    @property
    def processes(self) -> list[psutil.Process]:
        with contextlib.suppress(psutil.NoSuchProcess):
            return list(psutil.Process(self._process.pid).children(recursive=True))
        return []

    def raylet(self) -> psutil.Process | None:
        """Where it runs."""
        return next((process for process in self.processes if _name(process) == "raylet"), None)

    def end(self) -> None:
        """By its own way; what is left after that is killed."""
        everyone = self.processes
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(NODE_END_S)
        for process in everyone:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self._process.kill()
        self._process.wait()


class Cluster:
    """A head, and a node with the label `spot` that can be lost and started again."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.address, self.spilled = f"127.0.0.1:{port}", folder / "spilled"
        self.spilled.mkdir()
        self._head = Node(["--head", f"--port={port}", "--node-ip-address=127.0.0.1", f"--temp-dir={folder}",
                           "--num-cpus=2", "--include-dashboard=false",
                           f"--object-store-memory={STORE_MIB * MIB}", f"--object-spilling-directory={self.spilled}"])
        self.second: Node | None = None

    def wait(self) -> None:
        """Until the head answers."""
        host, _, port = self.address.partition(":")
        _wait_until(partial(_answers, host, int(port)), "the head node")

    def start_second(self) -> None:
        """Its address is another one, so that no driver takes it for its own node. What is left of one that was lost is
        ended."""
        if self.second is not None:
            self.second.end()
        self.second = Node([f"--address={self.address}", "--node-ip-address=127.0.0.2", "--num-cpus=1",
                            '--resources={"spot": 1}', f"--object-store-memory={STORE_MIB * MIB}"])
        _wait_until(lambda: self.second is not None and self.second.raylet() is not None, "the second node")

    def close(self) -> None:
        for node in (self.second, self._head):
            if node is not None:
                node.end()


@contextlib.contextmanager
def cluster(workshop: Path, *, nodes: int) -> Iterator[Place]:
    """A cluster that is not the run's own. Sockets of Ray's lie in its folder, so that its path must be short."""
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    made = Cluster(folder)
    try:
        made.wait()
        if nodes > 1:
            made.start_second()
        place = Place(workshop / "runs", workshop / "runs", settings=(f"resources.ray_address={made.address}",),
                      variables=VARIABLES, data=made)
        yield place if nodes == 1 else place._replace(module="benchmarks.fault_driver",
                                                      settings=(*place.settings, "rollout.engines=2"))
    finally:
        made.close()
        shutil.rmtree(folder, ignore_errors=True)


PlaceName = Literal["this_machine", "small_disk", "one_node", "two_nodes"]
PLACES: Mapping[PlaceName, Callable[[Path], AbstractContextManager[Place]]] = {
    "this_machine": this_machine, "small_disk": small_disk, "one_node": partial(cluster, nodes=1),
    "two_nodes": partial(cluster, nodes=2)}
"""Each takes the folder of the model and the runs."""


def filler(address: str, mib: int, seconds: float) -> subprocess.Popen[bytes]:
    """Another driver of the cluster, which has filled its object store when this returns."""
    process = known(subprocess.Popen(
        [sys.executable, "-m", "benchmarks.fault_places", address, str(mib), str(seconds)], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, env=os.environ | VARIABLES))
    assert process.stdout is not None
    if process.stdout.readline() != b"full\n":
        raise OSError(f"the object store of {address} was not filled")
    return process


def hold(address: str, mib: int, seconds: float) -> None:
    """What the process of `filler` does."""
    import numpy as np
    import ray

    signal.alarm(int(NODE_START_S + seconds))  # ends it
    ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    kept = [ray.put(np.ones(8 * MIB, dtype=np.uint8)) for _ in range(mib // 8)]
    print("full", flush=True)
    time.sleep(seconds)
    del kept
    ray.shutdown()


def _name(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.Error):
        return str(process.name())
    return ""


def _answers(host: str, port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=1.0):
        return True
    return False


def _wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + NODE_START_S
    while not condition():
        if time.monotonic() > deadline:
            raise OSError(f"{what} did not start in {NODE_START_S:.0f} s")
        time.sleep(POLL_S)


if __name__ == "__main__":
    hold(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
