"""Comparison of mathematical answers: what says the same must be equal, what says something else must not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from reasongym.verifiers.math.compare import compare

DATA = Path(__file__).parent.parent / "../shared/data"
MATH500 = DATA / "math500" / "test.jsonl"
CASES = DATA / "grader_cases"

EQUAL = (
    (r"\begin{pmatrix}1 & 0\\0 & 1\end{pmatrix}",
     r"\begin{pmatrix}1 & 0 \\ 0 & 1\end{pmatrix}\begin{pmatrix}1 & 0 \\ 0 & 1\end{pmatrix}"),
    ("\u22125", "-5"), ("11 5/6", "71/6"), (r"\text{13}", "13"), ("1e3", "1000"), ("2x+4y-3=0", "y=-x/2+3/4"),
    ("1/2", "0.5"), ("5", "x = 5"), ("5", "5 apples"), (r"\$18.90", "18.90"), (r"\$18.90", "18.9 dollars"),
    (r"5.4 \text{ cents}", "5.4"), (r"90^\circ", "90"), (r"90^\circ", "90 degrees"), (r"50\%", "50"),
    (r"50\%", "50%"), ("50", "50 percent"), (r"28\%", "0.28"), ("350000000", r"3.5\times10^{8}"), ("1{,}234", "1234"),
    (r"10\,080", "10080"), (r"10,\!080", "10,080"), ("(1,2)", r"\left( 1, 2 \right)"),
    (r"[1,\infty)", r"x\in[1,\infty)"), (r"x \ge 1", r"[1,\infty)"), (r"[1,\infty)", r"x \ge 1"),
    (r"1 \le x < 3", "[1,3)"), (r"\{1,2\}", r"\{2, 1\}"), ("1,2", "2,1"), ("1,2", r"\{1,2\}"),
    ("1, 2", r"1 \text{ and } 2"), (r"\frac34", "0.75"), (r"\frac34", r"\dfrac{3}{4}"), (r"\sqrt2", r"\sqrt{2}"),
    (r"\sqrt{8}", r"2\sqrt2"), ("1+2i", "2i+1"), ("(1,2)", r"\begin{pmatrix}1\\2\end{pmatrix}"),
    (r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", r"\begin{bmatrix}1\\2\end{bmatrix}"), (r"2\pi r^2", r"2r^2\pi"),
    (r"\text{east}", "East"), (r"\text{(B)}", "B"), (r"\text{(B)}", "(B)"), (r"\text{(B)}", "b"), ("9:30", "9:30"),
    ("12_7", "12_{7}"), ("f(x)=x^2+1", "f(t) = 1+t^2"), ("f(x)=x^2+1", "x^2+1"), (r"a \le x < b", r"b > x \geq a"),
    (r"A \cup B", r"B \cup A"), (r"\pm 2", "2, -2"), (r"1 \pm \sqrt{19}", r"1+\sqrt{19}, 1-\sqrt{19}"),
    ("y = 2x + 3", "2x - y + 3 = 0"), ("y = 2x + 3", "y - 3 = 2x"), (r"x=1 \text{ or } x=3", "1, 3"),
    (r"x=\pm 2", r"x=2 \text{ or } x=-2"), (r"(-\infty, 2) \cup (3, \infty)", r"x<2 \text{ or } x>3"),
    (r"(-\infty, 2) \cup (3, \infty)", r"(3,\infty)\cup(-\infty,2)"), (r"15\mbox{ cm}^2", "15 cm^2"),
    (r"15\mbox{ cm}^2", "15 square centimeters"), (r"15\mbox{ cm}^2", "15"), ("1 km", "1000 m"),
    ("(a+5)(b+2)", "ab+2a+5b+10"), ("6r^2-4r-24", "-24 + 6r^2 - 4r"), (r"\cot x", r"\frac{\cos x}{\sin x}"),
    (r"\frac{3\sqrt{3}}{4}", r"\frac{9}{4\sqrt3}"), ("11:21", "11/21"), ("2:4", "1:2"), (r"0.\overline{3}", "1/3"),
    (r"x \neq 2", r"(-\infty,2)\cup(2,\infty)"), ("x^2+C", "C+x^2"), (r"\log_2 8", "3"), (r"\binom{5}{2}", "10"),
    ("5!", "120"), (r"\frac{\sqrt{3}}{3}", r"1/\sqrt3"), (r"\lfloor 3.7 \rfloor", "3"),
    (r"\text{no solution}", "No solution"), (r"\emptyset", r"\{\}"), ("2^{10}", "1024"), (r"7\pi", "7\u03c0"),
    ("\u00bd", "0.5"), ("x\u00b2+1", "x^2+1"), ("(3,4]", r"3 < x \le 4"), ("2k+2", "2(k+1)"),
    (r"\frac{1}{2}\begin{pmatrix}2\\4\end{pmatrix}", r"\begin{pmatrix}1\\2\end{pmatrix}"), ("(x,y)=(1,2)", "(1,2)"),
    ("x=1, y=2", "(1,2)"), ("x=1, y=2", "y=2, x=1"), ("120 km/h", "120 kilometers per hour"),
    (r"1\frac{4}{5}", "9/5"), (r"-3\frac{1}{2}", "-7/2"), ("5x - 7y + 11z + 4 = 0", "10x-14y+22z+8=0"),
    ("e^{2}", r"\mathrm{e}^2"), ("e^{-x}", r"\frac{1}{e^x}"), ("x < 3", "3 > x"), ("5 m", "5m"),
    ("10 m^2", r"10\text{ m}^2"), (r"\frac{x+2}{7}", r"\frac{x}{7}+\frac{2}{7}"), ("x^{1/2}", r"\sqrt{x}"),
    ("3/4", "(3)/(4)"), (r"\{x \mid x > 2\}", r"(2,\infty)"), (r"\mathbb{R}", r"(-\infty,\infty)"),
    ("1,000,000", "1000000"), (r"\$1,000,000", "1 000 000"), (r"72^\circ", "72\u00b0"), (r"2\cdot 3^4", "162"),
    (r"\sin^{-1}(1/2)", r"\pi/6"), (r"\arcsin\frac12", r"\frac{\pi}{6}"), ("n(n+1)/2", r"\frac{n^2+n}{2}"),
    (r"\frac{a}{b}", "a/b"), ("a/2b", r"\frac{a}{2b}"), ("12 inches", "12"), ("9:30", "9:30 a.m."),
    ("9:30 am", "9:30 a.m."), ("5 million", "5000000"), (r"2.5 \text{ million}", "2500000"),
    (r"\$3 million", "3,000,000"), (r"5^{\text{th}}", "5"), ("11th", "11"), ("(1{,}234, 5)", "(1234,5)"),
    ("3 dozen", "36"), ("x+10^{-100}=0", r"3x+3\cdot 10^{-100}=0"), (r"\pm 5", "x=5 or x=-5"),
    (r"\pm 5", r"x \in \{5,-5\}"), (r"\{-5,5\}", "x = 5, -5"), ("1,2", r"S = \{1,2\}"),
    (r"(-\infty,\infty)", r"\text{all real numbers}"), (r"(-\infty,\infty)", r"x \in \mathbb{R}"),
    (r"x \ne 0", r"\mathbb{R} \setminus \{0\}"), (r"(-\infty,0)\cup(0,\infty)", r"\mathbb{R} \setminus \{0\}"),
    ("5", "5 in"), ("5", r"5 \text{ }"), ("5", "5 in total"), ("1/12", "0.0833333333333333"),
    (r"\frac{1}{3}\ln|x|", r"\frac{\ln |x|}{3}"), (r"12\text{ and }13", "12, 13"),
    (r"1 \leq |z| \leq \frac{3}{2}", r"z \in \left[-\frac{3}{2}, -1\right] \cup \left[1, \frac{3}{2}\right]"),
    ("0<f(x)<1", "(0,1)"), ("x < 1", "-x > -1"), (r"\frac{NO}{BO}=\frac{1}{\sqrt{6}}", r"\frac{1}{\sqrt{6}}"),
    ("p=5,q=2;p=7,q=2", "(5,2),(7,2)"),
    (r"F_n = \sum_{k=0}^{n-1} F_k F_{n-k-1}", r"F_n = \sum_{k=0}^{n-1} F_{n-k-1} F_k"), ("x < 2y", "2y - x > 0"),
    (r"[1,2]\cup[2,3]", "[1,3]"), (r"(0,2)\setminus\{1\}", r"(0,1)\cup(1,2)"),
    (r"\sum_{k=1}^{n} k", r"\frac{n(n+1)}{2}"), (r"\ln(x^2)", r"2\ln x"), ("i^2", "-1"), ("(-8)^2", "64"),
)
DIFFERENT = (
    (r"1 - 1/\mathrm{e}", r"1 + 1/\mathrm{e}"), ("4", r"4\sqrt(2)"), ("1331 and 1728", "1728"),
    ("3*x-1*y+13=0", "3x+4y+14=0"), ("(0,1)", "(0,1.5)"), ("D=(0,1)", "D=(0,1.5)"), (r"\pm 2021", "2021"),
    ("2021", r"\pm 2021"), ("12:00", "1:00"), ("1/2", "1/2 or 3/4"), ("1/2", "1/2, 3/4"), ("10 cm", "10 km"),
    (r"50\%", r"0.5\%"), ("50", "0.5"), ("1/2", "50%"), ("(1,2)", "(2,1)"), ("(1,2)", "(1,2,3)"), ("[1,2]", "(1,2)"),
    ("(3,4]", "[3,4]"), (r"\{1,2\}", r"\{1,2,3\}"), (r"\{1,2\}", "(1,2)"), ("x = 5", "y = 5"), ("1/3", "0.33"),
    ("1/3", "0.3333333333"), (r"\pi", "3.14"), (r"\sqrt2", "1.414"), (r"\pi", "22/7"), ("204_5", "204"),
    ("204_5", "54"), ("204_5", "204_6"), ("9:30", "3:10"), ("9:30 am", "9:30 pm"), ("n=2,3,4", "n=1,2,3"),
    ("1/2004!", "1/2006!"), ("1/2^{99}", "1/2^{98}"), ("x^2", "2x"), ("a+b", "a-b"), ("x<3", r"x \le 3"),
    ("x<3", "x>3"), ("x<3", "y<3"), (r"\text{east}", "west"), (r"\text{(B)}", "C"), ("f(x)", "f(y)"),
    (r"\cot x", r"\tan x"), ("1+i", "1-i"), ("5", "5x"), ("5", "5^x"), ("5", "5!"), ("2", r"\frac{1+\sqrt{5}}{2}"),
    ("x+2n+1", "x+1"), ("7 = 11a+c", "11a+c"), ("a +3z = 0", "0"), ("2x + z = 1", "1"), ("(3,1)", "1,3"),
    ("2,1", "1,2,3"), ("|x-10|", "10-x"), ("1,2", "1.3"), ("12", "1,2"), ("123", "1,23"), ("5", "5,0"),
    ("5", "5 or 6"), ("5", r"\{5,6\}"), ("5", "(5)(1/2)"), ("12", "1 2"), ("35", r"\boxed{5}\boxed{7}"),
    ("5", "not 5"), ("5", "x > 5"), ("5", r"x \ne 5"), (r"\frac{3}{4}", r"\frac{4}{3}"), ("10 dollars", "10 cents"),
    ("15 cm^2", "15 cm^3"), ("3 boys", "3 girls"), (r"A \cup B", r"A \cap B"), ("3:2", "2:3"), ("[0,1)", "-[0,1)"),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix}1&2\end{pmatrix}"), (r"\infty", r"-\infty"),
    ("1,1,2", "1,2"), ("x=1, y=2", "2,1"), ("x=1, y=2", "x=2, y=1"), ("0", r"\frac{1}{0}"), ("0", "10^{-100}"),
    ("e", "2.718281828"), ("yes", "no"), ("no", "on"), ("5 million", "5"), ("5", "5 is wrong"), ("5", r"\ln 0"),
    ("5", r"5+1/\ln 0"), ("5", r"5 \text{ or more}"), ("5", "at least 5"), ("0", r"\ln 0"), (r"-\infty", r"\ln 0"),
    ("[1,2]", "1,2"), ("123456789012345", "123456789012345.6"), ("0.3", "0.30000000000000004"), ("-x > -1", "x > 1"),
    ("x<2", r"x \ne 2"), ("[1,2]", "[1,3)"), ("x<2y", "x>2y"), (r"\sqrt{x^2}", "x"),
    (r"e^{\pi\sqrt{163}}", "262537412640768744"), (r"\pi", r"\pi+10^{-200}"), ("x=5", "x^2=25"),
    ("f(x)=x^2", "g(x)=x^2"), (r"5 \text{ m}", r"5 \text{ s}"), (r"\text{A}", r"\text{A and B}"),
    (r"[-\infty,2)", r"(-\infty,2)"), ("(1,2,3]", "(1,2,3)"), (r"\arcsin(\sin x)", "x"), ("|x|", "x"),
    (r"\frac{dy}{dx}", r"\frac{y}{x}"), ("1,000", "1"), ("|x-1000|", "1000-x"), ("x+10^{-100}=0", "3x=0"),
    ("1.000", "1,000"), (r"2\frac12", r"2\cdot\frac12"), ("-2^2", "4"),
)


@pytest.mark.parametrize(("reference", "given"), EQUAL)
def test_an_answer_that_says_the_same_is_equal_from_either_side(reference: str, given: str) -> None:
    assert compare(reference, given).status == "equal"
    assert compare(given, reference).status == "equal"


@pytest.mark.parametrize(("reference", "given"), DIFFERENT)
def test_an_answer_that_says_something_else_is_not_equal_from_either_side(reference: str, given: str) -> None:
    assert compare(reference, given).status != "equal"
    assert compare(given, reference).status != "equal"


def test_a_text_that_is_not_read_equals_itself_alone() -> None:
    assert compare(r"\int_0^1 f", r"$\int_0^1 f$.").status == "equal"
    assert compare(r"\int_0^1 f", r"\int_0^1 g").status == "reference"
    assert compare("1", r"\int_0^1 f = 1").status == "unreadable"


def test_the_reason_is_one_line_and_says_where_reading_stopped() -> None:
    assert compare("5", "5 @").reason == "'@' is not read"
    assert "\n" not in compare("5", "\n5\n6\n").reason


@pytest.fixture(scope="module")
def answers() -> list[str]:
    if not MATH500.exists():
        pytest.skip("../shared/data/math500 is absent")
    return [json.loads(line)["answer"] for line in MATH500.read_text().splitlines()]


def test_every_answer_of_math500_equals_itself_in_another_dress(answers: list[str]) -> None:
    for answer in answers:
        assert compare(answer, answer).status == "equal"
        assert compare(answer, rf"$\boxed{{{answer}}}$.").status == "equal"


def test_answers_of_math500_equal_no_neighbour(answers: list[str]) -> None:
    same = {("5", "x=5"), (r"36^\circ", "36"), (r"2 \sqrt{5}", r"2\sqrt{5}")}
    found = {(one, other) for n, one in enumerate(answers) for other in answers[n + 1:n + 11]
             if one != other and compare(one, other).status == "equal"}
    assert found == same


def faults(answer: str) -> Iterator[str]:
    """The answer with one thing wrong, in each way that applies."""
    for digit in re.finditer(r"\d", answer):
        yield f"{answer[:digit.start()]}{(int(digit[0]) + 1) % 10}{answer[digit.end():]}"
    yield from (answer.replace(old, new, 1) for old, new in (
        ("-", ""), ("+", "-"), ("(", "["), ("]", ")"), ("[", "("), (r"\pi", "e"), (r"\sqrt", ""), (r"\cup", r"\cap"),
        (r"\pm", "+"), ("x", "y"), ("^", "^1"), (r"\infty", "7")) if old in answer)
    yield f"{answer}, 91"
    yield f"-({answer})"
    if swapped := re.fullmatch(r"(-?)\\d?frac\{(\d+)\}\{(\d+)\}", answer):
        yield rf"{swapped[1]}\frac{{{swapped[3]}}}{{{swapped[2]}}}"
    if pair := re.fullmatch(r"\(([^,]*),([^,]*)\)", answer):
        yield f"({pair[2]},{pair[1]})"
        yield f"({pair[1]},{pair[2]},0)"
        yield pair[1]
    if "," in answer:
        yield answer.rpartition(",")[0]


def test_no_planted_fault_in_math500_is_equal(answers: list[str]) -> None:
    harmless = {"0", "-(0)", *(f"-({answer})" for answer in answers if re.search("[A-Za-z]{3}|=", answer))}
    planted = 0
    for answer in answers:
        for fault in faults(answer):
            if fault in harmless:
                continue
            planted += 1
            assert compare(answer, fault).status != "equal", (answer, fault)
    assert planted > 2000


DELIBERATE = {
    (r"$x \in [-2,7]$", r"$-2 \\le x \\le 7$"): "an interval equals its inequality in both directions",
    ("$f(x)$", "$f(y)$"): "two functions of different arguments; the same row stands there with both verdicts",
    ("$9$", "Answer $ \n 9 \n $"): "white space decides nothing here, extraction settings do there",
    ("$9$", "Answer \\( \n 9 \n \\)"): "the same",
}
DELIMITED = re.compile(r"\$\$(.+?)\$\$|\$([^$]+)\$|\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)


@pytest.mark.skipif(not CASES.exists(), reason="../shared/data/grader_cases is absent")
def test_short_pairs_of_another_grader_are_judged_as_there_or_differ_for_a_reason() -> None:
    rows = [json.loads(line) for line in (CASES / "math_verify_part.jsonl").read_text().splitlines()]
    judged, unexpected = 0, []
    for row in rows:
        pair = row["reference"], row["response"]
        if max(map(len, pair)) > 150 or r"} no no" in pair[0] or "boxed{35 cm}" in pair[0] or "ouci" in pair[1] \
                or " not " in pair[1]:
            continue
        judged += 1
        equal = compare(*map(stripped, pair)).status == "equal"
        if equal != bool(row["expected"]) and pair not in DELIBERATE:
            unexpected.append(pair)
    assert judged > 100
    assert unexpected == []


def stripped(text: str) -> str:
    """An answer without the sentence around it; finding it in longer texts is not the comparison's."""
    text = re.sub(r"^(?:Answer|We find that|Therefore|The (?:matrix|solution) is|Here is[^:]*:|Matrix[^:]*:|When[^:]*:|"
                  r"solutions are:|Hence,)\s+|\s+is the solution\.$", "", text.strip())
    boxes = re.findall(r"\\boxed\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}", text)
    return ", ".join(boxes) if boxes else text


@pytest.mark.skipif(not CASES.exists(), reason="../shared/data/grader_cases is absent")
def test_pairs_of_a_textbooks_grader_are_judged_as_there() -> None:
    rows = [json.loads(line) for line in (CASES / "rasbt_ch03.jsonl").read_text().splitlines()]
    for row in rows:
        if row["reference"] is not None and row["response"] is not None:
            equal = compare(row["reference"], row["response"]).status == "equal"
            assert equal == bool(row["expected"]), row
