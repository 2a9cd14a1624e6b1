"""One container with an agent in it: how it is asked for, met and ended.

Covers: what the engine puts around a job. Sizes (memory, processes, work folder) are a container's for life, so a job
of another size gets another container. The work folder, /tmp and /dev/shm are three file systems that share the size
of the work folder: 5, 2 and 1 eighths of it. Does not cover: process numbers, which go on counting from job to job.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import shutil
import socket
import struct
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from reasongym.sandbox import boot, contained, leftovers, seccomp
from reasongym.sandbox.cgroups import OVERHEAD_MB, OVERHEAD_PROCESSES
from reasongym.sandbox.docker_api import Engine
from reasongym.sandbox.docker_counts import Counts
from reasongym.sandbox.jobs import Limits, SandboxError
from reasongym.sandbox.running import Memory

__all__ = ["GVISOR", "LABEL", "Container", "Size", "Spec", "host_labels", "masked_paths"]

LABEL = "reasongym.sandbox"
GVISOR = "runsc"
"""What the names of its runtimes begin with."""
GVISOR_MB, GVISOR_THREADS = 256, 256
"""Of its own kernel, which is a process in the container's control group."""
START_S = 20.0
LOOK_S = 0.5
MIB = 2**20
PARTS = {"/work": 5, "/tmp": 2, "/dev/shm": 1}
"""Writable folder -> eighths of the work folder's size."""
UNNAMED_USERS = range(60578, 61184)
"""Ids that no distribution and no container mapping hands out, below the 65536 that a mapped engine has."""
ENVIRONMENT = ("PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "MALLOC_ARENA_MAX=1")
OTHER_WRITABLE = ("/dev/mqueue", "/dev/pts", "/dev/console")
_numbers = itertools.count()


class Size(NamedTuple):
    """What is fixed when a container is made."""

    memory_mb: int
    processes: int
    work_mb: int

    @classmethod
    def of(cls, limits: Limits) -> Size:
        return cls(limits.memory_mb, limits.processes, limits.work_mb)


class Spec(NamedTuple):
    """What all containers of a sandbox have in common. runtime: empty for the engine's own."""

    image: str
    runtime: str
    without: frozenset[str]
    swap_can_be_limited: bool

    @property
    def is_gvisor(self) -> bool:
        return self.runtime.startswith(GVISOR)


class Container:
    """An Enclosure. Raises SandboxError where the engine fails or the agent does not come."""

    def __init__(self, engine: Engine, spec: Spec, size: Size) -> None:
        self._engine = engine
        self._spec = spec
        self._words = os.memfd_create("words", os.MFD_CLOEXEC)
        try:
            self._put_up(size)
        except BaseException:  # any: it is closed by nobody else
            os.close(self._words)
            raise

    def _put_up(self, size: Size) -> None:
        self._size = size
        self._user = secrets.choice(UNNAMED_USERS)  # kernel-wide amounts are counted by user: not all on one account
        self.settings: Mapping[str, object] = {
            "work": "/work", "writable": list(PARTS), "without": sorted(self._spec.without), "resizable": False,
            "residents": None}
        self._id = ""
        try:
            self.control = self._started()
            self._counts = Counts(_peer(self.control))
        except BaseException as error:  # any: nobody else knows of this container
            self._engine.remove(self._id)
            if isinstance(error, OSError):
                raise SandboxError(f"no control socket to a container: {error}; remedy: see that "
                                   f"{tempfile.gettempdir()} has room and can be written to") from error
            raise

    def _started(self) -> socket.socket:
        """In a folder of its own, which is gone when this returns: the agent has read and reached all it needs."""
        folder = Path(tempfile.mkdtemp(prefix=leftovers.prefix("agent")))  # mode 700: other users stay out
        number = next(_numbers)
        try:
            shown = _folder_to_show(folder)
            with _listening(shown, number) as door:
                with self._engine.doing("starting a container"):
                    made = self._engine.api.create_container_from_config(self._config(str(shown), number))
                    self._id = made["Id"]
                    self._engine.api.start(self._id)
                control = self._met(door)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        socket.send_fds(control, [b"w"], [self._words])
        return control

    def _met(self, door: socket.socket) -> socket.socket:
        deadline = time.monotonic() + START_S
        door.settimeout(LOOK_S)
        while time.monotonic() < deadline:
            with contextlib.suppress(TimeoutError):
                return door.accept()[0]
            if not self._engine.is_running(self._id):
                raise SandboxError(f"a container of image {self._spec.image} ended before its agent came; remedy: "
                                   f"{self._advice()}`reasongym sandbox build --force` makes the image anew")
        raise SandboxError(f"no agent came out of a container within {START_S:.0f} s; remedy: {self._advice()}use "
                           "an engine that sees this machine's files: one in another container or machine does not")

    def _advice(self) -> str:
        if not self._spec.is_gvisor:
            return ""
        return f"the runtime {self._spec.runtime} must let containers open sockets of the host (--host-uds=open); "

    def _config(self, folder: str, number: int) -> dict[str, Any]:
        command = boot.command("contained", number, python="python3", folder=contained.FOLDER)
        return {"Image": self._spec.image, "Entrypoint": command[:1], "Cmd": command[1:], "Env": list(ENVIRONMENT),
                "User": f"{self._user}:{self._user}", "WorkingDir": "/", "Hostname": "sandbox", "Labels": host_labels(),
                "StopSignal": "SIGKILL",  # PID 1 hears no other, and an engine that stops would wait for it
                "HostConfig": self._host_config(folder)}

    def _host_config(self, folder: str) -> dict[str, Any]:
        """Written out: the SDK's helper knows no MaskedPaths."""
        without, size = self._spec.without, self._size
        flags = "rw,noexec,nosuid,nodev,nr_inodes=4k,mode=0700"
        work_kb = size.work_mb * 1024
        config: dict[str, Any] = {
            "AutoRemove": True, "Init": False, "LogConfig": {"Type": "none"}, "ReadonlyRootfs": True,
            "NetworkMode": "host" if "network" in without else "none", "IpcMode": "none", "CgroupnsMode": "private",
            "CapDrop": ["ALL"], "SecurityOpt": ["no-new-privileges:true", f"seccomp={self._profile()}"],
            "MaskedPaths": masked_paths(), "ReadonlyPaths": [],
            "Mounts": [{"Type": "bind", "Source": folder, "Target": contained.FOLDER, "ReadOnly": True}],
            "Tmpfs": {path: f"{flags},size={work_kb * part // 8}k,uid={self._user},gid={self._user}"
                      for path, part in PARTS.items()},
            # Only what can be lowered everywhere: others the engine may not have the right to raise.
            "Ulimits": [{"Name": name, "Soft": 0, "Hard": 0} for name in ("memlock", "msgqueue")]}
        if self._spec.runtime:
            config["Runtime"] = self._spec.runtime
        if "cgroup" not in without:
            more_mb, more_threads = (GVISOR_MB, GVISOR_THREADS) if self._spec.is_gvisor else (0, 0)
            memory = (size.memory_mb + OVERHEAD_MB + more_mb) * MIB
            config |= {"Memory": memory, "PidsLimit": size.processes + OVERHEAD_PROCESSES + more_threads,
                       "NanoCpus": 10**9}
            config |= {"MemorySwap": memory} if self._spec.swap_can_be_limited else {}
        return config

    def _profile(self) -> str:
        return "unconfined" if "seccomp" in self._spec.without else seccomp.oci_profile()

    def prepare(self, limits: Limits) -> None:
        """As Enclosure.prepare."""
        if Size.of(limits) != self._size:
            self._take_down()
            self._put_up(Size.of(limits))
        self._counts.begin()

    def memory(self) -> Memory:
        """As Enclosure.memory."""
        return self._counts.memory()

    def tear_down(self) -> str:
        """As Enclosure.tear_down."""
        self._take_down()
        if self._words == -1:
            return ""
        words = os.pread(self._words, 4000, 0).decode(errors="replace").strip()
        os.close(self._words)
        self._words = -1
        return words

    def _take_down(self) -> None:
        """The end of the control socket ends the agent; the engine is asked as well, in case that hangs."""
        self.control.close()
        self._engine.remove(self._id)
        self._id = ""


def _folder_to_show(folder: Path) -> Path:
    """With the agent's modules, readable whatever the modes of the installed ones are."""
    shown = folder / "shown"
    shown.mkdir()
    for name in contained.MODULES:
        shutil.copyfile(Path(__file__).with_name(f"{name}.py"), shown / f"{name}.py")
        (shown / f"{name}.py").chmod(0o444)
    shown.chmod(0o755)
    return shown


def _listening(folder: Path, number: int) -> socket.socket:
    """A control socket for one guest, whoever its user is: the folder above lets nobody else come near."""
    door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        door.bind(f"/proc/self/fd/{descriptor}/{contained.socket_name(number)}")  # the path itself may be too long
        (folder / contained.socket_name(number)).chmod(0o666)
        door.listen(1)
    except BaseException:  # any: it is closed by nobody else
        door.close()
        raise
    finally:
        os.close(descriptor)
    return door


def _peer(control: socket.socket) -> int:
    """Process id of the agent as seen from here; 0 where it cannot be."""
    pid: int = struct.unpack("3i", control.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
    return pid


def masked_paths() -> list[str]:
    """All that is in /proc but processes; /sys; and what a job could write to without the agent emptying it."""
    kernel = sorted(entry.path for entry in os.scandir("/proc") if not entry.name.isdigit() and not entry.is_symlink())
    return [*kernel, "/sys", *OTHER_WRITABLE]


def host_labels() -> dict[str, str]:
    """Say whose a container is: a process, by the number and start time that it has in a namespace."""
    return {LABEL: "1", f"{LABEL}.pid": str(os.getpid()), f"{LABEL}.started": leftovers.started(),
            f"{LABEL}.namespace": leftovers.namespace()}
