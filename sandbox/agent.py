"""Runs as PID 1 inside the walls, keeps a warm interpreter, and serves one job at a time over its control socket.

It forks before a job is read, so that no byte of a job is ever in its memory: what the next job inherits is what the
last one inherited. After each job it kills every process, empties every writable place and checks both. It does not
cover what the walls must: that the processes see no files, network or processes of the host.

Messages are JSON, one a packet. From the host: `settings` once, `run` with the job's descriptors, `stop`. From here:
`ready` or `failed` once, then of each job `ended` or `failed`. The end of the socket is the end of the agent, and, as
it is PID 1, of everything inside.
"""

from __future__ import annotations

import errno
import gc
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from reasongym.sandbox import inner, linux, seccomp
from reasongym.sandbox.cleaning import Census, blur_devices, kill_all, renew, wipe

__all__ = ["PRELOADED", "Settings", "main", "preload"]

TICK_MS = 50
MAX_MESSAGE = 65536
MAX_DESCRIPTORS = 5
LIMIT_FAILED = "the job's process failed before the program began"
PRELOADED = ("bisect", "collections", "copy", "dataclasses", "decimal", "fractions", "functools", "heapq", "itertools",
             "math", "operator", "random", "re", "statistics", "string", "types", "typing")
"""Modules that small programs import most; each is then there without a read of its file."""


class Settings(NamedTuple):
    """What the host says first. work: the folder jobs start in. writable: the folders that jobs can write to, emptied
    after each. without: layers that the caller gave up. resizable: the work folder's file system is a tmpfs of our own
    that can be given another size for each job. residents: processes that RLIMIT_NPROC counts besides a job's, None
    where it counts those of others too, who share the user, and so cannot be used."""

    work: str = "/work"
    writable: tuple[str, ...] = ("/work", "/tmp", "/dev/shm")
    without: frozenset[str] = frozenset()
    resizable: bool = False
    residents: int | None = None


def preload() -> None:
    """Load what jobs import most, while the files can still be read."""
    for module in PRELOADED:
        __import__(module)


class Handles(NamedTuple):
    """Descriptors that the walls leave to the agent. proc: a /proc that hides nothing. pid_counter: the namespace's
    ns_last_pid, set back before each job, or one could count processes to tell the next something."""

    proc: int | None = None
    pid_counter: int | None = None


def main(control_fd: int, handles: Handles | None = None) -> inner.Program:
    """Serve until the host goes, which ends the process. Returns in the job's process alone, with its program."""
    control = socket.socket(fileno=control_fd)
    if handles is None:
        handles = Handles(os.open("/proc", os.O_RDONLY | os.O_DIRECTORY) if os.path.isdir("/proc") else None)
    try:
        settings = _prepare(control)
    except OSError as error:  # a layer that is asked for and cannot be had: the host must hear of it, not guess
        _say(control, {"failed": str(error)})
        os._exit(1)
    _say(control, {"ready": os.getpid()})
    while True:
        limits, descriptors = _next_job(control)
        if settings.resizable:
            _resize(settings.work, int(limits["work_mb"]))
        if handles.pid_counter is not None:
            os.pwrite(handles.pid_counter, b"1", 0)
        read_end, write_end = os.pipe()
        try:
            pid = os.fork()
        except OSError as error:
            _say(control, {"failed": f"fork: {error}"})
            os._exit(1)
        if pid == 0:
            control.detach()  # else its end would close its number, which may be that of the job's channel by then
            return _be_the_job(descriptors, write_end, settings)
        for descriptor in (*descriptors, write_end):
            os.close(descriptor)
        _say(control, _oversee(Census(handles.proc, pid), control, limits, read_end, settings))


def _prepare(control: socket.socket) -> Settings:
    said, _ = _hear(control)
    values = said["settings"]
    settings = Settings(work=values["work"], writable=tuple(values["writable"]),
                        without=frozenset(values["without"]), resizable=values["resizable"],
                        residents=values["residents"])
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN if os.getpid() != 1 else signal.SIG_DFL)  # PID 1 needs no handler to ignore
    if os.getpid() != 1:
        linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
    if "capabilities" not in settings.without:
        linux.prctl(linux.PR_SET_DUMPABLE, 0)
    while os.dup(0) <= inner.CHANNEL:  # so that no descriptor of a job arrives where its streams are to be
        pass
    preload()
    seccomp.program(os.uname().machine)
    if left := wipe(settings.writable):
        raise OSError(errno.ENOTEMPTY, f"cannot empty {left}")
    gc.collect()
    gc.freeze()  # the collector of a job would else touch, and so copy, every page of ours
    return settings


def _resize(folder: str, size_mb: int) -> None:
    """Before the job exists: it is empty now."""
    flags = linux.MS_REMOUNT | linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC
    linux.mount("tmpfs", folder, "", flags, f"size={size_mb}m")


def _be_the_job(descriptors: Sequence[int], report: int, settings: Settings) -> inner.Program:
    try:
        renew(settings.writable)
        return inner.become(descriptors, report, work=settings.work, without=settings.without,
                            residents=settings.residents, own_groups=settings.resizable)
    except BaseException as error:  # whatever it is, the program must not run, nor this process serve jobs
        os.write(report, f"{type(error).__name__}: {error}".encode()[:4000])
        os._exit(1)


class _Ended(NamedTuple):
    """status: of the main process, as wait() gives it. cause: of a killing by us."""

    status: int
    cause: str
    cpu_s: float
    peak_kb: int


def _oversee(census: Census, control: socket.socket, limits: Mapping[str, float], report: int,
             settings: Settings) -> dict[str, Any]:
    state = _state_of_agent()
    ended = _watch(census, control, limits)
    with open(report, "rb") as file:
        failure = file.read()
    if failure:
        return {"failed": f"{LIMIT_FAILED}: {failure.decode(errors='replace')}"}
    left = "" if "cleaning" in settings.without else wipe(settings.writable)
    if "/dev/shm" in settings.writable:  # else /dev is the machine's
        blur_devices()
    if not left and _state_of_agent() != state:
        left = "the agent's priority, processors or limits"
    return {"ended": ended._asdict(), "left": left}


def _watch(census: Census, control: socket.socket, limits: Mapping[str, float]) -> _Ended:
    """Wait for the main process to end, for the host's word or for a limit; then nothing is left alive."""
    deadline = time.monotonic() + limits["wall_s"]
    main_process = os.pidfd_open(*census.main)
    poll = select.poll()
    poll.register(main_process, select.POLLIN)
    poll.register(control, select.POLLIN)
    cause = ""
    while not cause:
        events = dict(poll.poll(TICK_MS))
        if control.fileno() in events:
            _hear(control)  # `stop` is all the host says during a job
            cause = "stop"
        elif main_process in events:
            break
        elif time.monotonic() > deadline:
            cause = "wall"
        else:
            census.take()
            cause = "cpu" if census.cpu_s > limits["cpu_s"] else ""
            cause = "memory" if census.memory_mb > limits["memory_mb"] else cause
    os.close(main_process)
    kill_all(census)
    return _Ended(census.status, cause, census.cpu_s, census.peak_kb)


def _state_of_agent() -> tuple[object, ...]:
    """What a process of the same user could change about this one, and the next job would inherit."""
    kinds = (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE,
             resource.RLIMIT_FSIZE, resource.RLIMIT_STACK)
    return (os.getpriority(os.PRIO_PROCESS, 0), frozenset(os.sched_getaffinity(0)), os.sched_getscheduler(0),
            *(resource.getrlimit(kind) for kind in kinds))


def _next_job(control: socket.socket) -> tuple[Mapping[str, float], list[int]]:
    while True:
        message, descriptors = _hear(control)
        if "run" in message:
            return message["run"], descriptors
        for descriptor in descriptors:  # a `stop` that crossed the job's own end on its way
            os.close(descriptor)


def _hear(control: socket.socket) -> tuple[dict[str, Any], list[int]]:
    data, descriptors, _, _ = socket.recv_fds(control, MAX_MESSAGE, MAX_DESCRIPTORS)
    if not data:
        _end()
    message: dict[str, Any] = json.loads(data)
    return message, descriptors


def _say(control: socket.socket, message: Mapping[str, object]) -> None:
    try:
        control.send(json.dumps(message).encode())
    except OSError:
        _end()


def _end() -> NoReturn:
    """The host is gone. As PID 1 this ends all that is inside; else the processes of a job are ended by name."""
    if os.getpid() != 1:
        kill_all(Census(os.open("/proc", os.O_RDONLY)))
    sys.stderr.flush()
    os._exit(0)
