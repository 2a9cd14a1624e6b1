"""One verifier out of several: weighted, some counted only where another is right, less penalties, within [0, 1].

    score = sum of share x score over the parts that count  -  sum of weight x share of the penalties,  at least 0

A part's share is its weight divided by the weights of all. What is guaranteed: an answer that the first part finds
right (1) scores more than any that it does not, whatever its other parts and penalties. Weights under which one of
score 0 could pass are refused with ValueError; one that the first part finds right in part is held below the least that
a right one can get. A penalty never raises a score.

Parts that are only added up need no composite: a task's own reward parts are weighted, recorded apart and reweighted
from a recipe. A composite is for gates, penalties and bounds, and gives one number.

Known false positives and negatives: those of its parts.
"""

from __future__ import annotations

import contextlib
import inspect
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from reasongym.verifiers.penalties import Penalty
from reasongym.verifiers.registration import Verifier
from reasongym.verifiers.verdict import Status, Verdict, as_verdict

__all__ = ["Composite", "Part", "Weighted"]


class Part(NamedTuple):
    """A verifier and what it counts. needs: the name of an earlier part that must score 1 for this one to be run."""

    name: str
    verifier: Verifier
    weight: float
    needs: str | None = None


class Weighted(NamedTuple):
    """A penalty and what is subtracted where it is full."""

    name: str
    penalty: Penalty
    weight: float


class Composite:
    """A verifier: `(response, reference, *, example) -> Verdict`. The first part is the main one.

    A part's ERROR or TIMEOUT is the whole's, ERROR before TIMEOUT; a part that raises makes it raise, which the scoring
    pool turns into ERROR. Where the score is 0 the status is the main part's, and the text extracted always is.
    Raises ValueError for weights that break the guarantee at the head of this file, for names that are not unique or
    not there, and for coroutine functions.
    """

    def __init__(self, parts: Sequence[Part], *, penalties: Sequence[Weighted] = ()) -> None:
        _check_names(parts, penalties)
        self._parts = tuple(parts)
        self._penalties = tuple(penalties)
        total = math.fsum(part.weight for part in parts)
        self._shares = {part.name: part.weight / total for part in parts}
        self._least_right = self._shares[parts[0].name] - math.fsum(weighted.weight for weighted in penalties)
        self._check_order()

    def prepare(self) -> None:
        """What the parts would open at their first answer, as a scoring worker does for each verifier. Where one
        raises, the others are prepared all the same, and its error goes on."""
        with contextlib.ExitStack() as stack:
            for part in reversed(self._parts):
                stack.callback(getattr(part.verifier, "prepare", lambda: None))

    def __call__(self, response: str, reference: object, *, example: Mapping[str, object]) -> Verdict:
        verdicts: dict[str, Verdict] = {}
        for part in self._parts:
            if part.needs is None or (part.needs in verdicts and verdicts[part.needs].score == 1.0):
                verdicts[part.name] = as_verdict(part.verifier(response, reference, example=example))
        for failed in (Status.ERROR, Status.TIMEOUT):
            for name, verdict in verdicts.items():
                if verdict.status is failed:
                    return Verdict(score=0.0, status=failed, extracted=verdict.extracted,
                                   reason=f"part {name!r}: {verdict.reason}")
        shares = {weighted.name: min(max(weighted.penalty(response), 0.0), 1.0) for weighted in self._penalties}
        return self._combined(verdicts, shares)

    def _combined(self, verdicts: Mapping[str, Verdict], shares: Mapping[str, float]) -> Verdict:
        earned = math.fsum(self._shares[name] * verdict.score for name, verdict in verdicts.items())
        lost = math.fsum(weighted.weight * shares[weighted.name] for weighted in self._penalties)
        main = verdicts[self._parts[0].name]
        all_right = not lost and len(verdicts) == len(self._parts) and all(v.score == 1.0 for v in verdicts.values())
        # json_schema 0.9 of share 0.6, with "short" of share 0.4, is 0.94: more than a right, long answer's 0.6.
        most = math.nextafter(1.0 if main.score == 1.0 else self._least_right, 0.0)
        score = 1.0 if all_right else min(max(earned - lost, 0.0), most)
        told = [f"{name} {verdict.score:g}" for name, verdict in verdicts.items()]
        told += [f"{weighted.name} -{weighted.weight * shares[weighted.name]:.3g}" for weighted in self._penalties]
        status = Status.CORRECT if score == 1.0 else Status.PARTIAL if score else self._scoreless(main)
        return Verdict(score=score, status=status, extracted=main.extracted, reason=", ".join(told))

    @staticmethod
    def _scoreless(main: Verdict) -> Status:
        return main.status if main.score == 0.0 else Status.WRONG

    def _check_order(self) -> None:
        """Whether the least that a right answer gets is above the most that a wrong one gets."""
        main = self._parts[0]
        beside = math.fsum(self._shares[part.name] for part in self._parts[1:] if not self._hangs_on(main.name, part))
        most_lost = math.fsum(weighted.weight for weighted in self._penalties)
        if not self._least_right > beside + 1e-9:
            raise ValueError(
                f"a right answer could score no more than a wrong one: {main.name!r} counts "
                f"{self._shares[main.name]:.3g} of 1, the penalties take up to {most_lost:.3g}, and a wrong answer can "
                f"earn {beside:.3g} by other parts; lower the penalties, or let the parts need {main.name!r}")

    def _hangs_on(self, main: str, part: Part) -> bool:
        by_name = {each.name: each for each in self._parts}
        while part.needs is not None and part.needs != main:
            part = by_name[part.needs]
        return part.needs == main


def _check_names(parts: Sequence[Part], penalties: Sequence[Weighted]) -> None:
    if not parts:
        raise ValueError("a composite has one part at least, got none")
    names = [*(part.name for part in parts), *(each.name for each in penalties)]
    if len(set(names)) < len(names):
        raise ValueError(f"parts and penalties of a composite have names of their own, got {names}")
    weights = [*((part.name, part.weight) for part in parts), *((each.name, each.weight) for each in penalties)]
    for name, weight in weights:
        if not (math.isfinite(weight) and 0.0 < weight <= 1e6):
            raise ValueError(f"the weight of {name!r} is a finite number above 0, got {weight!r}")
    for name, called in [*((part.name, part.verifier) for part in parts), *((p.name, p.penalty) for p in penalties)]:
        if not callable(called):
            raise ValueError(f"{name!r} has to be a function, got {called!r}; reasongym.registry.verifier(name) finds "
                             "a verifier by its name")
    for i, part in enumerate(parts):
        if part.needs is not None and part.needs not in names[:i]:
            raise ValueError(f"part {part.name!r} needs an earlier part, got {part.needs!r} after {names[:i]}")
        if inspect.iscoroutinefunction(part.verifier):
            raise ValueError(f"part {part.name!r} is a coroutine function, which a composite cannot await; "
                             "name it as a reward part of the task instead")
