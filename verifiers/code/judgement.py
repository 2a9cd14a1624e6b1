"""What the tests say of a candidate, and the verdict that follows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from reasongym.verifiers.code.answers import Answer, Kind
from reasongym.verifiers.code.reference import Shelf
from reasongym.verifiers.verdict import Status, Verdict

__all__ = ["Judgement", "TestsBroken", "Trial", "judge", "legible"]

_MAX_REASON = 500


class TestsBroken(Exception):
    """The tests failed by themselves: ERROR, whatever the candidate did."""


class Trial(NamedTuple):
    """One test that was run. problem: empty where it passed. detail: further what only an open test may tell."""

    shelf: Shelf
    problem: str = ""
    detail: str = ""
    timed_out: bool = False

    @classmethod
    def failed(cls, shelf: Shelf, answer: Answer, detail: str = "") -> Trial:
        """By an answer that is no value."""
        verb = {Kind.RAISED: "raised ", Kind.ODD: "returned "}.get(answer.kind, "")
        return cls(shelf, f"{verb}{answer.described}", detail, answer.kind is Kind.TIMEOUT)


class Judgement(NamedTuple):
    """status: CORRECT, WRONG, PARTIAL or TIMEOUT. share: of the tests that count."""

    status: Status
    share: float
    reason: str

    def verdict(self, code: str) -> Verdict:
        return Verdict(score=self.share, status=self.status, extracted=code, reason=self.reason)


def judge(trials: Iterable[Trial], num_tests: int, *, partial: bool) -> Judgement:
    """Runs them until one fails, or with `partial` to the end. Shown tests have to pass, and earn nothing."""
    first: tuple[int, Trial] | None = None
    passed = counted = 0
    for number, trial in enumerate(trials, start=1):
        counted += trial.shelf != "shown"
        passed += trial.shelf != "shown" and not trial.problem
        if trial.problem and first is None:
            first = number, trial
        if trial.problem and not partial:
            break
    if first is None:
        return Judgement(Status.CORRECT, 1.0, f"{num_tests} of {num_tests} tests")
    reason = _reason(*first, num_tests)
    if partial and passed:
        # All that count may have passed with a shown one failed: that is not all.
        share = min(passed / counted, (num_tests - 1) / num_tests)
        return Judgement(Status.PARTIAL, share, f"{passed} of {counted}; {reason}")
    return Judgement(Status.TIMEOUT if first[1].timed_out else Status.WRONG, 0.0, reason)


def _reason(number: int, trial: Trial, num_tests: int) -> str:
    if trial.shelf == "hidden":
        return f"test {number} of {num_tests}, hidden: {'too slow' if trial.timed_out else 'failed'}"
    return f"test {number} of {num_tests}: {trial.problem}{f' ({trial.detail})' if trial.detail else ''}"


def legible(text: str) -> str:
    """One short line without characters that a terminal obeys: programs and tests wrote parts of it."""
    cut = text[:_MAX_REASON]
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in cut)[:_MAX_REASON]
