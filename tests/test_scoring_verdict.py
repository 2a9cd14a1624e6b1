"""The Verdict: no score that contradicts its status, and nothing but numbers from 0 to 1."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from reasongym.verifiers import Status, Verdict, as_verdict


@pytest.mark.parametrize(("score", "fitting"), [
    (1.0, {Status.CORRECT}), (0.5, {Status.PARTIAL}), (1 - 2**-53, {Status.PARTIAL}), (5e-324, {Status.PARTIAL}),
    (0.0, {Status.WRONG, Status.UNPARSABLE, Status.TIMEOUT, Status.ERROR}),
    (-0.0, {Status.WRONG, Status.UNPARSABLE, Status.TIMEOUT, Status.ERROR}),
])
def test_score_and_status_cannot_contradict_each_other(score: float, fitting: set[Status]) -> None:
    for status in Status:
        if status in fitting:
            assert Verdict(score=score, status=status).score == score
        else:
            with pytest.raises(ValueError, match=rf"status {status} has score .*, got "):
                Verdict(score=score, status=status)


@pytest.mark.parametrize("score", [float("nan"), float("inf"), -0.1, 1.0000001])
def test_a_score_outside_its_range_is_refused(score: float) -> None:
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        Verdict(score=score, status=Status.PARTIAL)


def test_an_unknown_status_is_refused() -> None:
    with pytest.raises(ValueError, match="good"):
        Verdict(score=0.0, status="good")  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [10**400, -10**5000, 2, float("nan"), Decimal("nan")],
                         ids=["long", "longer", "two", "nan", "decimal"])
def test_a_number_out_of_range_is_a_value_error_whatever_its_length(number: float) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  int's own limit on digits may speak first
        as_verdict(number)


@pytest.mark.parametrize(("value", "status"), [(True, Status.CORRECT), (1, Status.CORRECT), (0.0, Status.WRONG),
                                               (False, Status.WRONG), (0.3, Status.PARTIAL)])
def test_a_bare_number_gets_the_status_it_stands_for(value: float, status: Status) -> None:
    assert as_verdict(value) == Verdict(score=float(value), status=status)


class bool_:
    """Named as NumPy's, which the tests of the light half do without."""

    __module__ = "numpy"

    def __bool__(self) -> bool:
        return True


@pytest.mark.parametrize(("value", "score"), [(Fraction(1, 4), 0.25), (Decimal("0.5"), 0.5), (bool_(), 1.0)])
def test_a_number_of_another_kind_counts_as_the_number_it_is(value: Any, score: float) -> None:
    assert as_verdict(value).score == score


def test_a_text_of_ten_megabytes_is_not_kept_for_every_answer() -> None:
    cut = as_verdict(Verdict.wrong("a" * 10**7, "b" * 10**7))
    assert len(cut.extracted or "") == len(cut.reason) == 10_000


@pytest.mark.parametrize("value", [None, "1", [1.0], {"score": 1.0}, 1j])
def test_anything_else_is_no_verdict(value: object) -> None:
    with pytest.raises(TypeError, match="a verifier returns"):
        as_verdict(value)  # type: ignore[arg-type]
