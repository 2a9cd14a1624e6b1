"""What a part of a reward may give to a wrong answer.

The first part says whether an answer is right: its floor is 0, or what FLOORS says of a verifier that pays for steps
towards a right answer. The other parts are of form, which a wrong answer may have as well; to a blank answer they
give nothing, and together they weigh less than the first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from reasongym.checking.findings import Report
from reasongym.tasks import RewardPart

__all__ = ["FLOORS", "Floor", "check_weights", "floor_of", "floors_in_words"]


class Floor(NamedTuple):
    """form: the most for a text that owes nothing to the row; near: for one made of another row's answer, which may
    agree with this row's in part."""

    form: float = 0.0
    near: float = 0.0


FLOORS: Mapping[str, Floor] = {
    "json_schema": Floor(form=0.2, near=0.9),  # a document that is valid, and one that agrees in all but equality
}
"""Verifier -> its floor, where that is not 0."""


def floor_of(part: RewardPart, *, first: bool, blank: bool, near: bool, stated: float) -> float:
    """The most that a wrong answer may score. stated: the user's own floor for the first part.

    A part of negative weight is a penalty: scoring high gains nothing, so nothing is asked of it.
    """
    if part.weight < 0 or (not first and not blank):
        return 1.0
    if blank:
        return 0.0
    floor = FLOORS.get(part.verifier, Floor())
    return max(stated, floor.near if near else floor.form)


def floors_in_words(parts: Sequence[RewardPart], stated: float) -> dict[str, str]:
    """Part -> its floor, for the report."""
    form, near = (floor_of(parts[0], first=True, blank=False, near=near, stated=stated) for near in (False, True))
    first = f"{form:g}" if form == near else f"{form:g}; {near:g} where it agrees in part"
    others = {part.name: "a penalty" if part.weight < 0 else "form; 0 when blank" for part in parts[1:]}
    return {parts[0].name: first, **others}


def check_weights(parts: Sequence[RewardPart], report: Report) -> None:
    """Form alone must never earn as much as a right answer."""
    weights = [part.weight for part in parts]
    usable = all(isinstance(weight, int | float) and math.isfinite(weight) for weight in weights)
    others = math.fsum(weight for weight in weights[1:] if weight > 0) if usable else math.inf
    report.judge("weights", usable and weights[0] > others, got=f"weights {', '.join(map(str, weights))}",
                 expected="numbers, the first above the sum of the others")
