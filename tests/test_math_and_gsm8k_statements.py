"""What both verifiers take for a statement of an answer: questions, tasks, cases, corrections, lists, bounds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reasongym.verifiers import Status
from reasongym.verifiers.gsm8k import gsm8k
from reasongym.verifiers.math.verifier import math
from reasongym.verifiers.number_lists import gives_by_cases, gives_by_names
from reasongym.verifiers.number_sentences import ends_by_asking
from reasongym.verifiers.verdict import Verdict

Verifies = Callable[..., Verdict]


def status(verifier: Verifies, reference: str, response: str) -> Status:
    return verifier(response, reference, example={}).status


BOTH = pytest.mark.parametrize("verifier", [math, gsm8k], ids=["math", "gsm8k"])


@BOTH
@pytest.mark.parametrize("response", [
    "#### >7", "#### > 7", "#### >=7", "> 7", "<answer>>7</answer>", "The answer is >7", "Answer: >7", "Answer: >= 7",
    "The answer is > 7.", "Answer > 7", "The answer is < 7", "#### \u2265 7", "#### more than 7", "#### less than 7"])
def test_a_bound_is_no_value(verifier: Verifies, response: str) -> None:
    assert status(verifier, "7", response) is not Status.CORRECT


@BOTH
@pytest.mark.parametrize("response", [
    "The answer is the sum of 3 and 7.", "The answer is the product of 3 and 7.", "#### the difference of 3 and 7",
    "The answer is the sum of $3$ and $7$.", "So it is half of $7$.", "Half of $7$.", "The answer is multiples of 7",
    "#### multiples of 7", "#### divisible by 7", "<answer>multiples of 7</answer>", "#### quarter to 7",
    "The answer is the square root of $7$.", "#### half past 7", "#### the average of 3 and 7"])
def test_a_part_of_an_expression_in_words_is_not_its_value(verifier: Verifies, response: str) -> None:
    assert status(verifier, "7", response) is not Status.CORRECT


@BOTH
@pytest.mark.parametrize("response", [
    "The answer is 7 if n is even, 8 if n is odd.", "The answer is 7 if x > 0.5 and 8 otherwise.",
    "The answer is $7$ if $n$ is even, $8$ if $n$ is odd.", "So it is 7 if n is even, 8 if n is odd.",
    "7 when n is even and 8 when n is odd", "#### 7 for even n, 8 for odd n", "#### 7 if n > 0, otherwise 8",
    "#### 7 if n > 0; else eight", "#### 7 ... 8", "#### 7 with remainder 3", "The answer is 7 with remainder 3"])
def test_a_value_under_a_condition_is_not_the_answer(verifier: Verifies, response: str) -> None:
    assert status(verifier, "7", response) is not Status.CORRECT
    assert status(verifier, "8", response) is not Status.CORRECT


@BOTH
@pytest.mark.parametrize("response", [
    "Is the answer \\boxed{7}? No.", "Could it be \\boxed{7}?", "Is it $\\boxed{7}$?", "#### 7? No.", "#### 7?",
    "The answer is 7?", "The answer is $7$? No.", "**Answer: 7?**", "<answer>7</answer>?", "<answer>7?</answer>",
    "Perhaps it is $7$?", "Maybe 7?", "I doubt that the answer is 7", "If the answer is 7, fine."])
def test_a_question_or_a_doubt_states_nothing(verifier: Verifies, response: str) -> None:
    assert status(verifier, "7", response) is Status.UNPARSABLE


@pytest.mark.parametrize("response", [
    "#### x+1? No.", "The answer is x+1? No.", "#### $x+1$? No.", "<answer>$x+1$</answer>?", "Is it $x+1$?"])
def test_a_formula_in_question_is_no_answer(response: str) -> None:
    assert status(math, "x+1", response) is not Status.CORRECT


@BOTH
@pytest.mark.parametrize("response", [
    "#### 7; actually 8", "The answer is 7; actually 8", "#### 7. Wait, it is 8.", "#### 7 - sorry, 8", "#### 7, no, 8",
    "The answer is 7. No, 8.", "\\boxed{7}; actually 8"])
def test_a_correction_on_the_same_line_counts(verifier: Verifies, response: str) -> None:
    assert status(verifier, "8", response) is Status.CORRECT
    assert status(verifier, "7", response) is Status.WRONG


@BOTH
@pytest.mark.parametrize("response", [
    "#### 7, rather than 8", "#### 7, no more than 8", "The answer is actually 7", "#### Actually 7",
    "#### 7 apples with no 8s"])
def test_words_that_correct_nothing_leave_the_answer(verifier: Verifies, response: str) -> None:
    assert status(verifier, "8", response) is not Status.CORRECT


@BOTH
@pytest.mark.parametrize("response", [
    "#### Tom 5, Ann 7", "Tom 5, Ann 7", "#### Tom: 5, Ann: 7", "#### x = 5, y = 7", "#### A: 5 B: 6 C: 7",
    "\\boxed{x=5 \\text{ or } x=7}", "#### Tom = 5; Ann = 7", "#### Tom 5 hats and Ann 7 hats"])
def test_values_of_several_names_are_several(verifier: Verifies, response: str) -> None:
    for reference in ("5", "7"):
        assert status(verifier, reference, response) is Status.WRONG


@BOTH
@pytest.mark.parametrize("response", ["#### Step 7", "Step 7", "#### Part 7:", "### Question 7\n", "#### **Step 7**"])
def test_a_heading_is_no_answer(verifier: Verifies, response: str) -> None:
    assert status(verifier, "7", response) is Status.UNPARSABLE
    assert status(verifier, "5", f"The total is 5.\n\n{response}\nDone.") is Status.CORRECT


@BOTH
@pytest.mark.parametrize("word", [
    "mille", "tausend", "Millionen", "Dutzend", "docenas", "douzaines", "mila", "tusen", "duizend", "Tsd.", "Mrd"])
def test_a_multiple_in_another_language_is_no_unit(verifier: Verifies, word: str) -> None:
    for response in (f"#### 7 {word}", f"\\boxed{{7\\text{{ {word}}}}}", f"The answer is 7 {word}."):
        assert status(verifier, "7", response) is not Status.CORRECT, response


@BOTH
@pytest.mark.parametrize(("response", "expected"), [
    ("#### ~~7~~", Status.UNPARSABLE), ("~~7~~", Status.UNPARSABLE), ("<del>7</del>", Status.UNPARSABLE),
    ("#### ~~5~~ 7", Status.CORRECT), ("The answer is ~~5~~ 7.", Status.CORRECT), ("#### ~7", Status.CORRECT),
    ("$x~~=~~7$", Status.CORRECT)])
def test_what_is_struck_out_is_not_said(verifier: Verifies, response: str, expected: Status) -> None:
    assert status(verifier, "7", response) is expected


@BOTH
@pytest.mark.parametrize("response", [
    "In how many ways can 5 of 7 students be selected?", "Find 7.", "What is the value of 7?", "Simplify: $7$",
    "Simplify\n\\[7\\]", "Compute $7$ in your head.", "Write $7$ as a decimal.", "There are 7 hats. How many are red?",
    "The side is 7. Express your answer as a fraction.", "What is\n\\[7?\\]",
    "Two sides are 7. Find the area.\n[asy]\ndraw((0,0)--(7,7));\n[/asy]"])
def test_a_repeated_question_or_task_states_no_answer(verifier: Verifies, response: str) -> None:
    assert status(verifier, "7", response) is Status.UNPARSABLE


@BOTH
@pytest.mark.parametrize("response", [
    "Compute $3+4 = 7$.", "Find the total: 3 + 4 = 7", "3. **Calculate the total**: 7 apples", "She has 7. Okay?",
    "The total is 7.\nDoes that make sense?", "So 7 people. How can I help you further?", "What is x? It is 7.",
    "She has 7 left. Is there anything else?", "How many are there? 7", "We get\n$$7$$", "Thus we find\n$$7$$",
    "Find 5?\n#### 7", "Express trains need 7 hours.", "State University has 7."])
def test_a_step_or_an_offer_hides_no_answer(verifier: Verifies, response: str) -> None:
    assert status(verifier, "7", response) is Status.CORRECT


@pytest.mark.parametrize(("response", "result", "inside"), [
    ("The result is 18 (since 3*4=12).", "18", "12"), ("The result is 18, since 3*4=12.", "18", "12"),
    ("She has 18 (6 + 12 = 18 in all).", "18", "6"), ("There are 14 days (2 weeks = 14 days), so 7.", "7", "14"),
    ("Since 2*3=6, it is 7.", "7", "6"), ("The total is (3 + 4 = 7).", "7", "3"),
    ("She has 3 (red) + 4 (blue) = 7.", "7", "4"), ("So 18% of people.", "18", "0.18")])
def test_a_reason_beside_the_result_is_not_the_result(response: str, result: str, inside: str) -> None:
    assert status(gsm8k, result, response) is Status.CORRECT
    assert status(gsm8k, inside, response) is not Status.CORRECT


@pytest.mark.parametrize("response", ["50% of the 14 people", "18% of 50", "50% of seven", "50% of all 14"])
def test_a_percentage_of_a_number_is_no_percentage_alone(response: str) -> None:
    assert status(gsm8k, response[:2], response) is not Status.CORRECT


@pytest.mark.parametrize("piece", [
    "a 1, ", "if n, 1 ", "if if ", "7 if x, ", "Find ", "find: ", "a=1;", "? ", "x=", "~~", "~~a~~ ", "[asy]",
    '"answer": "\\\\', "no, 7; "])
def test_no_pattern_of_statements_takes_the_square_of_the_length(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    gives_by_cases(text)
    gives_by_names(text)
    ends_by_asking(text, text)
    for verifier in (math, gsm8k):
        assert isinstance(verifier(text, "7", example={}), Verdict)
