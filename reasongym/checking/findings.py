"""What a check found: failures with all that is needed to repeat them, and how much was looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["CHECKS", "Failure", "Report", "Skipped", "shown"]

CHECKS: Mapping[str, str] = {
    "task": "the task, its verifiers and their workers can be made",
    "rows": "every row can be had, and not all are alike",
    "ids": "no two rows have the same id, and each is the row that was asked for",
    "order": "a row is the same whatever was asked before",
    "seed": "a generator follows its seed, a data set ignores it",
    "splits": "no row is in two splits",
    "prompt": "prompts are turns of a chat that end with the user's, in encodable text, and fit the context",
    "stated": "no prompt states its own reference as the answer",
    "echo": "a prompt that is repeated as the answer earns the floor",
    "carried": "what a verifier gets of a row is plain JSON",
    "schema": "the package jsonschema accepts every JSON Schema among the references, and its gold value",
    "weights": "the first part's weight exceeds that of all others together",
    "gold": "the row's own solution and reference earn what they should",
    "floor": "empty and degenerate answers earn the floor",
    "hack": "answers known to deceive verifiers earn the floor",
    "hostile": "hostile text earns the floor",
    "error": "every answer gets a verdict, with a score from 0 to 1",
    "timeout": "every answer gets it within the limit",
    "repeat": "another process gives the same answer the same verdict",
    "expected": "a case gets the verdict it expects",
}
"""Check -> what holds where it passes."""

_SHOWN = 80


class Failure(NamedTuple):
    """One thing that does not hold. row: its id; answer: shortened; both empty where the failure is of neither."""

    check: str
    row: str
    answer: str
    got: str
    expected: str


class Skipped(NamedTuple):
    """A task that was not checked, and why not."""

    subject: str
    why: str


@dataclass(kw_only=True)
class Report:
    """What was found of one task or verifier. floors: reward part -> what it may give a wrong answer, in words.

    looked_at: check -> how many rows, answers or pairs it judged. notes: what could not be checked, and why.
    """

    subject: str
    floors: dict[str, str] = field(default_factory=dict)
    num_rows: int = 0
    num_answers: int = 0
    looked_at: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def judge(self, check: str, holds: bool, *, got: object, expected: str, row: str = "", answer: str = "") -> None:
        """Count one judgement, and keep it where it does not hold."""
        assert check in CHECKS
        self.looked_at[check] += 1
        if not holds:
            self.failures.append(Failure(check, row, answer and shown(answer), str(got), expected))

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    @property
    def failed(self) -> Counter[str]:
        """Check -> number of failures."""
        return Counter(failure.check for failure in self.failures)


def shown(value: object) -> str:
    """One printable line of at most about 100 characters, whatever the value is."""
    if not isinstance(value, str):
        text = repr(value)
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    if len(value) <= _SHOWN:
        return ascii(value) if not value.isprintable() else repr(value)
    return f"{value[:_SHOWN - 20]!a}... ({len(value)} characters)"
