"""A candidate's session, seen from the host: what comes back is the candidate's word, and is read as such."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from reasongym.sandbox.backend import Sandbox
from reasongym.sandbox.jobs import Ending, Job
from reasongym.verifiers.code.answers import NONSENSE, Answer, Kind, read_loaded, read_returned
from reasongym.verifiers.code.inside.values import MAX_MESSAGE, decode, encode
from reasongym.verifiers.code.limits import CodeLimits, out_of_time
from reasongym.verifiers.code.programs import CALLER, program

__all__ = ["Candidate"]


class Candidate:
    """Loads the first of `sources` that defines the function, then answers calls. Used by one thread.

    Raises SandboxError from any method where the sandbox failed, and NotPlain where what is asked does not travel.
    """

    def __init__(self, sandbox: Sandbox, limits: CodeLimits) -> None:
        self._limits = limits
        self._session = sandbox.open(Job(files=program(CALLER), limits=limits.of_all()))
        self._deadline = time.monotonic() + limits.total_wall_s  # from here: it may have waited long for a worker
        self._over: Answer | None = None
        self._load_s = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._session.finish()

    def load(self, sources: Sequence[str], entry_point: str | None, prelude: str = "") -> Answer:
        """VALUE with the index of the source that was loaded, or why none was. No entry point: none is run."""
        order = {"choices": list(sources), "entry_point": entry_point, "prelude": prelude}
        began = time.monotonic()
        said = self._ask(order, self._limits.wall_s)
        self._load_s = time.monotonic() - began
        return said if isinstance(said, Answer) else self._heard(read_loaded(said, len(sources)))

    def spent_s(self) -> float:
        """Seconds that loading took, or CPU seconds of all its processes until now, whichever are more. All there are
        where its program ended otherwise than by waiting. Ends the session."""
        result = self._session.finish()
        waited = result.ending in (Ending.SIGNALLED, Ending.WALL_TIME)
        return max(self._load_s, result.cpu_s) if waited else self._limits.total_wall_s

    def call(self, name: str, args: Sequence[object], kwargs: Mapping[str, object]) -> Answer:
        """One call, in a process of its own inside the sandbox. Once the session is over all others fail as it did."""
        order = {"name": name, "args": list(args), "kwargs": dict(kwargs), "cpu_s": math.ceil(self._limits.cpu_s)}
        said = self._ask(order, self._limits.wall_s)
        return said if isinstance(said, Answer) else self._heard(read_returned(said, self._limits.cpu_s))

    def _ask(self, order: Mapping[str, object], wall_s: float) -> object:
        if self._over is not None:
            return self._over
        frame = encode(dict(order), limit=MAX_MESSAGE)
        left = min(wall_s, self._deadline - time.monotonic())
        try:
            if left <= 0:
                raise TimeoutError
            self._session.send(frame, timeout_s=left)
            return decode(self._session.receive(timeout_s=left, limit_bytes=MAX_MESSAGE), limit=MAX_MESSAGE)
        except TimeoutError:
            self._over = Answer(Kind.TIMEOUT, text=f"no answer within {min(wall_s, self._limits.total_wall_s):g} s")
        except EOFError:
            self._over = self._obituary()
        except ValueError:
            self._over = NONSENSE
        return self._over

    def _heard(self, answer: Answer) -> Answer:
        """Who writes to the channel itself is not asked again: its next frames are no answers to the next calls."""
        self._over = NONSENSE if answer is NONSENSE else self._over
        return answer

    def _obituary(self) -> Answer:
        result = self._session.finish()
        if out_of_time(result):
            return Answer(Kind.TIMEOUT, text="all the time there is was used up")
        how = {Ending.EXITED: f"with status {result.status}", Ending.MEMORY: "out of memory"}
        return Answer(Kind.DIED, text=f"the program ended {how.get(result.ending, f'by signal {result.status - 128}')}")
