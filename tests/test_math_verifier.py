"""The verifier `math`, from a response to its verdict: on other graders' cases, on MATH-500, and against cheats."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from reasongym import registry
from reasongym.verifiers import Status
from reasongym.verifiers.math import symbolic
from reasongym.verifiers.math import verifier as module
from reasongym.verifiers.math.compare import Outcome
from reasongym.verifiers.math.verifier import math

DATA = Path(__file__).parent.parent / "../shared/data"
CASES = DATA / "grader_cases"
MATH500 = DATA / "math500" / "test.jsonl"


def status(response: str, reference: object) -> Status:
    return math(response, reference, example={}).status


def rows(path: Path) -> Iterator[dict[str, object]]:
    return (json.loads(line) for line in path.read_text().splitlines())


@pytest.mark.parametrize(("response", "reference"), [
    ("The answer is $\\frac{1}{2}$.", "0.5"), ("\\boxed{1/2} and \\boxed{0.5}", "\\frac12"), ("$x=1$ or $x=-1$",
    "1, -1"),
    ("\\boxed{(1,2)}, \\boxed{(3,4)}", "(3,4), (1,2)"), ("5", 5), ("0.1", 0.1), ("#### 1,234", "1234"),
    ("(B)", "\\text{B}"),
    ("<think>3</think>The answer is 2\\pi r.", "2 \\pi r"), ("So $10 + 62 = 72$.", "72"), ("It is \u22123.", "-3"),
    ("\\boxed{\\frac{639}{40}}", "It is $\\boxed{15\\frac{39}{40}},$ or $\\boxed{\\frac{639}{40}}$ inches."),
    ("$[0, 1)$", "[0,1)"), ("\\boxed{5}", "We get $2+3=\\boxed{5}$."), ("Therefore the line is y = x + 1.", "y=x+1")])
def test_a_right_answer_is_not_missed(response: str, reference: object) -> None:
    assert status(response, reference) is Status.CORRECT


@pytest.mark.parametrize(("response", "reference"), [
    ("\\boxed{5} or \\boxed{7}", "7"), ("\\boxed{5, 7}", "7"), ("The answer is 5 or 7.", "7"), ("5, 6, 7", "7"),
    ("5\n6\n7", "7"),
    ("$5$\n$7$", "7"), ("#### 5\n#### 7", "7"), ("x = 5 and x = 7", "7"), ("\\boxed{7} was wrong. \\boxed{5}", "7"),
    ("\\boxed{5} <!-- \\boxed{7} -->", "7"), ("\\boxed{5}\\phantom{\\boxed{7}}", "7"),
    ("<think>\\boxed{7}</think>\\boxed{5}", "7"),
    ("\\boxed{1728}", "1331 and 1728"), ("$x+2=5$", "5"), ("\\boxed{5}\n\nQuestion: 2?\n\\boxed{7}", "7"), ("172",
    "72"),
    (" ".join(map(str, range(100))), "99"), ("".join(f"\\boxed{{{n}}}" for n in range(100)), "99")])
def test_hedging_listing_and_hiding_gain_nothing(response: str, reference: str) -> None:
    verdict = math(response, reference, example={})
    assert verdict.score == 0
    assert verdict.status in (Status.WRONG, Status.UNPARSABLE)


@pytest.mark.parametrize("response", [
    "", "\\boxed{}", "\\boxed{5", "<think>5", "\\boxed{4\\sqrt{}}", "The answer is unclear to me", "\x00\ud800",
    "<answer>5"])
def test_no_answer_is_unparsable_never_a_crash(response: str) -> None:
    assert status(response, "5") is Status.UNPARSABLE


@pytest.mark.parametrize("reference", ["", " ", "$", None, True, [5], {}, "$ $"])
def test_a_reference_without_an_answer_is_our_error(reference: object) -> None:
    assert status("\\boxed{5}", reference) is Status.ERROR


@pytest.mark.parametrize(("outcome", "expected"), [
    ("equal", Status.CORRECT), ("different", Status.WRONG), ("unreadable", Status.UNPARSABLE),
    ("reference", Status.ERROR),
    ("timeout", Status.TIMEOUT)])
def test_each_outcome_of_the_comparison_has_its_status(
        monkeypatch: pytest.MonkeyPatch, outcome: str, expected: Status) -> None:
    monkeypatch.setattr(module, "compare", lambda reference, given: Outcome(outcome, "why"))  # type: ignore[arg-type]
    verdict = math("\\boxed{5}", "6", example={})
    assert (verdict.status, verdict.score) == (expected, float(outcome == "equal"))


def test_the_registry_knows_it() -> None:
    assert registry.verifier("math") is math


DIFFERS = {
    # rows from 0: a formula over two lines counts; an interval equals its inequality both ways; f(x) is not f(y)
    "math_verify_part": {14, 15, 96, 135},
    "trl_open_r1": set[int](),
    "rasbt_ch03": set[int](),
    "hendrycks_is_equiv": {1, 8},  # "4, 10, -2" is the same list as "10, 4, -2"
}


@pytest.mark.skipif(not CASES.is_dir(), reason="no public grader cases in ../shared/data")
@pytest.mark.parametrize("name", DIFFERS)
def test_other_graders_cases_agree_but_for_what_is_documented(name: str) -> None:
    """Rows without a stated result are left out; None for a response or a reference is no text."""
    differs = {i for i, row in enumerate(rows(CASES / f"{name}.jsonl")) if row["expected"] is not None
               and math(str(row["response"] or ""), row["reference"], example={}).score != row["expected"]}
    assert differs <= DIFFERS[name]


WAYS = ("Hence the answer is $\\boxed{{{}}}$, as wanted.", "The final answer is ${}$. I hope it is correct.",
    "so\n#### {}",
        "<answer>{}</answer>", "The answer is {}.", "Therefore we get ${}$.", "{}")


@pytest.mark.skipif(not MATH500.is_file(), reason="no public MATH-500 in ../shared/data")
@pytest.mark.parametrize("way", WAYS)
def test_every_math500_answer_is_found_however_it_is_announced(way: str) -> None:
    answers = [str(row["answer"]) for row in rows(MATH500)]
    assert len(answers) == 500
    assert [answer for answer in answers if status(way.format(answer), answer) is not Status.CORRECT] == []


@pytest.mark.skipif(not MATH500.is_file(), reason="no public MATH-500 in ../shared/data")
def test_every_math500_solution_verifies_and_serves_as_a_reference() -> None:
    for row in rows(MATH500):
        solution, answer = str(row["solution"]), str(row["answer"])
        assert status(solution, answer) is Status.CORRECT, answer
        assert status(f"\\boxed{{{answer}}}", solution) is Status.CORRECT, answer


@pytest.mark.skipif(not MATH500.is_file(), reason="no public MATH-500 in ../shared/data")
def test_two_math500_answers_in_one_place_are_never_one_of_them() -> None:
    answers = [str(row["answer"]) for row in rows(MATH500)]
    for one, other in itertools.pairwise(answers):
        if status(f"\\boxed{{{one}}}", other) is not Status.CORRECT:
            for reference in (one, other):
                assert status(f"\\boxed{{{one}}} or \\boxed{{{other}}}", reference) is not Status.CORRECT, (one, other)


@pytest.mark.parametrize(("response", "reference", "right"), [
    (r"\boxed{\int_0^1 x\,dx}", r"\frac12", False), (r"\boxed{\lim_{x\to0}\frac{\sin x}{x}}", "1", False),
    (r"\boxed{\sum_{k=1}^{10} k}", "55", False), (r"\boxed{\frac{d}{dx}x^3}", "3x^2", False),
    (r"\boxed{2+\int_0^1 2x\,dx}", "3", False), (r"\boxed{1/2 = \int_0^1 x\,dx}", "1/2", False),
    (r"\boxed{\int_0^1 x\,dx = \frac12}", r"\frac12", True), (r"\boxed{\frac12}", r"\int_0^1 x\,dx", True),
    (r"\boxed{\int_0^1 f(t)\,dt}", r"\int_0^1 f(x)\,dx", True), (r"\boxed{55}", r"\sum_{k=1}^{10} k", True),
    (r"\boxed{dx}", "dx", True),
])
def test_who_restates_what_was_asked_for_has_answered_nothing(
        monkeypatch: pytest.MonkeyPatch, response: str, reference: str, right: bool) -> None:
    monkeypatch.setattr(symbolic, "WALL_S", 100.0)  # SymPy may have to be started, on a busy machine
    verdict = math(response, reference, example={})
    assert verdict.status is (Status.CORRECT if right else Status.WRONG), verdict
