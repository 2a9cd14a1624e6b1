"""A Ray cluster of several machines on this one: a raylet each, in a network namespace of its own where that is
allowed, so that each has its own address and loopback; else at different addresses of the loopback.

What they share all the same is the disk, /dev/shm and the processors.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import psutil

__all__ = ["ENVIRONMENT", "Machine", "Raylets", "raylets"]

PORT = 6399
START_TIMEOUT_S = 300.0
END_TIMEOUT_S = 30.0
STORE_BYTES = 100 * 2**20
NUMBERS = itertools.count()
ENVIRONMENT = {"RAY_worker_niceness": "0", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": uuid.uuid4().hex}
"""Of everything that speaks to the cluster."""


class Machine:
    """One raylet, the head's control store with it. prefix: what a command is typed behind to be typed there. hidden: a
    folder that is empty there; only in a namespace of its own."""

    def __init__(self, address: str, prefix: Sequence[str], folder: Path) -> None:
        self.address, self.prefix = address, list(prefix)
        self.process: subprocess.Popen[str] | None = None
        self.log = folder / f"{address}.log"
        self.folder = folder
        self.hidden: Path | None = None

    def start(self, *options: str) -> None:
        """`ray start` with the options, beside those that every machine has."""
        words = ["start", "--block", f"--node-ip-address={self.address}", f"--object-store-memory={STORE_BYTES}",
                 "--disable-usage-stats", *options]
        hiding = ["sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', str(self.hidden)] if self.hidden else []
        command = [*self.prefix, *hiding, sys.executable, "-m", "ray.scripts.scripts", *words]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
                                            text=True, cwd=self.folder,
                                            env=os.environ | ENVIRONMENT)

    @property
    def up(self) -> bool:
        """Whether it has joined."""
        return "--block" in self.log.read_text()

    def run(self, words: Sequence[str], **options: object) -> subprocess.CompletedProcess[str]:
        """A command typed there."""
        return subprocess.run([*self.prefix, *words], **{  # type: ignore[call-overload,no-any-return]
            "capture_output": True, "text": True, "check": False, "env": os.environ | ENVIRONMENT, **options})

    def die(self) -> None:
        """All of it at once, as when the power goes: what was started in its session, and what that started."""
        if self.process is None:
            return
        found = set()
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
                if os.getsid(process.pid) == self.process.pid:
                    found |= {process, *process.children(recursive=True)}
        for process in found:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self.process.wait(END_TIMEOUT_S)
        psutil.wait_procs(found, timeout=END_TIMEOUT_S)
        self.process = None


class Raylets:
    """The first machine is the head."""

    def __init__(self, machines: Sequence[Machine]) -> None:
        self.machines = list(machines)

    @property
    def head(self) -> Machine:
        return self.machines[0]

    @property
    def address(self) -> str:
        return f"{self.head.address}:{PORT}"

    def start(self, resources: Sequence[Mapping[str, float]] = (), *, cores: int = 2) -> None:
        """One after another. resources: labels of each machine, in order. Returns when all have joined."""
        for index, machine in enumerate(self.machines):
            label = dict(resources[index]) if index < len(resources) else {}
            where = ["--head", f"--port={PORT}", "--include-dashboard=false", f"--temp-dir={machine.folder / 'ray'}"] \
                if machine is self.head else [f"--address={self.address}"]
            # One by one: two that start at one time take the same socket, for they share the session's folder.
            _start(machine, *where, f"--num-cpus={cores}", "--num-gpus=0", f"--resources={json.dumps(label)}")

    def close(self) -> None:
        for machine in reversed(self.machines):
            machine.die()


def _start(machine: Machine, *options: str) -> None:
    """Ray gives a node 30 seconds, which a busy computer may not have: then once more."""
    deadline = time.monotonic() + START_TIMEOUT_S
    machine.start(*options)
    while not machine.up:
        assert time.monotonic() < deadline, f"Ray did not start:\n{machine.log.read_text()[-2000:]}"
        assert machine.process is not None
        if machine.process.poll() is not None:
            machine.die()
            machine.start(*options)
        time.sleep(0.1)


@contextlib.contextmanager
def raylets(count: int) -> Iterator[Raylets]:
    """`count` machines without Ray, for `start`; all that was started there ends with the context."""
    folder = Path(tempfile.mkdtemp(prefix="rg"))  # a socket's path has at most 107 characters
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        places = stack.enter_context(_places(count))
        made = Raylets([Machine(address, prefix, folder) for address, prefix in places])
        stack.callback(made.close)
        yield made


@contextlib.contextmanager
def _places(count: int) -> Iterator[list[tuple[str, list[str]]]]:
    """The machines' addresses, with what a command is typed behind."""
    names = [f"rg{os.getpid()}x{next(NUMBERS)}" for _ in range(count + 1)]
    with contextlib.ExitStack() as stack:
        if not all(_added(name, stack) for name in names):
            yield [(f"127.0.0.{2 + index}", []) for index in range(count)]
            return
        switch, machines = names[0], names[1:]
        _ip("-n", switch, "link", "add", "bridge", "type", "bridge")
        _ip("-n", switch, "link", "set", "bridge", "up")
        found = []
        for index, name in enumerate(machines):
            address = f"10.77.0.{1 + index}"
            _ip("-n", switch, "link", "add", f"port{index}", "type", "veth", "peer", "name", "wire", "netns", name)
            _ip("-n", switch, "link", "set", f"port{index}", "master", "bridge", "up")
            _ip("-n", name, "address", "add", f"{address}/24", "dev", "wire")
            _ip("-n", name, "link", "set", "wire", "up")
            _ip("-n", name, "link", "set", "lo", "up")
            _ip("-n", name, "route", "add", "default", "dev", "wire")
            found.append((address, ["ip", "netns", "exec", name]))
        yield found


def _added(name: str, stack: contextlib.ExitStack) -> bool:
    """A namespace, removed with the stack; False where this machine or user may not have one."""
    if shutil.which("ip") is None:
        return False
    done = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False)
    if done.returncode == 0:
        stack.callback(subprocess.run, ["ip", "netns", "delete", name], capture_output=True, check=False)
    return done.returncode == 0


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], capture_output=True, check=True)
