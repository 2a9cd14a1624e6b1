"""Reading of mathematical answers: what stands for the same tree, what is not mathematics, what must not be misread."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from reasongym.verifiers.math.exact import exact
from reasongym.verifiers.math.lexer import Unreadable
from reasongym.verifiers.math.nodes import Node, Number, Text, key
from reasongym.verifiers.math.normalise import normalise
from reasongym.verifiers.math.reader import read

DATA = Path(__file__).parent.parent / "../shared/data"
MATH500 = DATA / "math500" / "test.jsonl"
NOTATIONS = DATA / "grader_cases" / "latex2sympy_part.jsonl"

UNREAD_NOTATIONS = ("\\int", "\\lim", "\\frac{d}", "\\variable", "\\exponentialE", "\\mod 128E300")
"""Calculus, and commands of one tool's own: an answer that needs them is compared as text."""

READ_HERE_ALONE = ["a\\%"]
REFUSED_HERE_ALONE = ["2x2y", "3 1\\frac{1}{2}", "x!!!"]
"""A number directly behind a value: read as a product, two numbers that an answer lists would be one. `!!` is the
double factorial, which literals alone have here, `!!!` another one."""


def tree(text: str) -> Node:
    return read(normalise(text).text)


@pytest.mark.parametrize(("text", "value"), [
    ("-5", "-5"), ("\u22125", "-5"), ("\uff15", "5"), ("\u0665", "5"), ("\u00bd", "1/2"), ("3\u00bd", "7/2"),
    ("1,234", "1234"), ("1{,}234", "1234"), ("10\\,080", "10080"), ("10,\\!080", "10080"), ("1 000 000", "1000000"),
    ("1,234/2", "617"), (".5", "1/2"), ("1e3", "1000"), ("3.5\\times10^{8}", "350000000"), ("3.5 x 10^8", "350000000"),
    ("11 5/6", "71/6"), ("1\\frac{4}{5}", "9/5"), ("-3\\frac12", "-7/2"), ("\\frac34", "3/4"), ("\\frac 59", "5/9"),
    ("\\frac1{72}", "1/72"), ("\\dfrac{1}{2}", "1/2"), ("(3)/(4)", "3/4"), ("2\\cdot 3/4", "3/2"), ("\\sqrt{16}", "4"),
    ("\\sqrt[3]{-8}", "-2"), ("\\sqrt16", "4"), ("\u221a16", "4"), ("2^{-3}", "1/8"), ("2^3^2", "512"), ("-2^2", "-4"),
    ("5!", "120"), ("\\binom52", "10"), ("{5 \\choose 2}", "10"), ("\\log_2 8", "3"), ("\\gcd(18, 12)", "6"),
    ("\\max(2, 5)", "5"), ("|{-3}|", "3"), ("\\lfloor 3.7 \\rfloor", "3"), ("17 \\bmod 5", "2"),
    ("0.1\\overline{6}", "1/6"),
    ("\\sum_{k=1}^{4} k^2", "30"), ("\\text{13}", "13"), ("\\text{2/3}", "2/3"), ("$\\boxed{7}$.", "7"), ("+7", "7"),
    ("\\left(\\frac{3}{4}\\right)", "3/4"), ("2.5 million", "2500000"), ("1/2 - -1/2", "1"), ("6/2(3)", "9"),
])
def test_no_spelling_of_a_number_is_misread(text: str, value: str) -> None:
    assert exact(tree(text)) == Fraction(value)


@pytest.mark.parametrize(("text", "same"), [
    ("2x", "x\\cdot 2"), ("xy", "y x"), ("1/2x", "\\frac{1}{2}x"), ("a/2b", "\\frac{a}{2b}"),
    ("\\sin^2 x", "(\\sin x)^2"),
    ("\\sin 2x", "\\sin(2x)"), ("\\sin b\\cos a", "\\cos(a)\\sin(b)"), ("\\sin^{-1} x", "\\arcsin x"),
    ("sinx", "\\sin x"),
    ("e^{2}", "\\exp(2)"), ("x^2", "x\u00b2"), ("x**2", "x^2"), ("\\mathrm{e}", "e"), ("7\\pi", "7\u03c0"),
    ("2pi", "2\\pi"),
    ("(1;2)", "(1,2)"), ("\\langle 1,2\\rangle", "(1,2)"), ("x\\leq 3", "x<=3"), ("\\{x \\mid x>2\\}", "x>2"),
    ("x \\lt 3", "x<3"), ("\\\\frac{1}{2}", "\\frac{1}{2}"), ("\\emptyset", "\\{\\}"),
    ("\\ln\\left(x\\right)", "\\ln x"),
    ("\\begin{bmatrix}1&2\\\\3&4\\end{bmatrix}", "\\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}"),
    ("19, 46, \\text{ and } 82", "19, 46 and 82"), ("W(x)=1orW(x)=-1", "W(x)=1 \\text{ or } W(x)=-1"),
])
def test_two_spellings_of_one_expression_give_one_tree(text: str, same: str) -> None:
    assert key(tree(text)) == key(tree(same))


@pytest.mark.parametrize(("text", "other"), [
    ("x^{23}", "x^2\\cdot 3"), ("\\frac{1}{2x}", "1/2x"), ("(1,234)", "1234"), ("[1,2)", "(1,2)"), ("AB", "BC"),
    ("X", "x"),
    ("x_1", "x_2"), ("\\overline{AB}", "AB"), ("x'", "x"), ("\\sin x^2", "\\sin^2 x"), ("12_7", "12"),
    ("12_7", "12_8"),
    ("5 cm", "5 km"), ("x<3", "x\\le 3"), ("A\\cup B", "A\\cap B"), ("\\log x", "\\ln x"), ("3:2", "2:3"),
    ("f(x)", "f(y)"),
    ("1 or 2", "1, 2, 3"), ("-x^2", "(-x)^2"), ("\\mathbb{R}", "R"), ("\\pm 2", "2"), ("\\vec{v}", "v"),
])
def test_different_things_are_not_read_as_one(text: str, other: str) -> None:
    assert key(tree(text)) != key(tree(other))


@pytest.mark.parametrize("text", [
    "", ")", "}", "\\sqrt", "\\frac{}{2}", "!", "_", "||x|", "-", "@", "#", "&", "*", "\\cos^2", "x +", "1 2",
    "2 3 4", "x 2",
    "\\boxed{5}\\boxed{7}", "5 is not the answer 7", "at least 5", "(1,2", "1,2]", "\\{1,2", "(1,", "5,,6", "x = ",
    "x = = 5",
    "1.2.3", "12_1", "19_5", "\\frac{1}", "\\begin{pmatrix}1&2\\\\3\\end{pmatrix}", "\\begin{cases}x\\end{cases}",
    "\\int x", "\\sin(1,2)", "5 wrong", "5\\%\\%", "x^", "2^{}", "1 and 2 or 3", "\\text{a \\text{b} 1}", "5 < ",
    "\ud8005",
    "\u4e00", "\\operatorname{floor}(12.3, 123.4)", "(\\frac{d}{dx})\\sqrt{}",
])
def test_what_is_no_whole_formula_is_never_read_in_part(text: str) -> None:
    with pytest.raises(Unreadable):
        tree(text)


@pytest.mark.parametrize(("text", "words"), [
    ("\\text{east}", "east"), ("Evelyn", "evelyn"), ("\\text{(B)}", "b"), ("no solution", "no solution"),
    ("\\textbf{Even.}", "even"), ("blue whale", "blue whale"),
])
def test_words_are_not_products_of_letters(text: str, words: str) -> None:
    assert tree(text) == Text(words)


def test_a_dollar_sign_is_money_or_a_delimiter_and_never_both() -> None:
    assert normalise("$18.90") == ("18.90", "dollar")
    assert normalise("\\$18.90") == ("18.90", "dollar")
    assert normalise("$18.90$") == ("18.90", "")
    assert normalise("$\\$5$ or \u20ac5")[1] == "several"


def test_a_decimal_remembers_its_digits_and_a_whole_number_has_none() -> None:
    assert tree("0.0250") == Number(Fraction(1, 40), 3)
    assert tree("250") == Number(Fraction(250), 0)


@pytest.mark.skipif(not MATH500.exists(), reason="../shared/data/math500 is absent")
def test_every_answer_of_math500_is_read() -> None:
    answers = [json.loads(line)["answer"] for line in MATH500.read_text().splitlines()]
    assert len(answers) == 500
    for answer in answers:
        tree(answer)


@pytest.mark.skipif(not NOTATIONS.exists(), reason="../shared/data/grader_cases is absent")
def test_notations_that_another_reader_was_tested_with_are_read_or_refused_as_there() -> None:
    rows = [json.loads(line) for line in NOTATIONS.read_text().splitlines()]
    refused, accepted = [], []
    for row in rows:
        try:
            tree(row["latex"])
            accepted += [row["latex"]] if row.get("must_fail") else []
        except Unreadable:
            failed = not row.get("must_fail") and not any(mark in row["latex"] for mark in UNREAD_NOTATIONS)
            refused += [row["latex"]] if failed else []
    assert sorted(accepted) == READ_HERE_ALONE
    assert sorted(refused) == REFUSED_HERE_ALONE
