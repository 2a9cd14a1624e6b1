"""The answers that a row is asked with: what must earn, and what must not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from reasongym.checking.panels import Filling, Trick, fill, panel
from reasongym.checking.references import (
    as_asked,
    forms,
    near_misses,
    numbers_in,
    own_rule,
    prompt_of,
    same_answer,
)
from reasongym.tasks import Example
from reasongym.verifiers import Status

__all__ = ["Asked", "golds", "hostile", "wrong_answers"]


Earns = Literal["all", "first", "nothing", "stated", "anything"]


class Asked(NamedTuple):
    """An answer to one row. check: what it is for; trick: its name; earns: what it must earn.

    "all": every part; "first": the first part, in one of the forms that bear this name; "nothing": the floor;
    "stated": what `stated` says, a score or a status; "anything": only a verdict. blank: nothing was answered. near:
    made of another row's answer. by_chance: right on some rows by chance.
    """

    check: str
    trick: str
    response: str
    row: Example
    earns: Earns
    blank: bool = False
    near: bool = False
    by_chance: bool = False
    stated: float | Status = 0.0


def golds(row: Example, verifier: str) -> Iterator[Asked]:
    """The task's own solution, and the bare reference in the form that the prompt asks for."""
    if row.solution is not None:
        yield Asked("gold", "own solution", row.solution, row, "all")
    for form in forms(row.reference, verifier):
        yield Asked("gold", "bare reference", as_asked(prompt_of(row), form), row, "first")


def wrong_answers(row: Example, others: Sequence[Example], verifier: str) -> Iterator[Asked]:
    """Both panels, answers of another row (the first of `others` whose reference differs), and near misses."""
    another = _another(row, others, verifier)
    free = own_rule(row.reference, verifier)
    right = forms(row.reference, verifier)
    filling = _filling(row, another, verifier)
    for check, name in (("floor", "degenerate"), ("hack", "hacks")):
        for trick in panel(name):
            text = fill(trick, filling)
            if text is None or (free and (check == "hack" or "@" in trick.text)) or _is_right(text, trick, right):
                continue
            near = "@other" in trick.text
            yield Asked(check, trick.name, text, row, "nothing", trick.blank, near, trick.by_chance)
    if free:
        return
    if another is not None and another.solution is not None:
        yield Asked("floor", "solution of another row", another.solution, row, "nothing", near=True)
    for number in near_misses(right[0]) if right else ():
        yield Asked("floor", "a number that is nearly right", as_asked(prompt_of(row), number), row, "nothing",
                    near=True)


def hostile(row: Example, verifier: str) -> Iterator[Asked]:
    """Texts that are hard to read. Where a row has a rule of its own one of them may be right, or by chance."""
    free, right = own_rule(row.reference, verifier), forms(row.reference, verifier)
    for trick in panel("hostile"):
        text = fill(trick, Filling())
        assert text is not None
        earns: Earns = "anything" if free or _is_right(text, trick, right) else "nothing"
        yield Asked("hostile", trick.name, text, row, earns)


def _filling(row: Example, another: Example | None, verifier: str) -> Filling:
    filling = Filling()
    if prompt_of(row):
        filling["prompt"] = prompt_of(row)
    if right := forms(row.reference, verifier):
        filling["reference"] = right[0]
    if another is not None and (other := forms(another.reference, verifier)):
        filling["other"] = other[0]
        filling["other_as_asked"] = as_asked(prompt_of(row), other[0])
    return filling


def _is_right(text: str, trick: Trick, right: Sequence[str]) -> bool:
    """Whether a text that owes nothing to the row happens to state its reference: "True" where that is the answer,
    `"seconds": 0.0` where it is 0. Whoever reads it so is not deceived. Candidates in bulk are another matter: they
    deserve nothing even where the right one is among them."""
    if "@" in trick.text:
        return False
    return any(same_answer(stated, form) for form in right for stated in (text, *numbers_in(text)))


def _another(row: Example, others: Sequence[Example], verifier: str) -> Example | None:
    right = forms(row.reference, verifier)
    for other in others:
        wrong = forms(other.reference, verifier)
        if right and wrong and not same_answer(right[0], wrong[0]):
            return other
        if not right and repr(other.reference) != repr(row.reference):
            return other
    return None
