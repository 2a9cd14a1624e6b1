"""Answers made to hang, crash or deceive the comparison: every one ends as a plain outcome, and never as "equal"."""

from __future__ import annotations

import decimal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reasongym.verifiers.math import decimals
from reasongym.verifiers.math.compare import Outcome, compare
from reasongym.verifiers.math.exact import TooLarge, Undefined, exact, exact_at
from reasongym.verifiers.math.identity import same_value
from reasongym.verifiers.math.lexer import Unreadable
from reasongym.verifiers.math.matching import paired
from reasongym.verifiers.math.nodes import Node, Sequence, Text
from reasongym.verifiers.math.normalise import normalise
from reasongym.verifiers.math.numeric import value
from reasongym.verifiers.math.reader import read

REFERENCES = ("5", r"\{1,2,3\}", "x<3", r"\sin x+\pi")

TOWERS = ("9^{9^{9^9}}", "9^9^9^9", "(10^8)!", "10^{10^{10}}", "((((5!)!)!)!)!", "2^{-10^{10}}", "e^{e^{e^{e}}}",
          "e^{10^8}",
          r"\sin(10^{10000})", r"\binom{10^9}{10^8}", r"\gcd(10^{10000},3^{20000})", "((x+1)^{90})^{90}", "x^{100000}",
          r"\sum_{k=1}^{10^9} k", r"\sum_{k=1}^{1000}\sum_{j=1}^{1000}k^j", r"\sqrt[100000]{2}", "i^{i^{i^{i}}}",
          r"\cosh(10^5)+x", "1e999", "1e99999", r"(\pi+1)^{9999}", r"\lfloor 10^{1000}\pi\rfloor", r"7 \bmod 0")
DEEP = tuple(opening * times for opening, times in (
    ("{", 100_000), ("(", 1999), ("[", 1999), (r"\sqrt{", 300), (r"\sqrt", 300), (r"\ln(", 400), (r"\frac", 400),
    (r"\frac{1}", 250), ("|", 1999), ("-", 1999), (r"\{", 900), (r"\text{", 300), (r"\begin{pmatrix}", 120),
    ("x^", 900),
    (r"\boxed{", 280), (r"\sin", 400), (r"\pm", 600), ("x_", 900), (r"\left(", 300), (r"\overline{", 190)))
LONG = ("x" * 1_000_000, "1," * 500_000, "1," * 999, "1 or " * 390 + "1", "x<" * 900 + "x", "a=b=" * 400,
        "5" + "!" * 1990,
        "+".join([r"\sin x"] * 280), "+".join(rf"\ln(x+{n})" for n in range(150)), "1:" * 900 + "1", "1" * 1999,
        r"\begin{pmatrix}" + "&".join("1" * 400) + r"\end{pmatrix}", r"\cup".join(f"({n},{n}.5)" for n in range(190)),
        r"\{" + ",".join(rf"\sqrt{{{n}}}" for n in range(2, 150)) + r"\}", r"1\pm 2" + r"\pm 2" * 300,
        r"\boxed{5}" * 200)
ODD = ("\x00", "5\x006", "\ud800", "\udc005", "5\udfff", "\u4e94", "\U0001f600", "\\", "$", "$$", "{}", r"\boxed{}",
       "\u202e5x")
UNDEFINED = ("1/0", "0^0", "0^{-1}", r"\ln 0", r"\log 0", r"\log_1 5", r"\log_0 5", r"\sqrt[0]{5}", "(-1)!",
             r"5+1/\ln 0",
             r"\ln(x-x)", r"\frac{x}{x-x}", r"\infty-\infty", r"\frac{5}{\infty}", r"0\cdot\infty")


def tree(text: str) -> Node:
    return read(normalise(text).text)


@pytest.mark.parametrize("answer", [*TOWERS, *DEEP, *LONG, *ODD, *UNDEFINED], ids=lambda text: ascii(text[:24]))
def test_a_hostile_answer_neither_crashes_nor_equals_anything(answer: str) -> None:
    for reference in REFERENCES:
        assert compare(reference, answer).status in ("different", "unreadable")
        assert compare(answer, reference).status in ("different", "unreadable", "reference")


@pytest.mark.parametrize("left", UNDEFINED)
@pytest.mark.parametrize("right", ["0", r"\infty", r"\ln 0 + 1", "1/0 + 1", "x"])
def test_what_has_no_value_does_not_equal_something_else_without_one(left: str, right: str) -> None:
    # decimal.Decimal(0).ln() is -Infinity without a signal, and infinity <= infinity.
    assert compare(left, right).status != "equal"


def test_an_infinity_is_never_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Undefined):
        decimals.logarithm(decimals.real(0))
    monkeypatch.setitem(decimals.FUNCTIONS, "sin", lambda z: decimals.Complex(decimal.Decimal("Infinity")))
    with pytest.raises(Undefined):
        value(tree(r"\sin 1"), {}, 30)


def test_numbers_of_thousands_of_digits_are_compared_in_lists() -> None:
    # 2006! has 5,743 digits: Python refuses to print a whole number of more than 4,300.
    assert compare("2006!, 1", "1, 2006!").status == "equal"
    assert compare("2006!, 1", "1, 2005!").status == "different"


def test_many_items_without_a_twin_are_not_compared_each_with_each() -> None:
    items = tree(", ".join(rf"\sqrt{{{n}}}" for n in range(101, 114)))
    assert isinstance(items, Sequence)
    asked: list[Node] = []

    def equal(one: Node, other: Node) -> bool:
        asked.append(one)
        return True

    assert not paired(items.items, [Text(f"word {n}") for n in range(13)], equal)
    assert asked == []


def test_repeated_plus_minus_is_refused_before_it_is_written_out() -> None:
    assert "plus-minus" in compare("5", r"1\pm 2" + r"\pm 2" * 300).reason


@pytest.mark.parametrize("text", ["9^{9^9}", "(10^8)!", r"\binom{10^9}{10^8}", r"2^{100001}", r"\sum_{k=1}^{9999} k"])
def test_size_is_refused_before_it_is_computed(text: str) -> None:
    with pytest.raises(TooLarge):
        exact(tree(text))
    with pytest.raises(TooLarge, match="factorial"):
        exact(tree("5001!"))


def test_the_bound_on_the_work_of_many_large_factors_holds() -> None:
    with pytest.raises(TooLarge):
        exact(tree("+".join(f"2^{{{99_000 + n}}}" for n in range(20))))
    with pytest.raises(TooLarge):
        exact_at(tree("x^{20000}"), {"x": exact(tree("3"))})


def test_precision_and_operations_of_a_decimal_evaluation_are_bounded() -> None:
    with pytest.raises(TooLarge):
        same_value(tree(r"\pi + 10^{-2000}"), tree(r"\pi"))
    with pytest.raises(TooLarge):
        same_value(tree("+".join([r"\sin x"] * 280)), tree(r"279 \sin x"))
    with pytest.raises(TooLarge):
        value(tree("+".join([r"\sin x"] * 280)), {}, 1000)


@pytest.mark.parametrize("text", [
    "(" * 40 + "1" + ")" * 40, "{" * 40 + "1" + "}" * 40, r"\sqrt" * 40 + "2", "2^" * 40 + "2"])
def test_depth_is_refused_by_a_bound_and_not_by_the_stack(text: str) -> None:
    with pytest.raises(Unreadable, match="deep"):
        tree(text)


def test_the_deepest_answer_admitted_leaves_room_on_the_stack() -> None:
    deepest = r"\sqrt{x+" * 14 + "2" + "}" * 14

    def compared_with(frames: int) -> Outcome:
        return compared_with(frames - 1) if frames else compare(deepest, deepest.replace("2", "3"))

    assert compared_with(300).status == "different"


def test_a_long_answer_is_not_read_and_a_long_reference_is_our_fault() -> None:
    assert compare("5", "5" + "0" * 2000) == Outcome("unreadable", "longer than 2000 characters")
    assert compare("5" + "0" * 2000, "5").status == "reference"
    assert compare("5", " " * 100_000 + "5").status == "equal"
    assert compare("  ", "5").status == "reference"
    assert compare("$ $", "5").status == "reference"


def test_the_slowest_known_answers_cost_no_more_than_the_others() -> None:
    # Processor time of this thread: ten times what they take here, so that only a bound that is gone shows.
    started = time.thread_time()
    for answer in ("+".join(rf"\ln(x+{n})" for n in range(150)), "x<" * 900 + "x", r"1\pm 2" + r"\pm 2" * 300):
        compare(r"\sin x+\cos x", answer)
    assert time.thread_time() - started < 5


def test_the_callers_decimal_context_neither_matters_nor_changes() -> None:
    with decimal.localcontext(decimal.Context(prec=3, Emax=9, Emin=-9)) as context:
        before = repr(context)
        assert compare(r"\sqrt{2}+\sqrt{3}", r"\sqrt{5+2\sqrt{6}}").status == "equal"
        assert compare("2x+4y-3=0", "y=-x/2+3/4").status == "equal"
        assert compare(r"\pi", "3.14159").status == "different"
        assert repr(decimal.getcontext()) == before


def test_a_comparison_loads_no_computer_algebra(repo_root: Path) -> None:
    script = ("import sys; from reasongym.verifiers.math.compare import compare; "
              r"assert compare(r'\tan^2 y+1', r'\sec^2 y').status == 'equal'; "
              "print(*sorted({'sympy', 'mpmath', 'numpy'} & sys.modules.keys()))")
    done = subprocess.run([sys.executable, "-c", script], cwd=repo_root, capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr
