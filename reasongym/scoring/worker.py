"""The process that runs verifiers: a fresh interpreter, started by `process.py`, that answers over a private socket.

Linux only (prctl, /proc, pidfd). What it does not cover: a verifier is trusted code. It can reach the network, its
user's files and everything a process can do to itself; only its time, its memory and its mistakes are contained. A
program that it starts in a session of its own outlives it: running untrusted code is the sandbox's work.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import inspect
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from reasongym import registry
from reasongym.errors import UserError
from reasongym.scoring.protocol import (
    BATCH,
    CHANNEL_LOST,
    IN_WORKER,
    SINGLE,
    TOGETHER,
    Channel,
    decode,
    encode,
    verdict_to_record,
)
from reasongym.verifiers import Verdict, Verifier, as_verdict
from reasongym.verifiers.registration import BatchVerifier

if TYPE_CHECKING:
    import asyncio

__all__ = ["main"]

MIB = 2**20
PR_SET_PDEATHSIG = 1
SHARE_OF_THE_TIME = 0.9
"""Of an answer's time, what a coroutine gets before it is cancelled: the rest is for the verdicts of its neighbours."""


def main() -> NoReturn:
    """`<socket's file descriptor> <parent's pid>` are the last two arguments."""
    _die_with_parent(int(sys.argv[-1]))
    channel = Channel(socket.socket(fileno=int(sys.argv[-2])))
    os.environ[IN_WORKER] = str(os.getpid())
    setup = decode(channel.receive())
    verifiers = [(verifier, _way_of(verifier)) for verifier in _load(setup, channel)]
    _limit_memory(setup["memory_mib"])
    channel.send(encode({"ways": [way for _, way in verifiers]}))
    _prepare([verifier for verifier, _ in verifiers])
    try:
        _serve(channel, verifiers, setup["timeout_s"] * SHARE_OF_THE_TIME)
    except EOFError:  # the pool is gone
        _end_group()
    except OSError:  # a verifier closed our socket; the pool reads the status and kills the group
        os._exit(CHANNEL_LOST)


def _die_with_parent(parent: int) -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above
        _end_group()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # a Ray worker's children inherit "ignore", which breaks waiting
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _end_group() -> NoReturn:
    """No exit handlers and no joining: a verifier may have left threads that never end."""
    os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _load(setup: dict[str, Any], channel: Channel) -> list[Verifier]:
    try:
        for module in setup["modules"]:
            importlib.import_module(module)
        return [registry.verifier(spec) for spec in setup["verifiers"]]
    except BaseException as error:  # a user's file may raise anything; the pool raises it again
        is_users = isinstance(error, UserError)
        channel.send(encode({"failed": str(error) if is_users else _describe(error), "is_users": is_users}))
        _end_group()


def _prepare(verifiers: Sequence[Verifier]) -> None:
    """What they would open at the first answer. Where it fails, that answer's verdict says so: it is tried again."""
    for verifier in verifiers:
        with contextlib.suppress(Exception):  # boundary: a verifier's own code
            getattr(verifier, "prepare", lambda: None)()


def _limit_memory(extra_mib: int) -> None:
    """Address space: what is mapped now, verifiers loaded, plus `extra_mib`.

    Only the soft limit, so that a sandbox started by a verifier can set a limit of its own above it.
    """
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = mapped + extra_mib * MIB
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def _way_of(verifier: Verifier) -> str:
    if isinstance(verifier, BatchVerifier):
        return BATCH
    return TOGETHER if any(map(inspect.iscoroutinefunction, (verifier, type(verifier).__call__))) else SINGLE


def _serve(channel: Channel, verifiers: list[tuple[Verifier, str]], task_timeout_s: float) -> NoReturn:
    pid = os.getpid()
    while True:
        request, frame = decode(channel.receive()), channel.receive()
        retires = False
        for part in request["parts"]:
            verifier, way = verifiers[part]
            reply = _check(verifier, way, frame, request["num_answers"], task_timeout_s)
            if os.getpid() != pid:  # a process that the verifier forked came back here: its answer is not ours
                os._exit(0)
            channel.send(encode(reply))
            retires = retires or bool(reply["retire"])
        while retires:  # until it is killed: requests may have been sent ahead, and others will answer them
            signal.pause()


def _check(verifier: Verifier, way: str, frame: bytes, num_answers: int, task_timeout_s: float) -> dict[str, object]:
    """One part's verdicts, one an answer, and whether this process should be replaced.

    The frame is decoded for every part, so that no verifier sees what another did to the reference.
    """
    started = time.perf_counter()
    retire = False
    try:
        verdicts = [_verdict(value) for value in _ask(verifier, way, decode(frame)["answers"], task_timeout_s)]
    except BaseException as error:  # the one boundary that may catch everything: it becomes an ERROR verdict
        verdicts = [verdict_to_record(Verdict.error(_describe(error)))] * num_answers
        # After MemoryError whatever the verifier keeps in its module's caches would fail the next answers too.
        retire = isinstance(error, MemoryError)
    return {"verdicts": verdicts, "seconds": time.perf_counter() - started, "retire": retire}


def _ask(verifier: Verifier, way: str, answers: list[dict[str, Any]], task_timeout_s: float) -> list[Any]:
    """What the verifier says of each answer; there are several where it takes them together."""
    if isinstance(verifier, BatchVerifier):
        said = verifier.many(*([answer[key] for answer in answers] for key in ("response", "reference")),
                             examples=[answer["fields"] for answer in answers])
        values: list[Any] = _wait_for(said) if inspect.isawaitable(said) else said
        return values
    if way == TOGETHER:
        together: list[Any] = _wait_for(_side_by_side(verifier, answers, task_timeout_s))
        return together
    (answer,) = answers
    value = _call(verifier, answer)
    return [_wait_for(value) if inspect.isawaitable(value) else value]


def _call(verifier: Verifier, answer: dict[str, Any]) -> Any:
    return verifier(answer["response"], answer["reference"], example=answer["fields"])


async def _side_by_side(verifier: Verifier, answers: list[dict[str, Any]], timeout_s: float) -> list[Any]:
    """Each answer in a task of its own, whose failure or delay is its own verdict."""
    import asyncio

    tasks = [asyncio.ensure_future(_call(verifier, answer)) for answer in answers]
    _, late = await asyncio.wait(tasks, timeout=timeout_s)
    for task in late:
        task.cancel()
    return [Verdict.timeout(f"no verdict within {timeout_s:g} s; it was cancelled") if task in late
            else _outcome(task) for task in tasks]


def _outcome(task: asyncio.Future[Any]) -> Any:
    if task.cancelled():
        return Verdict.error("CancelledError: the verifier cancelled itself")
    error = task.exception()
    if isinstance(error, MemoryError):
        raise error
    return task.result() if error is None else Verdict.error(_describe(error))


def _verdict(value: Any) -> dict[str, object]:
    """What is no verdict is an ERROR of its own answer: which answer it belongs to is beyond doubt."""
    try:
        return verdict_to_record(as_verdict(value))
    except (TypeError, ValueError) as error:
        return verdict_to_record(Verdict.error(_describe(error)))


_RUNNER: list[asyncio.Runner] = []


def _wait_for(value: Awaitable[Any]) -> Any:
    """One event loop a process: clients that a verifier keeps between answers stay bound to it."""
    import asyncio  # here, since most verifiers are plain functions and it takes as long to load as all the rest

    async def awaited() -> Any:
        return await value

    if not _RUNNER:
        _RUNNER.append(asyncio.Runner())
    return _RUNNER[0].run(awaited())


def _describe(error: BaseException) -> str:
    """`ZeroDivisionError: division by zero (rules.py:12)`."""
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:  # an exception whose own __str__ raises still has a type
        text = type(error).__name__
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return text
    return f"{text} ({Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno})"
