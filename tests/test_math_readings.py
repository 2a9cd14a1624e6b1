r"""Answers that are read in more than one way: words behind a number, commas, names, brackets, boxes.

Each pair is a reference with an answer in `\boxed{}`, or with a whole response where the answer is not boxed.
"""

from __future__ import annotations

import pytest

from reasongym.verifiers import Status
from reasongym.verifiers.math.verifier import math


def status(reference: str, response: str) -> Status:
    return math(response, reference, example={}).status


def boxed(reference: str, answer: str) -> Status:
    return status(reference, f"\\boxed{{{answer}}}")


REFUSED = (Status.WRONG, Status.UNPARSABLE)


@pytest.mark.parametrize(("reference", "answer"), [
    ("(3,5)", "3.5"), ("[0,25]", "0.25"), (r"\{3,5\}", "3.5"), (r"x\in(3,5)", "3.5"), ("3.5", "[3,5]"),
    (r"(3,5)\cup(7,9)", r"(3.5)\cup(7.9)"), ("x=3,5", "3.5"), ("3.5", "3,5"), ("1,2", "1.2"), ("3,14", "(3,14)"),
    ("1,234", "(1,234)"), ("(1,234)", "1,234"),
    ("1.5+2.5", "1,5+2,5"), ("1/2", "0,5"), ("1000", "(1,000)")])
def test_a_comma_between_two_items_is_no_decimal_point(reference: str, answer: str) -> None:
    assert boxed(reference, answer) in REFUSED


@pytest.mark.parametrize(("reference", "answer"), [
    ("1000.99", "1000,99"), ("0,111", "0.111"), ("1/20", "0,05"), ("12.5", r"12,5\text{ cm}"), ("12.5", r"12,5\%"),
    ("2.74", "2,74 €"), ("100,200", "100200"), ("100,200", "100, 200"), ("(1,3)", "1,3"), (r"\{1,2\}", "1,2")])
def test_a_comma_that_can_be_no_list_is_a_decimals(reference: str, answer: str) -> None:
    assert boxed(reference, answer) is Status.CORRECT


@pytest.mark.parametrize(("one", "other"), [
    ("x<1", "x>3"), (r"x\le-2", r"x\ge5"), ("x>-2", "x<5"), ("x=1", "y=2"), ("x<a", "x>b"), ("x>1", "y>2")])
def test_and_is_not_or_between_conditions(one: str, other: str) -> None:
    either, both = (rf"{one}\text{{ {word} }}{other}" for word in ("or", "and"))
    assert boxed(either, both) in REFUSED
    assert boxed(both, either) in REFUSED


@pytest.mark.parametrize(("reference", "answer"), [
    ("(1,2)", "1 or 2"), ("(1,2)", "x=1 or y=2"), ("(2,-2)", r"\pm 2"), (r"\pm2", "(2,-2)"), ("1, 2", "x=1 or y=2")])
def test_alternatives_are_no_tuple(reference: str, answer: str) -> None:
    assert boxed(reference, answer) in REFUSED


@pytest.mark.parametrize("answer", [
    r"2\text{ million people}", r"2\text{ thousand dollars}", r"2\text{ hundred thousand}", r"2\text{ dozen eggs}",
    r"2\text{ bn}", r"2\text{ lakh}", "x = 2 million", r"2\text{k}", r"2\text{i}", r"2\text{π}", r"2\mathrm{\pi}",
    r"2\text{$\pi$}", r"2\text{pi}", r"2\mathrm{x}", r"2\text{xy}", r"2\mathrm{AB}", r"2\text{ root three}",
    r"2\text{ plus C}", r"2\text{ times ten}", r"2\text{ theta}", r"2\text{ over three}", r"2\text{ squared}",
    r"2\text{ minus two}", r"2\text{ factorial}", r"2\text{ tenths}", "2 fifths", r"2\text{ and a half}",
    r"2\text{, but also three}", r"2\text{ or so}", r"2\text{ below zero}", r"2\text{ x apples}", r"2\text{!}"])
def test_a_word_that_can_change_the_value_is_no_unit(answer: str) -> None:
    assert boxed("2", answer) in REFUSED


@pytest.mark.parametrize(("reference", "answer"), [
    ("7", r"7\text{ apples}"), ("7", r"7\text{ cm squared}"), ("7", r"7\text{ miles per hour}"), ("7", r"7\text{ N}"),
    ("7", r"7\text{ m/s}^2"), ("7", r"7\text{ men}"), ("7", r"7\text{ US dollars}"), ("7", r"7\text{ kWh}"),
    ("2000000", r"2\text{ million people}"), ("24", r"2\text{ dozen eggs}"), ("7i", r"7\text{i}"),
    (r"5\text{ million dollars}", "5000000"), (r"5\text{ million dollars}", r"\$5\text{ million}"),
    (r"2\pi", r"2\text{π}"), ("2x", r"2\mathrm{x}"), ("7", r"7\text{th}"), ("7", r"\text{seven}"),
    (r"\infty", r"\text{infinity}")])
def test_units_things_and_scales_are_read(reference: str, answer: str) -> None:
    assert boxed(reference, answer) is Status.CORRECT


def test_a_scale_word_in_the_reference_counts() -> None:
    assert boxed(r"5\text{ million dollars}", "5") is Status.WRONG


@pytest.mark.parametrize(("reference", "answer"), [
    (r"\angle ABC", r"\angle ACB"), (r"\angle ABC", "ABC"), (r"\triangle ABC", r"\angle ABC"), ("ABD", "ADB"),
    ("AB, CD", "BA, CD"), ("(2,1)", "y=2,x=1"), ("(a,b)=(1,2)", "b=1,a=2"), ("(1,2,3)", "z=1,y=2,x=3"),
    ("(2,1)", "(y,x)=(2,1)"), ("(3,2)", "m=2,b=3"), ("(2,3)", "m=2,b=3")])
def test_the_order_of_letters_and_names_counts(reference: str, answer: str) -> None:
    assert boxed(reference, answer) in REFUSED


@pytest.mark.parametrize(("reference", "answer"), [
    (r"\angle ABC", r"\angle{CBA}"), ("60", r"m\angle ABC = 60^\circ"), ("(1,2)", "y=2,x=1"),
    ("(a,b)=(1,2)", "b=2,a=1"), ("(a,b)=(1,2)", "(b,a)=(2,1)"), ("2, 3", "m=2, b=3")])
def test_names_say_which_value_is_whose(reference: str, answer: str) -> None:
    assert boxed(reference, answer) is Status.CORRECT


@pytest.mark.parametrize(("reference", "answer"), [
    (r"3:00 \text{ p.m.}", r"3:00 \text{ a.m.}"), ("3 p.m.", "3 a.m."), ("12:30", "0.4"), ("12:30", "2/5"),
    ("5", "5:1"), ("5", "10:2"),
    (r"100^\circ\text{C}", r"100^\circ\text{F}"), (r"3\pmod7", r"3\pmod 8"), (r"3\pmod7", "3"),
    (r"3\pmod7", "4 (mod 7)"),
    (r"\{1,2,3\}", r"\{1,2,\{3\}\}"), ("(1,2)", r"(1,\{2\})"), ("x=y", "y"), ("5", "6=5"), ("5", "4+2=5"),
    (r"\ln|x|", r"\ln x"), (r"\ln x", r"\ln|x|"), ("ax^2+bx+c", "ax^2+bx+C"), (r"\text{Alice and Bob}", "Alice"),
    (r"\text{Alice and Bob}", "Alice and Carl"), ("-2", r"\begin{vmatrix}1&2\\3&4\end{vmatrix}"),
    ("0.16", r"0.1\bar{6}")])
def test_what_only_looks_alike_is_wrong(reference: str, answer: str) -> None:
    assert boxed(reference, answer) in REFUSED


@pytest.mark.parametrize(("reference", "answer"), [
    (r"0.\bar{3}", "1/3"), ("1/3", r"0.\dot{3}"), ("1/3", r"0.\overline3"), ("1/7", r"0.\dot{1}4285\dot{7}"),
    ("1/2", r"0.4\bar{9}"), ("1/6", r"0.1\bar{6}"), ("1/3", r"33\frac13\%"), (r"\text{Alice and Bob}", "Bob and Alice"),
    ("I and III", r"\text{I and III}"), (r"\text{A, B, and C}", "A, B, C"), (r"100^\circ C", r"100^\circ\text{C}"),
    ("3:00 PM", r"3:00\text{ p.m.}"), (r"3\pmod7", r"3 \pmod 7"), (r"3\pmod7", r"x\equiv3\pmod{7}"),
    (r"x\equiv3\pmod{7}", r"x\equiv 10 \ (\text{mod } 7)"), (r"\binom{100}{50}", r"\frac{100!}{50!50!}"),
    ("3/2", r"{3\over2}"), ("1011_2", "(1011)_2"), ("7", r"\textcolor{red}{7}"), ("7", r"\color{red}7"),
    (r"f^{-1}(x)=\frac{x-1}{2}", r"\frac{x-1}{2}"), ("2x", "f'(x)=2x"), (r"\vec{AB}", r"\overrightarrow{AB}"),
    (r"\begin{vmatrix}1&2\\3&4\end{vmatrix}", "-2"), (r"\det\begin{pmatrix}a&b\\c&d\end{pmatrix}", "ad-bc"),
    ("x^2+C", "x^2+c"), (r"(-\infty,3]", r"]-\infty,3]"), (r"\text{(C)}", "C)"), ("3/4", "3:4")])
def test_another_notation_for_the_same_is_right(reference: str, answer: str) -> None:
    assert boxed(reference, answer) is Status.CORRECT
    if "det" not in reference and "vmatrix" not in reference:  # a task that asks for the value is not answered so
        assert boxed(answer, reference) is Status.CORRECT


@pytest.mark.parametrize("response", [
    r"The answer is \boxed{7} or 8.", r"The answer is \boxed{5}, 6 or 7", r"The answer is $\boxed{7}$ or $8$.",
    r"It is \boxed{7} (or 8).", r"Either 8 or \boxed{7}.", r"\boxed{7}, maybe 8.", r"\boxed{7} and 8.",
    r"\boxed{7}, 6, 5.", "<answer>7</answer> or 8", "The answer isn't 7", "Not 7", "7 is the wrong answer",
    "The answer is not 7.", "7 is not correct.", "It can't be 7.", "The answer cannot be $7$.", "$7$ is wrong",
    r"x \neq \boxed{7}", r"It is not \boxed{7}.", r"\boxed{7} is incorrect.", r"$x=-\boxed{7}$", r"$\boxed{7}^2$"])
def test_what_is_offered_beside_another_or_denied_is_not_the_answer(response: str) -> None:
    assert status("7", response) in REFUSED


@pytest.mark.parametrize(("reference", "response"), [
    ("7", r"The answer is \boxed{7}, 3 more than 4."), ("7", r"\boxed{7} and 8 of them are red."),
    ("7", r"\boxed{7} or 7.0."), ("7", "2 is not a solution, so x = 7."), ("7", r"It is \boxed{7}, not \boxed{5}."),
    ("7", "The number that is not divisible by 3 is 7."), ("7", r"$2!=2$, so $3+4=\boxed{7}$"), ("7", r"- \boxed{7}"),
    ("-7", r"$x=-\boxed{7}$"), ("49", r"$\boxed{7}^2$"), ("7", r"$\boxed{7}^\circ$"), ("3", r"$10-\boxed{3}=7$"),
    ("7", r"$\sqrt{\boxed{7}}$"), ("5", "Case 1: \\boxed{6}\nCase 2: \\boxed{5}")])
def test_the_words_around_a_plain_answer_change_nothing(reference: str, response: str) -> None:
    assert status(reference, response) is Status.CORRECT


@pytest.mark.parametrize("reference", [r"\begin{cases}x\\y\end{cases}", r"\frac{}{2}", "(1,2", r"\int_0^1 f"])
def test_a_reference_that_is_not_read_is_an_error_and_not_everybodys_wrong_answer(reference: str) -> None:
    verdict = math(r"\boxed{7}", reference, example={})
    assert verdict.status is Status.ERROR
    assert reference in verdict.reason.replace("\\\\", "\\")
    assert boxed(reference, reference) is Status.CORRECT
