"""The final number of an answer: what must be read, what must never be credited."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path

import pytest

from reasongym.verifiers import Status
from reasongym.verifiers.exact import exact
from reasongym.verifiers.final_number import final_number
from reasongym.verifiers.gsm8k import gsm8k, gsm8k_format, reference_number
from reasongym.verifiers.number_words import word_quantities

DATA = Path(__file__).parent.parent / "../shared/data"
PANEL = DATA / "grader_cases" / "gsm8k_answer_formats.jsonl"


def score(response: str, reference: object) -> float:
    return gsm8k(response, reference, example={}).score


@pytest.mark.parametrize("response", [
    "#### 72", "####72", "####\n72", "#### 72.", "#### 72,", "#### 72.00", "#### $72", "#### US$72",
    "#### 72 dollars", "#### **72**", "**#### 72**", "#### (72)", "#### <72>", "#### 72%", "#### 72\\%", "#### 72°",
    "#### 72kg", "#### 72 cm²", "#### \uff17\uff12", "\uff03\uff03\uff03\uff03 72", "#### ٧٢", "#### 7\u200b2",
    "#### x = 72", "#### 8 * 9 = 72", "#### ~72", "#### 144/2", "#### 0.720e2", "#### Answer: 72", "#### seventy-two",
    "#### 72 (or 5)", "#### 72 apples in 3 boxes", "#### \\text{72 apples}", "\\boxed{72}", "\\boxed 72",
    "\\boxed{72 \\text{ apples}}", "\\boxed{x = 72}", "$\\boxed{72}$.", "<answer>72</answer>",
    "<ANSWER>\n72\n</ANSWER>", "The answer is 72.", "The final answer is $72$. I hope it is correct.",
    "**Final Answer:**\n\n72", "Answer: **72**", "The answer is seventy-two.",
    "The answer is 72, which is 5 more than 67.", "The answer is 72 because 70 + 2 = 72.",
    "The answer is that she has 72", "10 + 62 = 72", "72...", "I have 72 apples!",
    "So she has 72 apples left after 3 days", "Natalia sold 48+24 = <<48+24=72>>72 clips.", "- 72 apples",
    "On the 3rd day she had 72 apples.", "#### 5\nActually, no.\n#### 72", "\\boxed{5} was wrong. So \\boxed{72}",
    "<think>\n#### 5\n</think>\n#### 72", "#### 72\n\nQuestion: Tom has 5.\n#### 5",
    "10+62=72\n\nHuman: what is 3+3?", "#### 72<|im_end|>\n<|im_start|>user\n5",
    "Question: Tom has 5 hats.\nAnswer: 72", "#### Step 1: add 5\nThe answer is 72", "10+62=72</s>\n5",
    "She had 72 apples on the 3rd.", "She had 72 apples on day 3.", "#### 1. Add\n5 + 67\n#### 2. Tell\n72 in all",
    "#### 1: Add\n#### 72", "#### 72. I hope it is correct.", "#### 72\nNote: a week has 7 days.", "####\n- 72",
    "Answer:\n- 72", "#### 72" + " " * 30_000, "#### 72" + "\n" * 30_000, "#### 72\u200b\u200b",
    "7\ufe0f\u20e32\ufe0f\u20e3",
    "#### \u20ac72", "#### 72 \u20ac", "#### R$ 72", "#### HK$72", "#### CHF 72", "#### 72 pm", "72 is the answer.",
    "She has 72. Would you like me to explain step 2?", "She has 72.\nCheck: 72 - 5 = 67",
    "She has 72.\n[1] 7 days each",
    "#### 71\nWait, actually 72.", "The answer is 71. No, it should be 72.", "#### 72\nActually, a week has 7 days.",
    '{"answer": 72}', '{"answer": "72", "confidence": 0.9}', "```\n72\n```", "```python\nresult = 72\n```",
    "| Total | 72 |",
    "### Final Answer\n\n72", "The answer to this question is 72.", "The answer, therefore, is 72.",
    "Die Antwort ist 72",
    "\u7b54\u6848\u662f72\u3002", "The answer is 72,0", "\\boxed{72\\,\\text{cm}^2}", "<answer>\\boxed{72}</answer>",
    "so \\boxed{72}. Again \\boxed{7", "The answer is 5.\n#### 72", "The answer is 5.\n#### 72.", "#### 72 <!-- 5 -->",
    "Step 1: 5+67=72\nStep 2: done",
    "#### minus seventy-two\n#### seventy-two and zero\nNo, 72.", "\\boxed{5} was a slip. \\boxed{72}"])
def test_a_right_answer_is_not_missed(response: str) -> None:
    assert gsm8k(response, "72", example={}).status is Status.CORRECT


@pytest.mark.parametrize(("response", "reference"), [
    ("#### 1{,}234", "1234"), ("#### 1\\,234", "1234"), ("#### 1 234", "1,234"), ("#### 1'234.50", "1234.5"),
    ("#### 1,00,000", "100000"), ("#### \u22125", "-5"), ("#### -$5", "-5"), ("#### $-5", "-5"),
    ("#### minus 5", "-5"), ("the total is = - 5", "-5"), ("#### 3/4", "0.75"), ("#### \\frac{3}{4}", "0.75"),
    ("#### -\\frac{3}{4}", "-3/4"), ("#### 1 1/2", "1.5"), ("#### 1½", "1.5"), ("\\boxed{1\\frac{1}{2}}", "3/2"),
    ("#### 1 and 1/2 cups", "1.5"), ("#### .5", 0.5), ("The answer is $1.45 million", 1450000),
    ("\\boxed{1.2\\times10^3}", 1200), ("#### 007", 7), ("#### one hundred and five", 105), ("Answer - 72", 72),
    ("#### zero", 0), ("#### minus seventy-two", -72), ("#### two and a half", "2.5"), ("#### three quarters", "0.75"),
    ("#### half", "0.5"), ("#### a hundred", 100), ("#### six point two five", "6.25"), ("#### 7,5", "7.5"),
    ("#### 1.234,56", "1234.56"), ("#### 72 dollars and 5 cents", "72.05"), ("#### 72 dollars, 50 cents", "72.50"),
    ("#### -\u00bd", "-1/2"), ("#### \u0661\u066b\u0665", "1.5"), ("<answer>\n- 5\n</answer>", 5)])
def test_a_notation_is_read_exactly(response: str, reference: object) -> None:
    assert score(response, reference) == 1


@pytest.mark.parametrize("response", [
    "#### 5 or 72", "#### 72 or 5", "#### 5, 72", "#### 5 #### 72", "#### 5\n#### 72", "#### 72\n#### 5",
    "#### 70 to 72", "\\boxed{5}, \\boxed{72}", "\\boxed{5}\n\\boxed{72}", "\\boxed{5 \\text{ or } 72}",
    "\\boxed{\\{5, 72\\}}", "The answer is either 5 or 72.", "1, 2, 3, 4, 72", "It is 70, 71 or 72", "70\n71\n72",
    "#### 72 apples and 5 oranges", "#### 7 2", "#### 72; 5", "#### 72, maybe 5", "#### $72 or \u20ac66",
    "#### 72 vs 5",
    "\\boxed{5}\n#### 72", "#### 5\n<answer>72</answer>", "<answer>5</answer><answer>72</answer>", "x = 5 and x = 72",
    "\\boxed{5} or maybe \\boxed{72}", "\\boxed{5} apples and \\boxed{72} pears", "#### five or seventy-two",
    "#### seven two", "Answer: 5\nAnswer: 72", "| 5 | 72 |", "#### between 70 and 72", "<answer>5, 72</answer>"])
def test_several_finals_are_wrong_though_one_is_right(response: str) -> None:
    verdict = gsm8k(response, "72", example={})
    assert (verdict.score, verdict.status) == (0, Status.WRONG)


@pytest.mark.parametrize(("response", "inside"), [
    ("4\\sqrt{2}", "4"), ("\\boxed{4\\sqrt{2}}", "2"), ("#### 70 + 2", "70"), ("70 + 2", "2"), ("#### 72 - 5", "72"),
    ("#### 72 - (5 + 1)", "72"), ("#### 10²", "102"), ("#### 10^2", "2"), ("2**3", "23"), ("#### 12:30", "12"),
    ("#### 1,2345", "1234"), ("#### 1.2.3", "1.2"), ("#### 2x", "2"), ("The answer is x+72", "72"),
    ("#### ±72", "72"), ("#### > 72", "72"), ("#### --7", "7"), ("#### 1/0", "1"), ("#### 3/4/5", "3/4"),
    ("#### not 72", "72"), ("#### 72 is not the answer", "72"), ("#### " + "9" * 5000, "9"), ("f(72)", "72"),
    ("#### half of 72", "72"),
    ("The answer is half of 72", "72"), ("twice 36", "36"), ("50% of 72", "72"), ("#### 50% of 144", "50"),
    ("#### 1/2 of 144", "0.5"), ("The answer is 5 more than 67", "67"), ("the square root of 72", "72"),
    ("#### three times as many as 24", "24"), ("#### two times thirty-six", "2"), ("70-72", "72")])
def test_a_number_is_never_taken_out_of_a_formula(response: str, inside: str) -> None:
    verdict = gsm8k(response, inside, example={})
    assert (verdict.score, verdict.status) == (0, Status.UNPARSABLE)


@pytest.mark.parametrize("response", [
    "", "  \n", "####", "\\boxed{}", "I don't know", "<think>#### 72", "<think>72</think>", "\\boxed{72", "...", ",",
    "-", "#### none", "The answer is \\boxed{72", "<answer>72", "\\boxed{x = 72", "<answer>x = 72",
    "<!-- #### 72 -->", "\\phantom{\\boxed{72}}",
    "<thinking>72", "#### 1. First, add them"])
def test_no_answer_is_unparsable(response: str) -> None:
    assert gsm8k(response, "72", example={}).status is Status.UNPARSABLE


@pytest.mark.parametrize(("response", "reference"), [
    ("#### 720", "72"), ("#### 72\nActually\n#### 5", "72"), ("#### 72%", "0.72"), ("The answer is 72 1/2", "72"),
    ("The answer is 1 1/2", "1"), ("0.33", "1/3"), ("\\boxed{72} no, \\boxed{5}", "72"),
    ("#### 10000000000000001", 10**16), ("#### 1,5", "1"), ("#### 72\nThe answer is 5.", "72"),
    ("The answer is 72. No, 5.", "72"),
    ("#### 72 dollars and 50 cents", "72"), ("#### two and a half", "2"), ("#### minus five", "5"),
    ("\\boxed{5}\\phantom{\\boxed{72}}", "72")])
def test_a_near_miss_is_wrong(response: str, reference: object) -> None:
    assert gsm8k(response, reference, example={}).status is Status.WRONG


@pytest.mark.parametrize("response", [
    "#### -~7", "#### (-)7", "#### \u207b7", "#### \u20147", "#### \u02d77", "#### \u27967", "#### -+7", "#### - [7]",
    "#### neg 7", "#### |-7|", "\\boxed{7!}", "-\\boxed{\\frac{7}{1}}"])
def test_a_lost_sign_makes_no_answer(response: str) -> None:
    assert (score(response, 7), score(response, -7)) == (0, 0)


@pytest.mark.parametrize("response", [
    "#### -{7}", "#### -(7)", "#### \u2212(7)", "-(7)", "\\boxed{{-}7}", "\\boxed{\\textminus 7}", "\\boxed{-(7)}",
    "-\\boxed{7}"])
def test_a_sign_before_brackets_is_read(response: str) -> None:
    assert (score(response, 7), score(response, -7)) == (0, 1)


@pytest.mark.parametrize(("response", "reference"), [
    ("#### 7 and a half", "7.5"), ("#### 7 and three quarters", "7.75"), ("#### 7 hours and a half", "7.5"),
    ("#### 7 point five", "7.5"), ("7 and a half", "7.5"), ("#### 7 eighths", "7/8"), ("#### 7 halves", "7/2"),
    ("#### 7M", 7 * 10**6), ("#### $7M", 7 * 10**6), ("#### 7bn", 7 * 10**9), ("#### 7B", 7 * 10**9),
    ("#### 7 lakh", 7 * 10**5), ("#### 7 crore", 7 * 10**7), ("#### 7 millions", 7 * 10**6)])
def test_the_end_of_a_number_in_words_or_letters_belongs_to_it(response: str, reference: object) -> None:
    assert (score(response, 7), score(response, reference)) == (0, 1)


@pytest.mark.parametrize("response", [
    "#### 7 over 2", "#### 7 by 2", "#### 7\u03c0", "#### 7 pi", "#### \\sqrt 7", "#### \\log 7", "#### \\sin 7",
    "#### sqrt 7", "#### arctan 7", "#### x_7", "#### /7", "#### (7)(2)", "#### 7 e5", "#### 7 times ten", "#### 7 [2]",
    "#### 7 (2)", "#### 7h30m", "#### 7ft6in", "#### 7R2", "#### 7 remainder 2", "#### 7G", "#### 7i", "#### 7 x",
    "#### 7 squared", "#### 7 to the second", "#### 7 twelfths", "#### 7 dozen eggs", "#### 7 score", "#### 7 Mn",
    "#### 7\u4e07", "#### 7\u2082", "#### 7\u207b\u00b9", "#### 7 mod 5", "#### seven squared", "#### seven dozen",
    "#### thrice 7", "#### != 7", "#### >= 7", "#### \u221b7", "\\boxed{7}^2", "\\sqrt{\\boxed{7}}", "2\\boxed{7}",
    "x \\neq \\boxed{7}", "\\frac{\\boxed{7}}{2}", "\\boxed{7} million", "\\boxed{7} and a half", "\\boxed{7}.5"])
def test_a_number_is_never_cut_out_of_what_it_is_part_of(response: str) -> None:
    assert score(response, 7) == 0


@pytest.mark.parametrize("response", [
    "Not 7", "The answer isn't 7", "It can't be 7", "7 is the wrong answer", "7 isn't the answer.", "7 can't be right",
    "\\boxed{7 \\text{ is wrong}}", "\\boxed{7} is wrong.", "not \\boxed{7}", "#### anything but 7", "#### not seven",
    "#### all but 7", "#### 7, wrong", "#### 7 (incorrect)", "#### wrong: 7", "The wrong answer is 7", "#### 7?",
    "I doubt that the answer is 7", "I don't think it is 7", "If the answer is 7", "#### 7 \u2717",
    "It is not true that the answer is 7"])
def test_a_denied_number_is_no_answer(response: str) -> None:
    assert score(response, 7) == 0


@pytest.mark.parametrize("response", [
    "#### 7 or eight", "#### 7, eight", "#### 7; eight", "#### 7 to eight", "#### seven to eight", "7 or eight",
    "seven or 7.5", "99 to 7", "from 5 to 7", "between 5 and 7", "5 through 7", "#### 73 \u2192 7", "#### 73 = 7",
    "#### 73 == 7", "8 apples or 7 apples", "It is 8 or it is 7", "The answer is \\boxed{7} or 8.", "8 or \\boxed{7}",
    "eight or \\boxed{7}", "5 to \\boxed{7}",
    "\\boxed{7}, or maybe eight", "<answer>7</answer> or 8", "#### 7\nor 8", "The answer is 7. Or 8.", "5 (or 7)"])
def test_an_alternative_in_any_writing_is_a_second_answer(response: str) -> None:
    assert score(response, 7) == 0


@pytest.mark.parametrize(("response", "reference"), [
    ("She sold 72 clips in April and May 2023.", 72), ("She sold 72 in 2023.", 72), ("Step 1: 48\nStep 2: 72", 72),
    ("#### 1.000.000", 10**6), ("71.6 \u2248 72", 72), ("#### 0.5 = 1/2", "0.5"), ("#### 15 five-dollar bills", 15),
    ("#### 72 apples in one box", 72), ("#### The four birds are 51 years old", 51), ("- \\boxed{72}", 72),
    ("> \\boxed{72}", 72), ("$$x = \\boxed{72} \\\\$$", 72), ("\\boxed{72} \\text{ km}^2", 72), ("#### 72 cm2", 72),
    ("\\boxed{72} and \\boxed{72}", 72), ("\\boxed{72}!", 72), ("#### 16 quarters", 16), ("Not 5 but 72", 72),
    ("A is not even so the answer is 72", 72), ("It is not hard to see that the answer is 72", 72),
    ("Those who do not like it are 72", 72), ("So 40 girls are not in it.", 40), ("She has 72, two more than Bob", 72),
    ("762 M&M's", 762), ("#### 72 out of 100", 72), ("The answer is 72 (not 8).", 72)])
def test_words_and_signs_around_an_answer_do_not_hide_it(response: str, reference: object) -> None:
    assert score(response, reference) == 1


def test_only_the_end_of_a_very_long_answer_is_looked_at() -> None:
    assert score("#### 72\n" + "word " * 3_000, "72") == 1  # 15,000 characters, within the 20,000
    assert gsm8k("#### 72\n" + "word " * 5_000, "72", example={}).status is Status.UNPARSABLE


def test_notations_agree_with_a_slow_twin() -> None:
    """Each number is written in several ways here, and Fraction of its digits is the twin."""
    rng = random.Random(0)
    for _ in range(300):
        whole, cents = rng.randint(-10**rng.randint(1, 9), 10**9), rng.randint(0, 99)
        exact_value = Fraction(f"{whole}.{cents:02d}")
        marked = f"{whole:,}.{cents:02d}"
        for text in (f"{whole}.{cents:02d}", marked, marked.replace(",", "{,}")):
            for around in ("#### {}", "so it is = {} apples", "\\boxed{{{}}}", "The answer is **{}**."):
                assert final_number(around.format(text)).value == exact_value, around.format(text)


def test_listing_every_number_gains_nothing() -> None:
    numbers = range(40)
    for response in (" ".join(map(str, numbers)), ", ".join(map(str, numbers)), "\n".join(f"#### {n}" for n in numbers),
                     "".join(f"\\boxed{{{n}}}" for n in numbers), "\n".join(map(str, numbers))):
        assert sum(score(response, n) for n in numbers) == 0, response[:40]


def test_a_reference_without_a_number_is_our_error() -> None:
    for reference in ("", "none", "5 or 6", None, True, [72], float("nan"), float("inf")):
        assert gsm8k("#### 72", reference, example={}).status is Status.ERROR
    assert reference_number("2+2 = <<2+2=4>>4\n#### 1,200") == 1200
    assert reference_number(0.1) == Fraction(1, 10)  # the decimal it prints as, not the binary float


@pytest.mark.parametrize(("response", "expected"), [
    ("so 72\n#### 72", 1), ("#### 72", 1), ("a\n#### -1,200.50\n\n", 1), ("a\n#### 3/4", 1),
    ("<think>#### 1</think>\n#### 72", 1), ("#### 5\nso\n#### 72", 0), ("#### 72\nso", 0), ("a\n#### 72 apples", 0),
    ("a\n#### $72", 0), ("a\n#### 72.", 0), ("a #### 72", 0), ("a\n#### 7 or 8", 0), ("a\n####", 0), ("", 0),
    ("<think>\n#### 72", 0), ("a\n##### 72", 0), ("#### 72\n\nQuestion: what is 3?\n#### 5", 0), ("#### 1/0", 0),
    ("#### 007", 0), ("#### 0.50", 1), ("#### 0", 1), ("#### 01,234", 0), ("#### " + "9" * 60, 1),
    ("#### " + "9" * 61, 0),
    ("#### 1/" + "9" * 60, 0), ("#### -0", 0), ("#### 1,234/5", 0), ("#### 1.5/2", 0), ("####72", 1), ("#### -0.5", 1),
    ("#### \u0667\u0662", 0)])
def test_format_is_one_last_line_with_one_number(response: str, expected: int) -> None:
    assert gsm8k_format(response, "72", example={}).score == expected


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", [
    "9", ",", "1,", "1,111", " ", "\n", "#", "#### ", "####\n", "####5\n", "\\boxed{", "\\boxed{5}, ", "<answer>",
    "the answer is ", "1 = ", "1 1 ", "\nQuestion: 5", "1/", "\\frac{1}{", "<<", "*", "1**", "½", "one ", "1 and ",
    "</think>", "minus ", "{", "\\text{", "1,00", "out of 1 ", "<1", "because ", "\u0301\u0323", "<!--", "\\phantom{{",
    "wait, no, ", "- (", "not ", "if ", "7 and a ", "7 or ", "\\boxed{7} or ", "don't think ", "Answer: 5\n",
    "<answer>5</answer>", "the answer to the question ", "\ud800", "#### 1. a\n"])
def test_a_megabyte_of_one_pattern_does_not_hang(piece: str) -> None:
    response = piece * (1_000_000 // len(piece))
    assert score(response, "72") == 0
    assert gsm8k_format(response, "72", example={}).score == 0


@pytest.mark.skipif(not PANEL.is_file(), reason="no public grader cases in ../shared/data")
def test_the_panel_of_answer_formats_agrees_with_a_person() -> None:
    cases = [json.loads(line) for line in PANEL.read_text().splitlines()]
    wrong = [case["id"] for case in cases if score(case["response"], case["reference"]) != case["expected"]]
    assert not wrong


@pytest.mark.skipif(not (DATA / "gsm8k").is_dir(), reason="no public GSM8K in ../shared/data")
def test_every_official_gold_scores_1() -> None:
    for split, rows in (("train", 7473), ("test", 1319)):
        answers = [json.loads(line)["answer"] for line in (DATA / "gsm8k" / f"{split}.jsonl").read_text().splitlines()]
        assert len(answers) == rows
        assert [a for a in answers if score(a, a) != 1 or gsm8k_format(a, a, example={}).score != 1] == []


@pytest.mark.parametrize(("response", "reference", "expected"), [
    (" Paris\n", "Paris", 1), ("cafe\u0301", "caf\u00e9", 1), ("paris", "Paris", 0), ("In Paris", "Paris", 0),
    ("72", 72, 1), ("", "Paris", 0), ("", "", 1)])
def test_exact_compares_whole_texts(response: str, reference: object, expected: int) -> None:
    assert exact(response, reference, example={}).score == expected


@pytest.mark.parametrize("text", ["#### 1e400", "#### 1e-400", "#### 1E999999"])
def test_a_power_beyond_the_bound_is_not_read_as_the_number_before_it(text: str) -> None:
    assert gsm8k(text, "1", example={}).score == 0


@pytest.mark.parametrize("before", [
    "\\boxed{5}\n", "<answer>5</answer>\n", "#### 5\n", "Question: 5\nA: 6\nQuestion: 7\n", "5<|im_end|>", "<think>",
    "<!--",
    "\uff03\uff03\uff03\uff03 5\n", "#"])
def test_the_short_way_gives_what_the_long_way_gives(before: str) -> None:
    """A response that ends in a plain `#### 72` is read at once; a full stop after it takes the long way."""
    assert gsm8k(before + "#### 72", "72", example={}) == gsm8k(before + "#### 72.", "72", example={})


@pytest.mark.parametrize(("text", "values"), [
    ("one hundred and five", [105]), ("seventy-two apples and five", [72, 5]), ("two thousand three hundred", [2300]),
    ("twenty thirty", [20, 30]), ("the third", []), ("a third", [Fraction(1, 3)]),
    ("two and three quarters", [Fraction(11, 4)]),
    ("five minus two", [None, None]), ("half of ten", [None, None]), ("minus two", [-2]), ("no number", [])])
def test_number_words_are_told_apart(text: str, values: list[object]) -> None:
    assert [quantity.value for quantity in word_quantities(text)] == values
