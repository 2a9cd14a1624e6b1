"""Values that differ out of sight: far digits, far bends, other domains. Each is told from what it resembles."""

from __future__ import annotations

import pytest

from reasongym.verifiers.math import identity
from reasongym.verifiers.math.compare import compare
from reasongym.verifiers.math.exact import TooLarge
from reasongym.verifiers.math.integration import with_one_constant
from reasongym.verifiers.math.nodes import Node
from reasongym.verifiers.math.normalise import normalise
from reasongym.verifiers.math.numeric import Measured, Point, measured
from reasongym.verifiers.math.points import points
from reasongym.verifiers.math.reader import read

PI = ("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651"
      "32823066470938446095505822317253594081284811174502841027019385211055596446229489549303819")


def tree(text: str) -> Node:
    return read(normalise(text).text)


@pytest.mark.parametrize(("one", "other"), [
    # 1 - tanh 100 = 2.8e-87; 1 - cos 1e-50 = 5e-101
    ("1", r"\tanh(100)"), ("1", r"\tanh(10^3)"), ("1", r"\coth(200)"), ("1", "1-e^{-10^4}"), ("1", r"\cos(10^{-50})"),
    ("1", r"\frac{\sin(10^{-50})}{10^{-50}}"), ("1", "e^{10^{-100}}"), (r"\frac{\pi}{2}", r"\arctan(10^{100})"),
    (r"\pi", PI[:67]), (r"\pi", PI), (r"\frac{1}{\pi}", rf"\frac{{1}}{{{PI}}}")])
def test_numbers_that_differ_in_a_far_digit_are_different(one: str, other: str) -> None:
    assert compare(one, other).status == "different"


@pytest.mark.parametrize(("one", "other"), [
    ("x", r"\min(x,10^6)"), ("x", r"\max(x,-10^9)"), ("x", r"\min(x,10^{50})"), ("x", r"x\bmod 10^9"),
    (r"x\bmod 10^8", r"x\bmod 10^9"), ("10^7-x", "|x-10^7|"), ("10^7-x", r"\sqrt{(x-10^7)^2}"), ("x", "x+0^x"),
    ("1", r"\tanh(10^6 x^2)"), ("x", r"\min(x,10^{9999})")])
def test_functions_that_part_far_away_or_have_another_domain_are_different(one: str, other: str) -> None:
    assert compare(one, other).status == "different"
    assert compare(other, one).status == "different"


@pytest.mark.parametrize(("one", "other"), [
    (r"\min(x,10^6)", r"\min(10^6,x)"), ("|x-10^7|", r"\sqrt{(x-10^7)^2}"), (r"\tanh 2", r"\frac{e^4-1}{e^4+1}"),
    (r"e^{50}", r"\frac{1}{e^{-50}}"), (r"\frac12\ln(x^2)", r"\ln|x|"), ("|2x|", "2|x|"), (r"\lfloor x+1\rfloor",
    r"\lfloor x\rfloor+1"), (r"\log(ab)", r"\log a+\log b")])
def test_what_is_the_same_there_too_stays_equal(one: str, other: str) -> None:
    assert compare(one, other).status == "equal"


def test_the_reach_of_a_value_is_that_of_all_on_the_way_to_it() -> None:
    assert measured(tree(r"\cos(10^{-50})"), {}, 30).reach == 50
    assert measured(tree(r"\tanh(100)"), {}, 30).reach >= 87


def test_numbers_beyond_the_precision_carried_are_refused_before_they_are_computed(
        monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[int]()

    def recorded(node: Node, point: Point, digits: int) -> Measured:
        asked.append(digits)
        return measured(node, point, digits)

    monkeypatch.setattr(identity, "measured", recorded)
    with pytest.raises(TooLarge):
        identity.same_value(tree("1-e^{-10^4}"), tree("1"))
    assert max(asked) < 100


def test_two_points_lie_beyond_the_last_bend_and_none_is_added_without_one() -> None:
    found = list(points(tree(r"\min(x,10^{50})"), tree("x"), ["x"]))
    assert len(found) == 10
    assert min(abs(point["x"]) for point in found[8:]) > 10**50
    assert {point["x"] > 0 for point in found[8:]} == {True, False}
    assert len(list(points(tree("x^2"), tree("x"), ["x"]))) == 8
    with pytest.raises(TooLarge):
        list(points(tree(r"\min(x,10^{9999})"), tree("x"), ["x"]))


def test_a_coefficient_is_not_taken_for_the_constant_of_integration() -> None:
    assert with_one_constant(tree("x^2+c"), tree("x^2+C")) == tree("x^2+C")
    for kept in ("ax^2+bx+c", "cx+c", "x^2+c+k"):
        assert with_one_constant(tree(kept), tree("x^2+C")) == tree(kept)
