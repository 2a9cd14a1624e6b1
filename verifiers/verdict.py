"""The record every verifier answers with."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from numbers import Real

__all__ = ["Status", "Verdict", "as_verdict"]


class Status(StrEnum):
    """What became of one answer. ERROR is a failure of ours, never a reward; TIMEOUT had to be killed and scores 0."""

    CORRECT = "correct"
    WRONG = "wrong"
    PARTIAL = "partial"
    UNPARSABLE = "unparsable"
    TIMEOUT = "timeout"
    ERROR = "error"


_LONGEST = 10_000
SCORELESS = frozenset({Status.WRONG, Status.UNPARSABLE, Status.TIMEOUT, Status.ERROR})
EXPECTED = {Status.CORRECT: "1", Status.PARTIAL: "between 0 and 1", **dict.fromkeys(SCORELESS, "0")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A verifier's answer.

    score: finite, in [0, 1]. status: CORRECT has score 1, PARTIAL a score strictly between 0 and 1, every other 0; a
    composite score (0.1 for the format, 0.4 for a schema) is PARTIAL until all of it is earned. extracted: the answer
    found in the response, as text, or None. reason: one line for a person. seconds: wall time the check took (filled
    in by the scoring pool).

    Raises ValueError where score and status contradict each other: a trainer reads the one, a report the other.
    """

    score: float
    status: Status
    extracted: str | None = None
    reason: str = ""
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.score) and 0.0 <= self.score <= 1.0):
            raise ValueError(f"a verdict's score is a finite number in [0, 1], got {self.score!r}")
        if Status(self.status) not in (SCORELESS if self.score == 0.0 else {_status_of(self.score)}):
            raise ValueError(f"a verdict of status {self.status!s} has score {EXPECTED[self.status]}, got "
                             f"{self.score!r}; a verifier may return the number alone: its status follows from it")

    @classmethod
    def correct(cls, extracted: str | None = None, reason: str = "") -> Verdict:
        return cls(score=1.0, status=Status.CORRECT, extracted=extracted, reason=reason)

    @classmethod
    def wrong(cls, extracted: str | None = None, reason: str = "") -> Verdict:
        return cls(score=0.0, status=Status.WRONG, extracted=extracted, reason=reason)

    @classmethod
    def unparsable(cls, reason: str = "") -> Verdict:
        return cls(score=0.0, status=Status.UNPARSABLE, reason=reason)

    @classmethod
    def error(cls, reason: str) -> Verdict:
        return cls(score=0.0, status=Status.ERROR, reason=reason)

    @classmethod
    def timeout(cls, reason: str) -> Verdict:
        return cls(score=0.0, status=Status.TIMEOUT, reason=reason)


def _status_of(score: float) -> Status:
    """The status a bare number stands for."""
    return Status.CORRECT if score == 1.0 else Status.WRONG if score == 0.0 else Status.PARTIAL


def as_verdict(value: Verdict | float | bool) -> Verdict:
    """A verifier may answer with a bool or a number in [0, 1]; this makes it a Verdict.

    Numbers are those of Python's tower (a Fraction, NumPy's float32), a Decimal, and NumPy's bool. Texts of a verdict
    are cut at 10,000 characters: they are kept for every answer of a run.
    Raises TypeError for anything else (None included) and ValueError for a number that is not finite or outside [0, 1].
    """
    if isinstance(value, Verdict):
        texts = [text for text in (value.extracted, value.reason) if isinstance(text, str)]  # the worker names others
        return value if all(len(text) <= _LONGEST for text in texts) else _cut(value)
    kind = type(value)
    if kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_"):
        value = bool(value)
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, Real):
        if not 0 <= value <= 1:  # before `float`, which an integer of 400 digits overflows
            raise ValueError(f"a verifier's number lies in [0, 1], got {value!r:.40}")
        return Verdict(score=float(value), status=_status_of(float(value)))
    raise TypeError("a verifier returns a Verdict, a bool or a number in [0, 1], got a value of type "
                    f"{kind.__module__}.{kind.__qualname__}")


def _cut(verdict: Verdict) -> Verdict:
    return replace(verdict, extracted=verdict.extracted and verdict.extracted[:_LONGEST],
                   reason=verdict.reason[:_LONGEST])
