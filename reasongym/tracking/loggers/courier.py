"""One logger, seen from the run: a bounded queue, and a thread that carries it to the logger's process.

The process is killed where it misses a deadline: a thread that hangs in somebody's client could not be, nor what that
client does as Python ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from queue import SimpleQueue
from typing import Any

from reasongym.errors import ResourceError
from reasongym.files import make_folder
from reasongym.tracking.loggers.messages import Outcome, RunInfo

__all__ = ["Courier"]

BOOT = ("import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
        "from reasongym.tracking.loggers.child import main; main(sys.argv[2], int(sys.argv[3]))")
CAPACITY = 1000  # rows that wait; a step has one or two
START_S = 120.0
"""To import a service's client and connect: on a busy machine the import alone takes long."""
REAP_S = 10.0


class _Gone(Exception):
    """The process hangs or has ended."""


class Courier:
    """`send` neither blocks nor raises. lost: calls that did not arrive, of `sent`."""

    def __init__(self, name: str, run: RunInfo, *, timeout_s: float) -> None:
        """timeout_s: of one call, and of all that is left when the run ends."""
        self.name, self.sent = name, 0
        self._refused = self._failed = 0  # counted by the run, and by the thread
        self._run, self._timeout_s = run, timeout_s
        self._queue: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        self._words: SimpleQueue[str] = SimpleQueue()
        self._unanswered = 0
        self._warned = self._late = False
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._thread = threading.Thread(target=self._work, name=f"logger-{name}", daemon=True)
        self._thread.start()

    def send(self, call: Mapping[str, Any]) -> None:
        """Put a call into the queue; it is lost where that is full."""
        self.sent += 1
        if self._queue.qsize() >= CAPACITY:
            self._refused += 1
            self._warn(f"{CAPACITY} rows wait for it")
        else:
            self._queue.put(dict(call))

    @property
    def lost(self) -> int:
        return self._refused + self._failed

    def words(self) -> list[str]:
        """What there is to say since the last time: an address to look at, a warning."""
        found = []
        while not self._words.empty():
            found.append(self._words.get())
        return found

    def begin_close(self, outcome: Outcome) -> None:
        """No further call comes. Does not wait."""
        self._queue.put({"call": "finish", "outcome": outcome})
        self._queue.put(None)

    def end_close(self, deadline: float) -> None:
        """Wait for what is queued until `deadline` (time.monotonic), then kill the process."""
        self._thread.join(max(0.0, deadline - time.monotonic()))
        if self._thread.is_alive() and self._process is not None:
            self._late = True
            _kill(self._process)
            self._thread.join(REAP_S)
        if self.lost:
            self._words.put(f"logger {self.name}: {self.lost} of {self.sent} rows did not arrive; metrics.jsonl has "
                            "them all")

    def _work(self) -> None:
        """The thread: begins the run, then carries until None comes; once the process is gone, it only counts."""
        grace_s = 0.0
        try:
            self._start()
            for call in iter(self._queue.get, None):
                self._carry(call)
            grace_s = REAP_S
        except (_Gone, OSError, ResourceError) as error:
            why = f"it did not end in time, {self._timeout_s:g} s" if self._late else str(error).splitlines()[0]
            self._warn(f"{why}; the run goes on without it")
        finally:
            self._reap(grace_s)

    def _start(self) -> None:
        log = make_folder(self._run.log_file(self.name).parent) / f"{self.name}.log"
        ours, theirs = socket.socketpair()
        self._channel = ours
        path = json.dumps([str(entry) for entry in sys.path])
        with theirs, log.open("ab") as printed:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", BOOT, path, self.name, str(theirs.fileno())],
                stdin=subprocess.DEVNULL, stdout=printed, stderr=printed, pass_fds=[theirs.fileno()],
                start_new_session=True)  # a Ctrl-C is for the run, which then says how it ended
        answer = self._exchange({"call": "start", "run": self._run.as_json()}, max(START_S, self._timeout_s))
        if "error" in answer:
            raise _Gone(answer["error"])
        if answer.get("note"):
            self._words.put(f"logger {self.name}: {answer['note']}")

    def _carry(self, call: Mapping[str, Any]) -> None:
        counts = call["call"] != "finish"
        self._unanswered = int(counts)
        answer = self._exchange(call, self._timeout_s)
        self._unanswered = 0
        if "error" in answer:
            self._failed += counts
            self._warn(str(answer["error"]).splitlines()[0])

    def _exchange(self, call: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        """One call and its answer. Raises _Gone."""
        assert self._channel is not None
        deadline, answer = time.monotonic() + timeout_s, b""
        try:
            self._channel.settimeout(timeout_s)
            self._channel.sendall(json.dumps(call).encode() + b"\n")
            while not answer.endswith(b"\n"):
                self._channel.settimeout(max(0.001, deadline - time.monotonic()))
                part = self._channel.recv(1 << 16)
                if not part:
                    raise _Gone("its process has ended")
                answer += part
        except TimeoutError as error:
            raise _Gone(f"it did not answer within {timeout_s:g} s") from error
        except OSError as error:
            raise _Gone(f"its process has ended ({error.strerror})") from error
        found: dict[str, Any] = json.loads(answer)
        return found

    def _warn(self, why: str) -> None:
        """The first time; what follows is only counted."""
        if not self._warned:
            self._warned = True
            self._words.put(f"warning: logger {self.name} failed: {why} (what it printed: "
                            f"{self._run.log_file(self.name)})")

    def _reap(self, grace_s: float) -> None:
        """No process is left, nor a row that is not counted."""
        if self._channel is not None:
            self._channel.close()
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(grace_s)
            _kill(self._process)
        self._failed += self._unanswered
        for call in iter(self._queue.get, None) if not grace_s else ():
            self._failed += call["call"] != "finish"


def _kill(process: subprocess.Popen[bytes]) -> None:
    """With all that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(REAP_S)
