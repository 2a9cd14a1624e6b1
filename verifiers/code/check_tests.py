"""Assertions of a data set: they run in a sandbox of their own, and each call of theirs goes through here as data.

Neither side can reach the other, and the verdict comes over the tests' channel alone, under a nonce that only the host
and the tests' session know.
"""

from __future__ import annotations

import secrets
import signal
import time
from collections.abc import Mapping, Sequence

from reasongym.sandbox.backend import Sandbox, Session
from reasongym.sandbox.jobs import Ending, Job
from reasongym.verifiers.code.answers import Answer, Kind
from reasongym.verifiers.code.candidate import Candidate
from reasongym.verifiers.code.inside.examiner import FAILED, HELD, PREPARED
from reasongym.verifiers.code.inside.values import MAX_MESSAGE, NotPlain, decode, encode
from reasongym.verifiers.code.judgement import TestsBroken, Trial
from reasongym.verifiers.code.limits import LOADING_S, CodeLimits, out_of_time
from reasongym.verifiers.code.programs import EXAMINER, program
from reasongym.verifiers.code.reference import Check

__all__ = ["Examination", "check_trials"]


_TOLD = (Kind.VALUE, Kind.RAISED, Kind.ODD)
_FORGED = "the tests wrote to the channel themselves"
_SPENT_S = 1.0
"""Of time or of CPU time: a program that had used more by then has a part in it that its tests ran out of time."""


class Examination:
    """The tests' session. Opened before the candidate is called; used by one thread."""

    def __init__(self, sandbox: Sandbox, limits: CodeLimits) -> None:
        self.answered = False
        self.session: Session = sandbox.open(Job(files=program(EXAMINER), limits=limits.of_tests()))
        self._total_s = limits.total_wall_s
        self._opened = time.monotonic()
        self.deadline = self._opened + self._total_s

    def begin(self) -> None:
        """Their time begins when the candidate is loaded; by how much that is later than their session is bounded."""
        self.deadline = min(time.monotonic(), self._opened + LOADING_S) + self._total_s

    def close(self) -> None:
        self.session.finish()


def check_trials(examination: Examination, candidate: Candidate, name: str, check: Check,
                 prelude: str, *, partial: bool) -> Sequence[Trial]:
    """One a statement that tests something, or one for `check`. Raises TestsBroken where the tests fail by themselves.

    An answer that no test can be given (a time-out, a program that ended) fails the statement, and without `partial`
    all of them. So does whatever ends the tests once they hold an answer of the candidate's: `range(len(answer))` may
    be endless, a parser may crash on the text it was given, and an error would let an answer leave its group when it
    pleases. For the same reason tests that run out of time before their first call are broken only where the candidate
    had hardly used any.
    """
    examination.begin()
    try:
        return _examined(examination, candidate, name, check, prelude, partial=partial)
    except _Over as over:
        problem = f"{over}, with the answer's values"
        if not examination.answered:
            spent_s = candidate.spent_s() if over.waited else 0.0
            if spent_s <= _SPENT_S:
                raise TestsBroken(str(over)) from None
            problem = f"{over}, after the program had used {spent_s:.1f} s"
        return [Trial("open", problem, timed_out=over.timed_out)] * max(len(check.asserts), 1)


class _Over(Exception):
    """The tests' session is, without a result. waited: it was its wall time that ran out, not its CPU time."""

    def __init__(self, why: str, *, timed_out: bool = False, waited: bool = False) -> None:
        super().__init__(why)
        self.timed_out = timed_out
        self.waited = waited


def _examined(examination: Examination, candidate: Candidate, name: str, check: Check, prelude: str, *,
              partial: bool) -> Sequence[Trial]:
    nonce, num_tests = secrets.token_bytes(16), max(len(check.asserts), 1)
    lost: Answer | None = None
    _send(examination, {"nonce": nonce, "prelude": prelude, "source": check.source, "asserts": list(check.asserts),
                        "entry_point": name})
    while True:
        match _receive(examination):
            case ("call", str(function), tuple(args), dict(kwargs)):
                answer = _asked(candidate, function, args, kwargs)
                if answer.kind not in _TOLD:
                    lost = lost or answer
                    if not partial:
                        return [Trial.failed("open", lost)] * num_tests
                examination.answered = True
                _send(examination, _told(answer))
            case ("passed", bytes(said), list(results), str(why)) if said == nonce:
                return _trials(results, why, num_tests, timed_out=lost is not None and lost.kind is Kind.TIMEOUT)
            case ("broken", bytes(said), str(why)) if said == nonce:
                raise _Over(why)
            case _:
                raise _Over(_FORGED)


def _asked(candidate: Candidate, function: str, args: Sequence[object], kwargs: Mapping[object, object]) -> Answer:
    try:
        return candidate.call(function, args, {str(key): value for key, value in kwargs.items()})
    except NotPlain as error:  # what they pass may be what they were answered
        raise _Over(f"the tests pass {error}, which does not travel") from None


def _trials(results: list[object], why: str, num_tests: int, *, timed_out: bool) -> list[Trial]:
    """Without what held and tests nothing: it earns nothing, nor takes anything away."""
    if len(results) != num_tests or not all(result in (HELD, FAILED, PREPARED) for result in results):
        raise _Over(_FORGED)
    trials = [Trial("open") if result == HELD else Trial("open", why or "failed", timed_out=timed_out)
              for result in results if result != PREPARED]
    if not trials:
        raise _Over("nothing in the tests asserts anything")
    return trials


def _told(answer: Answer) -> tuple[object, ...]:
    """An object that does not travel becomes one that is true or false and nothing else: some MBPP solutions return a
    match where the assertion asks for its truth. It gains nothing that a plain value would not."""
    match answer.kind:
        case Kind.VALUE:
            return "value", answer.value
        case Kind.RAISED:
            return "raised", answer.name, answer.base, answer.text, answer.arguments
        case Kind.ODD:
            return "odd", answer.value
    return "lost", answer.described


def _send(examination: Examination, value: object) -> None:
    try:
        frame = encode(value, limit=MAX_MESSAGE)
        examination.session.send(frame, timeout_s=max(examination.deadline - time.monotonic(), 0.001))
    except (EOFError, TimeoutError):
        raise _end(examination) from None
    except ValueError as error:
        raise _Over(f"they do not fit into a message: {error}") from None


def _receive(examination: Examination) -> object:
    left = max(examination.deadline - time.monotonic(), 0.001)
    try:
        return decode(examination.session.receive(timeout_s=left, limit_bytes=MAX_MESSAGE), limit=MAX_MESSAGE)
    except (EOFError, TimeoutError):
        raise _end(examination) from None
    except ValueError as error:
        raise _Over(f"{_FORGED}: {error}") from None


def _end(examination: Examination) -> _Over:
    result = examination.session.finish()
    if out_of_time(result) or time.monotonic() >= examination.deadline:
        waited = result.ending is not Ending.CPU_TIME and result.status != 128 + signal.SIGXCPU
        return _Over("the tests ran out of time", timed_out=True, waited=waited)
    return _Over(f"the tests ended their process ({result.ending}, status {result.status})")
