"""The process that SymPy runs in: started at the first question and kept; a question that takes too long is killed.

It belongs to one process: after a fork the child's copy is forgotten, never spoken to. It stays in its parent's process
group and session, and the kernel kills it with the thread that started it; a question then starts another one.
Linux only.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

__all__ = ["Overtime", "answer_to", "close", "is_installed", "pid"]

LIMIT_S = 1.0
"""Processor time of one question: on a busy machine an answer gets the same verdict, later."""

GRACE_S = 1.0
"""How much later than the caller's deadline the child may answer that it took too long."""

MAX_START_S = 120.0
MAX_BYTES = 1 << 16
"""Of a question and of an answer: what a pipe holds, so that writing does not block."""

_BOOT = ("import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
         "from reasongym.verifiers.math.symbolic_child import main; main()")


class Overtime(Exception):
    """No answer in time. Not an ArithmeticError: it says nothing about the values."""


@lru_cache(maxsize=1)
def is_installed() -> bool:
    return importlib.util.find_spec("sympy") is not None


class _Child:
    """One process. Raises OSError where none can be started."""

    def __init__(self) -> None:
        command = [sys.executable, "-P", "-c", _BOOT, json.dumps([str(entry) for entry in sys.path]), str(os.getpid())]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, bufsize=0)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.to, self.back = self.process.stdin, self.process.stdout
        self.started, self.ready = time.monotonic(), False

    def await_start(self, deadline: float) -> None:
        """Raises Overtime where it is still loading. Left alone then: begun again it would take as long."""
        if not self.ready:
            self.line(deadline)
            self.ready = True

    @property
    def is_loading(self) -> bool:
        return not self.ready and time.monotonic() < self.started + MAX_START_S

    def line(self, deadline: float) -> bytes:
        """One line. Raises Overtime past the deadline, EOFError where the process has ended or writes too much."""
        poll = select.poll()
        poll.register(self.back, select.POLLIN)
        read = bytearray()
        while not read.endswith(b"\n"):
            if not poll.poll(max(deadline - time.monotonic(), 0.0) * 1000):
                raise Overtime("SymPy took too long")
            chunk = os.read(self.back.fileno(), MAX_BYTES)
            read += chunk
            if not chunk or len(read) > MAX_BYTES:
                raise EOFError("the process that runs SymPy has ended")
        return bytes(read)

    def close(self) -> None:
        """Kill and reap it, and release its pipes."""
        self.process.kill()
        self.process.wait()
        self.forget()

    def forget(self) -> None:
        """Release the pipes alone: after a fork the process is another's child."""
        self.process.returncode = self.process.returncode or 0  # else its finaliser waits for what is not its own
        with contextlib.suppress(OSError):
            self.to.close()
            self.back.close()


class _Keeper:
    """The child of this process, where there is one, and who may speak to it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.child: _Child | None = None

    def ask(self, line: bytes, deadline: float) -> bytes:
        """Raises Overtime, or EOFError and OSError where two processes in turn did not live to answer."""
        if not self.lock.acquire(timeout=max(deadline - time.monotonic(), 0.0)):
            raise Overtime("SymPy is busy")
        try:
            try:
                return self.exchange(line, deadline)
            except (EOFError, OSError):  # it ended while it was idle, with the thread that had started it
                return self.exchange(line, deadline)
        finally:
            self.lock.release()

    def exchange(self, line: bytes, deadline: float) -> bytes:
        child = self.child = self.child or _Child()
        try:
            child.await_start(deadline)
            left_ms = int(max(deadline - time.monotonic(), 0.0) * 1000)
            child.to.write(b"%d %d %b" % (LIMIT_S * 1000, left_ms, line))
            return child.line(deadline + GRACE_S)
        except BaseException as error:  # raised again; a late answer must not be taken for the next question's
            if not (isinstance(error, Overtime) and child.is_loading):
                self.child = None
                child.close()
            raise

    def close(self) -> None:
        with self.lock:
            child, self.child = self.child, None
        if child is not None:
            child.close()

    def forget(self) -> None:
        child, self.child, self.lock = self.child, None, threading.Lock()
        if child is not None:
            child.forget()


_KEEPER = _Keeper()
os.register_at_fork(after_in_child=_KEEPER.forget)
atexit.register(_KEEPER.close)
close = _KEEPER.close


def pid() -> int | None:
    """Process id of the child that now runs."""
    child = _KEEPER.child
    return None if child is None else child.process.pid


def answer_to(question: Mapping[str, object], deadline: float) -> dict[str, Any] | None:
    """The child's answer, with `cpu_s`, the seconds of processor time it took; None where there is none to be had.

    deadline: of the monotonic clock, for starting the child too. Raises Overtime.
    """
    line = json.dumps(question, separators=(",", ":")).encode("ascii") + b"\n"
    if len(line) > MAX_BYTES or not is_installed():
        return None
    try:
        answer: dict[str, Any] = json.loads(_KEEPER.ask(line, deadline))
    except (EOFError, OSError, ValueError):
        return None
    if answer.get("overtime"):
        raise Overtime("SymPy took too long")
    return answer
