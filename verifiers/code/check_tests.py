"""Assertions of a data set: they run in a sandbox of their own, and each call of theirs goes through here as data.

Neither side can reach the other, and the verdict comes over the tests' channel alone, under a nonce that only the host
and the tests' session know.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence

from reasongym.sandbox.backend import Sandbox, Session
from reasongym.sandbox.jobs import Job
from reasongym.verifiers.code.candidate import FRAME_BYTES, Answer, Candidate, Kind
from reasongym.verifiers.code.inside.values import decode, encode
from reasongym.verifiers.code.judgement import TestsBroken, Trial
from reasongym.verifiers.code.limits import CodeLimits, out_of_time
from reasongym.verifiers.code.programs import EXAMINER, program
from reasongym.verifiers.code.reference import Check

__all__ = ["Examination", "check_trials"]


_TOLD = (Kind.VALUE, Kind.RAISED, Kind.ODD)


class Examination:
    """The tests' session. Opened before the candidate is called; used by one thread."""

    def __init__(self, sandbox: Sandbox, limits: CodeLimits) -> None:
        self.deadline = time.monotonic() + limits.total_wall_s
        self.answered = False
        self.session: Session = sandbox.open(Job(files=program(EXAMINER), limits=limits.of_all()))

    def close(self) -> None:
        self.session.finish()


def check_trials(examination: Examination, candidate: Candidate, name: str, check: Check,
                 prelude: str, *, partial: bool) -> Sequence[Trial]:
    """One a statement, or one for `check`. Raises TestsBroken where the tests fail by themselves.

    An answer that no test can be given (a time-out, a program that ended) fails the statement, and without `partial`
    all of them. Tests that run out of time once they hold a value of the candidate's have it as their reason:
    `range(len(answer))` may be endless, and an error would let an answer leave its group when it pleases.
    """
    try:
        return _examined(examination, candidate, name, check, prelude, partial=partial)
    except _OutOfTime as error:
        if not examination.answered:
            raise TestsBroken(str(error)) from None
        return [Trial("open", f"{error}, with the answer's values", timed_out=True)] * max(len(check.asserts), 1)


class _OutOfTime(Exception):
    """The tests' session used up its time."""


def _examined(examination: Examination, candidate: Candidate, name: str, check: Check, prelude: str, *,
              partial: bool) -> Sequence[Trial]:
    nonce, num_tests = secrets.token_bytes(16), max(len(check.asserts), 1)
    lost: Answer | None = None
    _send(examination, {"nonce": nonce, "prelude": prelude, "source": check.source, "asserts": list(check.asserts),
                        "entry_point": name})
    while True:
        match _receive(examination):
            case ("call", str(function), tuple(args), dict(kwargs)):
                answer = candidate.call(function, args, {str(key): value for key, value in kwargs.items()})
                if answer.kind not in _TOLD:
                    lost = lost or answer
                    if not partial:
                        return [Trial.failed("open", lost)] * num_tests
                examination.answered = True
                _send(examination, _told(answer))
            case ("passed", bytes(said), list(results), str(why)) if said == nonce:
                return _trials(results, why, num_tests, timed_out=lost is not None and lost.kind is Kind.TIMEOUT)
            case ("broken", bytes(said), str(why)) if said == nonce:
                raise TestsBroken(why)
            case _:
                raise TestsBroken("the tests wrote to the channel themselves")


def _trials(results: list[object], why: str, num_tests: int, *, timed_out: bool) -> list[Trial]:
    if len(results) != num_tests or not all(type(result) is bool for result in results):
        raise TestsBroken("the tests wrote to the channel themselves")
    return [Trial("open") if result else Trial("open", why or "failed", timed_out=timed_out) for result in results]


def _told(answer: Answer) -> tuple[object, ...]:
    """An object that does not travel becomes one that is true or false and nothing else: some MBPP solutions return a
    match where the assertion asks for its truth. It gains nothing that a plain value would not."""
    match answer.kind:
        case Kind.VALUE:
            return "value", answer.value
        case Kind.RAISED:
            return "raised", answer.name, answer.text
        case Kind.ODD:
            return "odd", answer.value
    return "lost", answer.described


def _send(examination: Examination, value: object) -> None:
    try:
        examination.session.send(encode(value), timeout_s=max(examination.deadline - time.monotonic(), 0.001))
    except (EOFError, TimeoutError):
        raise _end(examination) from None
    except ValueError as error:
        raise TestsBroken(f"they do not fit into a message: {error}") from None


def _receive(examination: Examination) -> object:
    left = max(examination.deadline - time.monotonic(), 0.001)
    try:
        return decode(examination.session.receive(timeout_s=left, limit_bytes=FRAME_BYTES))
    except (EOFError, TimeoutError):
        raise _end(examination) from None
    except ValueError as error:
        raise TestsBroken(f"the tests wrote to the channel themselves: {error}") from None


def _end(examination: Examination) -> Exception:
    result = examination.session.finish()
    if out_of_time(result) or time.monotonic() >= examination.deadline:
        return _OutOfTime("the tests ran out of time")
    return TestsBroken(f"the tests ended their process ({result.ending}, status {result.status})")
