"""One worker process, seen from the pool: started, spoken to, killed with its whole process group, and reaped."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from reasongym import registry
from reasongym.errors import ScoringError, UnknownNameError, message
from reasongym.scoring.protocol import CHANNEL_LOST, Channel, decode, encode
from reasongym.verifiers import REGISTERED

__all__ = ["Setup", "WorkerProcess", "make_setup"]

SEND_BYTES = 3 << 16
"""Room that is asked for in a socket to a worker. Linux doubles it, and counts what it spends around the data too."""

REAP_TIMEOUT_S = 30.0
OWN_END_TIMEOUT_S = 1.0
USER_FILE_PREFIX = "reasongym_user_"

# The parent's own sys.path, so that what it could import the worker can too. Not `-m`, which would put the current
# folder first; not multiprocessing, which would run the parent's __main__ again, torch and all.
BOOT = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from reasongym.scoring.worker import main; main()"
STDERR_FD = 2


class Setup(NamedTuple):
    """What a worker is told first: verifiers by a name that holds in another process, modules to import before."""

    verifiers: tuple[str, ...]
    modules: tuple[str, ...]
    memory_mib: int
    timeout_s: float


def make_setup(specs: Sequence[str], *, memory_mib: int, timeout_s: float) -> Setup:
    """No verifier's file is imported here, where nothing could stop it: a worker does that, under its deadline.

    Raises UnknownNameError for a verifier that stands in no file.
    """
    names, modules = zip(*map(_portable, specs), strict=True)
    return Setup(tuple(names), tuple(module for module in modules if module is not None), memory_mib, timeout_s)


def _portable(spec: str) -> tuple[str, str | None]:
    path, colon, name = spec.rpartition(":")
    if colon and path.endswith(".py"):
        return f"{Path(path).expanduser().resolve()}:{name}", None
    if spec in registry.BUILT_IN_VERIFIERS:
        # Imported first, it has registered its name: the worker need not look through all installed packages for it.
        return spec, registry.BUILT_IN_VERIFIERS[spec].partition(":")[0]
    if spec not in REGISTERED:
        return spec, None
    module = REGISTERED[spec].__module__
    if module != "__main__" and not module.startswith(USER_FILE_PREFIX):
        return spec, module
    file = getattr(sys.modules[module], "__file__", None)
    if file is None:
        raise UnknownNameError(message(f"verifier {spec!r} cannot be reached from a worker process",
                                       got="a function of an interactive session", expected="a function in a file",
                                       remedy=f"write it to a file and name it path/to/file.py:{spec}"))
    return f"{Path(file).resolve()}:{spec}", None


class WorkerProcess:
    """A process that will be a worker once `shake_hands` is done. `kill` may be called by any thread.

    The thread that makes it owns `channel` and must outlive it: Linux delivers the parent-death signal when that thread
    ends. Raises OSError when no process can be started.
    """

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)
        command = [sys.executable, "-P", "-c", BOOT, json.dumps([str(entry) for entry in sys.path]),
                   str(theirs.fileno()), str(os.getpid())]
        with theirs, contextlib.ExitStack() as undo:
            undo.callback(ours.close)
            # A verifier's prints go to our stderr: on stdout they would mix with what the program itself writes there.
            self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], start_new_session=True,
                                             stdin=subprocess.DEVNULL, stdout=STDERR_FD)
            undo.pop_all()
        self._sock = ours
        self._death_fd = os.pidfd_open(self._process.pid)
        self._lock = threading.Lock()
        self.was_killed = False
        self.channel = Channel(ours, self._death_fd)

    @property
    def room_bytes(self) -> int:
        """What can be sent to a worker that reads nothing, without waiting for it."""
        return self._sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) // 4

    @property
    def pid(self) -> int:
        return self._process.pid

    def shake_hands(self, setup: Setup, timeout_s: float) -> tuple[str, ...]:
        """Has the worker load its verifiers; says of each how it takes answers: one of `protocol`'s ways.

        Raises UnknownNameError for a verifier that is not found or whose file does not import, ScoringError where the
        worker is not ready within `timeout_s`. Either way the process has to be closed.
        """
        deadline = time.monotonic() + timeout_s
        try:
            self.channel.send(encode(setup._asdict()), deadline=deadline)
            reply = decode(self.channel.receive(deadline))
        except TimeoutError:
            reply = {"failed": f"nothing heard of it for {timeout_s:g} s: does a file wait while it is imported?"}
        except (EOFError, OSError):
            reply = {"failed": self.obituary()}
        except ValueError as error:
            reply = {"failed": f"it sent what is no record: {error}: does a file write to descriptors it did not open?"}
        if reply.get("is_users"):
            raise UnknownNameError(reply["failed"])
        if "failed" in reply:
            raise ScoringError(message("a verifier worker did not start", got=reply["failed"],
                                       expected=f"{', '.join(setup.verifiers)} to load in a fresh Python",
                                       remedy="run the verifier's file with python to see the whole error"))
        return tuple(reply["ways"])

    def obituary(self) -> str:
        """How a worker that left its socket ended; `was_killed` says whether by a SIGKILL that was not ours. Kills its
        group, and itself where it has not ended within 1 s."""
        poll = select.poll()
        poll.register(self._death_fd, select.POLLIN)
        ended = bool(poll.poll(OWN_END_TIMEOUT_S * 1000))  # not yet reaped, so that its number still is its own
        self.kill()
        status = self._process.returncode
        self.was_killed = ended and status == -signal.SIGKILL
        if not ended or status == CHANNEL_LOST:
            return "the worker process lost its channel: does the verifier close file descriptors it did not open?"
        if status >= 0:
            return f"the worker process exited with status {status}"
        hint = ": the machine may have run out of memory" if status == -signal.SIGKILL else ""
        return f"the worker process was killed by {signal.Signals(-status).name}{hint}"

    def kill(self) -> None:
        """SIGKILL to the process group, then reap. Does nothing to one already reaped: its number may be another's now.

        Raises ScoringError where the kernel does not let it die within 30 s.
        """
        with self._lock:
            if self._process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
            try:
                self._process.wait(REAP_TIMEOUT_S)
            except subprocess.TimeoutExpired as error:
                raise ScoringError(message("a verifier worker could not be killed", got=f"pid {self.pid} still there",
                                           expected=f"its end within {REAP_TIMEOUT_S:.0f} s of SIGKILL",
                                           remedy="look for hanging file systems or devices")) from error

    def close(self) -> None:
        """Kill, and release the file descriptors; for the owning thread alone, which might be waiting on them."""
        try:
            self.kill()
        finally:
            if self._death_fd >= 0:
                os.close(self._death_fd)
                self._death_fd = -1
                self._sock.close()
