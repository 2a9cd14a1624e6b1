r"""Answers that equal the reference and are still the question, and readings that hold for an answer alone.

Each row of a panel stands beside its near misses.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reasongym.verifiers import Status
from reasongym.verifiers.math.formulas import formulas
from reasongym.verifiers.math.unfinished import prompt_of
from reasongym.verifiers.math.verifier import math

MATH500 = Path(__file__).parent.parent / "../shared/data/math500/test.jsonl"


def boxed(reference: str, answer: str, prompt: str = "") -> bool:
    example = {"problem": prompt} if prompt else {}
    return math(f"\\boxed{{{answer}}}", reference, example=example).status is Status.CORRECT


@pytest.mark.parametrize(("reference", "answer"), [
    ("6", r"\log_264"), ("6", r"\gcd(12,18)"), ("36", r"\text{lcm}(12,18)"), ("4", r"3^{100}\bmod 7"),
    ("16", "|(1-i)^8|"), ("5", "|{-5}|"), ("-3", r"\lceil (3.6)^2 \rceil - ( \lceil 3.6 \rceil ) ^2"),
    ("7", r"\max(3,7)"), (r"-\frac{\pi}{6}", r"\arcsin(-\frac12)"), (r"\frac12", r"\sin 30^\circ"), ("3", r"e^{\ln 3}"),
    ("3", r"\lfloor \pi \rfloor"), ("1", r"\tan 45^\circ"), ("6", r"\gcd(12,18) = \gcd(12,6)")])
def test_a_function_of_numbers_is_not_its_value(reference: str, answer: str) -> None:
    assert not boxed(reference, answer)


@pytest.mark.parametrize(("reference", "answer"), [
    ("6", r"\log_2 64 = 6"), (r"3\ln 2", r"\ln 8"), (r"\cos 70^\circ", r"\sin 20^\circ"),
    (r"\cot x", r"\frac{1}{\tan x}"),
    ("|x|", r"\sqrt{x^2}"), (r"\sqrt{x^2}", "|x|"), ("1024", "2^{10}"), (r"2\sqrt2", r"\sqrt{8}"), ("120", "5!"),
    (r"\frac12", r"\frac48"), ("10", r"\binom{5}{2}"), ("72", "70+2"), (r"\log_2 3", r"\frac{\ln 3}{\ln 2}")])
def test_an_answer_of_the_references_own_kind_is_right(reference: str, answer: str) -> None:
    assert boxed(reference, answer)


@pytest.mark.parametrize(("prompt", "reference", "answer"), [
    (r"Simplify $\sqrt{242}$.", r"11\sqrt2", r"\sqrt{242}"), (r"Simplify $\sqrt{242}$.", r"11\sqrt2", r"(\sqrt{242})"),
    (r"Simplify $\sqrt{242}$.", r"11\sqrt2", r"x = \sqrt{242}"), ("Compute 99^2+99+1.", "9901", "99^2 + 99 + 1"),
    (r"Compute $\dbinom{31}{28}$.", "4495", r"\binom{31}{28}"), (r"Write $\frac{3}{20}$ as a decimal.", "0.15", "3/20"),
    ("Factor $ab+5b+2a+10$.", "(a+5)(b+2)", "2a+ab+5b+10"), ("If $441+2(21)(19)+361=x$, find $x$.", "1600",
     "441+2(21)(19)+361=x"),
    ("Let $f(x) = (x+1)^2 - x$.", "x^2+x+1", "(x+1)^2-x"), ("Given $a+b=9$, what is the largest $c$?", "9", "a+b=9")])
def test_a_formula_of_the_prompt_is_no_answer(prompt: str, reference: str, answer: str) -> None:
    assert not boxed(reference, answer, prompt)
    for example in ({"question": prompt}, {"prompt": prompt}, {"messages": [{"role": "user", "content": prompt}]}):
        assert math(f"\\boxed{{{answer}}}", reference, example=example).status is Status.WRONG


@pytest.mark.parametrize(("prompt", "reference", "answer"), [
    (r"What is $\sqrt{53}$ in simplest radical form?", r"\sqrt{53}", r"\sqrt{53}"), ("Is it 6 or 7?", "6.0", "6"),
    ("What is $2(k+1)$, expanded?", "2k+2", "2k+2"), (r"Half is $\frac12$.", r"\frac12", "1/2"), ("$a+b=9$", "9", "9"),
    ("Order $x+y$ and $z$.", "y+x", "x+y"), (r"Is it $(0, 1)$ or $[0,1]$?", "(0,1)", "(0, 1)"), ("", "72", "70+2"),
    ("Find $m+n$ where $mn=6$.", "5", "m+n=5"), ("She has 170+25 left.", "95", "70+25"), ("Which, A or B?", "B", "B")])
def test_what_the_prompt_may_hold_too_is_an_answer(prompt: str, reference: str, answer: str) -> None:
    assert boxed(reference, answer, prompt)


def test_a_prompt_of_another_shape_is_none() -> None:
    for example in ({}, {"problem": 5}, {"messages": "x"}, {"messages": [5, {"content": None}]}, {"prompt": None}):
        assert prompt_of(example) == ""
    assert len(prompt_of({"problem": "x" * 10**6})) == 8_000


@pytest.mark.skipif(not MATH500.is_file(), reason="no public MATH-500 in ../shared/data")
def test_math500_is_answered_by_its_answers_and_not_by_its_questions() -> None:
    answered_by_formula = set()
    for line in MATH500.read_text().splitlines():
        row = json.loads(line)
        problem, answer = row["problem"], row["answer"]
        assert boxed(answer, answer, problem), answer
        assert math(problem, answer, example={}).status is not Status.CORRECT, problem
        answered_by_formula |= {answer for formula in formulas(problem)
                                if boxed(answer, formula.content.strip(" .,"), problem)}
    # Two are their own answers, one is an option's letter, one says a + b + c + d = 0 where d is 0.
    assert answered_by_formula <= {r"\sqrt{53}", "6", r"\text{(C)}", "0"}


@pytest.mark.parametrize(("reference", "answer", "right"), [
    ("9", "a+b=9", True), ("125", "m+n=125", True), ("125", "m+n=100+25=125", True), ("9", "f(2)=9", True),
    ("9", "P(A)=9", True), ("9", "ab=9", True), ("9", "x^2+y^2=9", True), ("9", "a-b=9", True),
    (r"\sqrt2", r"a+b=\sqrt2", True),
    ("9", "x+1=9", False), ("9", "2x=9", False), ("9", "x^2=9", False), ("9", "2a+3b=9", False),
    ("9", "x^2+x=9", False), ("0", "a+b=0", False), ("9", "a+b=8", False), ("9", "m+n=8+2=9", False),
    ("a+b=9", "9", False),
    ("9", "f(2)=8=9", False), ("9", r"a+b\approx9", False), ("9", "a+b=c", False), ("9", r"a+b\ge9", False),
    ("9", "|x|=9", False),
    ("3", "|z|=3", True)])
def test_what_was_asked_for_may_name_its_value(reference: str, answer: str, right: bool) -> None:
    assert boxed(reference, answer) is right


@pytest.mark.parametrize(("reference", "answer", "right"), [
    ("x=2", "2x+3=7", False), ("x=2", "x-2=0", False), ("x=2", "x=2", True), ("x=2", "2=x", True), ("x=2", "2", True),
    ("x=2", "x=1+1", True), ("y=2x+3", "2x-y+3=0", True), ("2x+4y-3=0", "y=-x/2+3/4", True)])
def test_an_equation_that_has_to_be_solved_is_not_its_solution(reference: str, answer: str, right: bool) -> None:
    assert boxed(reference, answer) is right


@pytest.mark.parametrize(("decimal", "right"), [
    ("4.667", True), ("4.666", True), ("4.67", True), ("4.7", True), ("5", True), ("4.668", False), ("4.5", False),
    ("4", False), ("46.67", False), ("-4.667", False), ("0.4667", False)])
def test_an_approximation_beside_the_answer_must_be_its_own(decimal: str, right: bool) -> None:
    assert boxed(r"\frac{14}{3}", rf"\frac{{14}}{{3}}\approx {decimal}") is right
    assert not boxed(r"\frac{13}{3}", rf"\frac{{14}}{{3}}\approx {decimal}")
    assert not boxed(decimal, rf"\frac{{14}}{{3}}\approx {decimal}")


@pytest.mark.parametrize(("answer", "right"), [
    (r"\text{(C) Plane}", True), (r"\textbf{(C) } 12", True), (r"\textbf{(C)}\ 12", True), ("(C) Plane", True),
    (r"\text{(C)}", True), (r"\text{(B) Plane}", False), (r"\textbf{(B) } 12", False), (r"\text{(C) or (D)}", False),
    (r"\text{(C), (D)}", False), (r"\text{(C)}, \text{(D)}", False), (r"\text{(C) or D}", False),
    (r"\text{(D) C}", False),
    (r"\text{(C) is wrong}", False), (r"\text{not (C)}", False), (r"\text{(C)?}", False), (r"\text{(C)}, 12", False)])
def test_an_option_may_be_given_with_its_text(answer: str, right: bool) -> None:
    assert boxed(r"\text{(C)}", answer) is right
    assert not boxed("12", answer)


@pytest.mark.parametrize(("reference", "answer", "right"), [
    ("-90", r"-90^\circ", True), ("-90", "-90\u00b0", True), (r"-90^\circ", "-90", True), ("90", r"-90^\circ", False),
    (r"-90^\circ", r"90^\circ", False), ("-90", r"-91^\circ", False),
    (r"(0,9)\cup(9,36)", r"(0,9)\text{ or }(9,36)", True), (r"(0,9)\cup(9,36)", r"(0,9)\bigcup(9,36)", True),
    (r"(0,9)\cup(9,36)", r"(0,9)\text{ and }(9,36)", False), (r"(0,9)\cup(9,36)", "(0,9),(9,36)", False),
    (r"(0,9)\cup(9,36)", r"(0,9)\text{ or }(9,35)", False), (r"(0,9)\cup(9,36)", r"(0,9)\bigcap(9,36)", False),
    ("1", r"100\%", True), ("2", r"200\%", False), ("1/2", r"50\%", False), ("120", r"10\choose 3", True),
    ("121", r"10\choose 3", False), (r"3\mathbf{i}", r"3\hat i", True), (r"3\mathbf{j}", r"3\hat i", False),
    (r"2\mathbf{j}", r"2\hat\jmath", True), ("9", r"\text{Answer: }9", True), ("9", r"\text{Answer: }8", False),
    (r"\text{even}", r"-\text{even}", False), (r"15\mbox{ cm}^2", r"15\text{ cm}^27", False),
    (r"15\mbox{ cm}^2", r"15\text{ cm}^2", True), (r"15\mbox{ cm}^2", r"15\text{ cm}^{-2}", False),
    ("15", "5!!", True), ("48", "6!!", True), ("720", "3!!", False), ("120", "5!!", False), ("5", "4.5!", False),
    ("3.21", "3.21!", False), ("3-4i", r"\overline{3+4i}", False), (r"7\pi", r"\pi 7", False)])
def test_forms_and_their_near_misses(reference: str, answer: str, right: bool) -> None:
    assert boxed(reference, answer) is right


@pytest.mark.parametrize(("response", "right"), [
    (r'{"answer": "\\frac{14}{3}"}', True), (r'{"answer": "\frac{14}{3}"}', True), (r'{"final_answer": "14/3"}', True),
    (r'{"answer": "\\frac{14}{3}", "confidence": 5}', True), ('{"answer": "14"}', False),
    (r'{"a": "\\frac{14}{3}"}', False),
    (r'{"answer": \frac{14}{3}}', True), (r'{"answer": "\\frac{14}{3} or 5"}', False),
    ('{"answer": "\\\\frac{14}', False),
    ("```latex\n\\frac{14}{3}\n```", True), ("```\n\\frac{14}{3} or 5\n```", False)])
def test_an_answer_in_json_or_a_fence_is_read_to_its_end(response: str, right: bool) -> None:
    assert (math(response, r"\frac{14}{3}", example={}).status is Status.CORRECT) is right


@pytest.mark.parametrize("answer", ["3.21!", "4.5!", "(0.5)!", "x!!", "5!!!", "301!!"])
def test_a_factorial_that_is_none_costs_no_question_to_sympy(answer: str) -> None:
    verdict = math(f"\\boxed{{{answer}}}", "3.21", example={})
    assert (verdict.status, "factorial" in verdict.reason) == (Status.UNPARSABLE, True)
