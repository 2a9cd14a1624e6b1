"""The verifiers numeric, regex, sequence, exact: what must be read, what never credited. Hostile text: choice too."""

from __future__ import annotations

from fractions import Fraction

import pytest
from scoring_pools import patient

from reasongym import registry
from reasongym.scoring import ScoringPool
from reasongym.tasks import Example, RewardPart
from reasongym.verifiers import Status, Verdict, as_verdict

CITIES = ["Berlin", "Paris", "London", "Rome"]
GRID = [[1, 2, 3], [4, 5, 6]]


def verdict(name: str, response: str, reference: object, **fields: object) -> Verdict:
    return as_verdict(registry.verifier(name)(response, reference, example=fields))


@pytest.mark.parametrize(("response", "reference", "score"), [
    # |3.145 - 3.14159| < 0.005; at the tie 3.145 both 3.14 and 3.15 are roundings.
    ("3.14", {"value": 3.14159, "decimals": 2}, 1), ("3.145", {"value": 3.14159, "decimals": 2}, 1),
    ("3.1", {"value": 3.14159, "decimals": 2}, 0), ("3.15", {"value": 3.14159, "decimals": 2}, 0),
    ("2.71", {"value": 2.715, "decimals": 2}, 1), ("2.72", {"value": 2.715, "decimals": 2}, 1),
    ("-2.72", {"value": -2.715, "decimals": 2}, 1), ("1300", {"value": 1254, "decimals": -2}, 1),
    ("The answer is 6.03e23", {"value": "6.02e23", "rel_tol": 0.01}, 1),
    ("The answer is 6.1e23", {"value": "6.02e23", "rel_tol": 0.01}, 0),  # 0.08/6.02 = 0.0133
    ("0.01", {"value": 0, "abs_tol": 0.01}, 1), ("0.0100001", {"value": 0, "abs_tol": 0.01}, 0),
    *((text, {"value": 6.02e23, "rel_tol": 0.01}, 1) for text in (
        "The answer is $6.02 \\times 10^{23}$.", "The answer is 6.02 \u00d7 10\u00b2\u00b3", "#### 6.02 x 10^23",
        "\\boxed{6.02 \\cdot 10^{23}}", "The answer is 6.02*10^23.", "$6.02\\times10^{+23}$ mol")),
    *((text, {"value": 6.02e23, "rel_tol": 0.01}, 0) for text in (
        "The answer is $-6.02 \\times 10^{23}$.", "The answer is $6.02 \\times 10^{-23}$.",
        "$1/6.02 \\times 10^{23}$",
        "$2^6.02 \\times 10^{23}$", "$6.02 \\times 10^{23!}$", "$6.02 \\times 10^{23} + 1$",
        "$(6.02 \\times 10^{23})^2$",
        "$6.02 \\times 10^{23}$ or $6.5 \\times 10^{23}$", "The answer is $3 - 6.02 \\times 10^{23}$")),
    ("1e-300", {"value": 2e-300, "rel_tol": 0.4}, 0), ("1e120", "1e120", 1), ("0.3", 0.3, 1), ("1/3", "1/3", 1),
    ("0.33", "1/3", 0), ("0.30000000000000004", 0.3, 0), ("5 or 6", 5, 0), ("nan", {"value": 1, "abs_tol": 9}, 0),
    ("inf", {"value": 1, "abs_tol": 9}, 0), ("#### 72%", "0.72", 0), ("", 0, 0), ("1e99999", 1, 0),
    # a bound of a range is not the answer, though it lies within the tolerance
    ("99 to 101", {"value": 100, "rel_tol": 0.01}, 0), ("from 99 to 101", 101, 0), ("-(7)", 7, 0), ("7 or eight", 7, 0),
    ("0.5", {"value": 0, "abs_tol": "0.5"}, 1)])
def test_a_tolerance_is_exact(response: str, reference: object, score: float) -> None:
    assert verdict("numeric", response, reference).score == score


def test_a_tolerance_agrees_with_a_slow_twin() -> None:
    """Counted in integers here: |100 n - 12345| <= 37 for a value of 123.45, a tolerance of 0.37 and n hundredths."""
    for hundredths in range(12200, 12500):
        response = f"The answer is {hundredths // 100}.{hundredths % 100:02d}"
        found = verdict("numeric", response, {"value": 123.45, "abs_tol": 0.37}).score
        assert found == float(abs(hundredths - 12345) <= 37)
        assert Fraction(hundredths, 100) == Fraction(response.split()[-1])


@pytest.mark.parametrize("reference", [
    None, True, "none", float("nan"), float("inf"), [1], {}, {"value": None}, {"value": 1, "tol": 1},
    {"value": 1, "rel_tol": 1}, {"value": 1, "rel_tol": -0.1}, {"value": 1, "abs_tol": -1},
    {"value": 1, "abs_tol": "x"}, {"value": 1, "abs_tol": "10%"}, {"value": 1, "rel_tol": "1/3"}, {"value": 1,
    "decimals": 1.5}, {"value": 1, "decimals": True}, {"value": 1,
    "decimals": 10**9},
    {"value": 1, "decimals": 2, "abs_tol": 1}, "9" * 5000])
def test_a_bad_numeric_reference_is_our_error(reference: object) -> None:
    assert verdict("numeric", "1", reference).status is Status.ERROR


@pytest.mark.parametrize(("response", "reference", "score"), [
    ("abc", "[a-c]+", 1), ("abcd", "[a-c]+", 0), (" abc\n", "abc", 1),
    ("x abc", {"pattern": "abc", "mode": "search"}, 1), ("ABC", {"pattern": "abc", "flags": "i"}, 1), ("ABC",
    "abc", 0), ("abc\nx", "abc$", 0), ("<think>abc", "abc", 0),
    ("<think>x</think>abc", "abc", 1), ("", ".*", 0), ("\ud800\x00", "..", 1),
    ("\u200b", ".*", 0), ("\u2060\u00ad\u3164", ".*", 0), ("\x00", ".*", 0), ("a\u200b", ".*", 1)])
def test_a_pattern_is_held_to_the_whole_text(response: str, reference: object, score: float) -> None:
    assert verdict("regex", response, reference).score == score


@pytest.mark.parametrize("reference", ["(", "[", "", None, 5, {"pattern": "a", "flags": "q"},
                                       {"pattern": "a", "mode": "x"}, {"pattern": "a", "x": 1}, "(?<n>a",
                                       "a" * 10_001, "(" * 5000])
def test_a_bad_pattern_is_our_error(reference: object) -> None:
    assert verdict("regex", "a", reference).status is Status.ERROR


def test_a_pattern_without_end_is_cut_off_by_the_pool() -> None:
    example = Example(task="t", split="test", index=0, messages=(), reference="(a+)+$")
    with ScoringPool([RewardPart(name="form", verifier="regex", weight=1.0)], workers=1, timeout_s=0.3,
                     memory_mib=256) as pool:
        assert pool.submit("a" * 64 + "!", example).result(60)["form"].status is Status.TIMEOUT
        assert patient(pool).submit("aa", example).result(60)["form"].status is Status.CORRECT


@pytest.mark.parametrize("response", [
    "1 2 3\n4 5 6", "[[1,2,3],[4,5,6]]", "[[1 2 3]\n [4 5 6]]", "[1,2,3]\n[4,5,6]", "1,2,3\n4,5,6", "1 2 3; 4 5 6",
    "| 1 | 2 | 3 |\n|---|---|---|\n| 4 | 5 | 6 |", "\\begin{pmatrix}1&2&3\\\\4&5&6\\end{pmatrix}",
    "$\\boxed{\\begin{bmatrix} 1 & 2 & 3 \\\\ 4 & 5 & 6 \\end{bmatrix}}$", "<answer>1 2 3\n4 5 6</answer>",
    "The answer is:\n1 2 3\n4 5 6", "The answer is\n\n1 2 3\n4 5 6", "```\n1 2 3\n4 5 6\n```",
    "So the grid is [[1, 2, 3], [4, 5, 6]].", "```json\n[[1,2,3],[4,5,6]]\n```\nHope it helps.", "((1,2,3),(4,5,6))",
    "I think so.\n\n1 2 3\n4 5 6", "1.0 2 3\n4 5 12/2", "Here: [[1,2,3],[4,5,6]]", "123\n456", "\uff11 2 3\n4 5 6",
    "The answer is:\n1 2 3\n4 5 6\nI hope that this helps you.", "<think>[[9]]</think>[[1,2,3],[4,5,6]]"])
def test_a_grid_is_read_in_every_notation(response: str) -> None:
    assert verdict("sequence", response, GRID).score == 1
    assert verdict("sequence", response, "1 2 3\n4 5 6").score == 1


@pytest.mark.parametrize("response", [
    "", "1 2 3", "1 2 3 4 5 6", "1 2 3\n4 5", "1 2 3\n4 5 7", "[[1,2],[3,4],[5,6]]", "1 4\n2 5\n3 6",
    "[[[1,2,3],[4,5,6]]]", "<answer>1 2 3\n4 5 7</answer> 1 2 3\n4 5 6",
    "\\boxed{[[1,2,3],[4,5,7]]} \\boxed{[[1,2,3],[4,5,6]]}", "[" * 1000,
    "[[1,2,3],[4,5,6]", "1 2 3\n4 5 6\n7 8 9", "1 2 3\n4 5 6\n4 5 6", "\x00\ud800", "[]", "[[]]", "<think>1 2 3\n4 5 6",
    "The answer is:\n1 2 3\n4 5 6\n\nThe answer is:\n1 2 3\n4 5 7"])
def test_another_grid_is_wrong(response: str) -> None:
    assert verdict("sequence", response, GRID).score == 0
    assert verdict("sequence", response, GRID).status is not Status.ERROR


@pytest.mark.parametrize("response", [
    "3, 1, 2", "[3,1,2]", "3 1 2", "3\n1\n2", "1. 3\n2. 1\n3. 2", "- 3\n- 1\n- 2", "3 -> 1 -> 2", "3, 1, and 2",
    "3, 1 and 2", "[3; 1; 2]",
    "- [3, 1, 2]", "x = [3, 1, 2]", "We get [3, 1, 2]", "<answer>1</answer> no, rather <answer>3 1 2</answer>",
    "The answer is 3, 1, 2.", "\\boxed{3, 1, 2}", "#### 3 1 2", "<answer>[3, 1, 2]</answer>", "\\{3,1,2\\}",
    "[[3,1,2]]", '{"answer": [3,1,2]}',
    '```json\n{"answer": [3, 1, 2]}\n```', 'So:\n```\n{"result": [3,1,2], "n": 3}\n```',
    "The sorted list is [3, 1, 2]"])
def test_a_sequence_is_read_in_every_notation_and_order_counts(response: str) -> None:
    assert verdict("sequence", response, [3, 1, 2]).score == 1
    assert verdict("sequence", response, [1, 2, 3]).score == 0


@pytest.mark.parametrize("response", [
    "<answer>1 2 3</answer> <answer>3 1 2</answer>", "<answer>3 1 2</answer> or <answer>1 2 3</answer>", "-[3,1,2]",
    "2*[3,1,2]", "reverse [3,1,2]", "sorted([3,1,2])", "the opposite of [3,1,2]", "x = -[3,1,2]", "not [3,1,2]",
    '{"answer": [3,1,2], "answer": [1,2,3]}', '{"answer": [3,1,2], "result": [1,2,3]}', '{"wrong": [3,1,2]}',
    "I doubt that the answer is [3,1,2]", "I doubt it is [3,1,2]", "[3,1,2][::-1]"])
def test_several_or_changed_or_denied_sequences_are_none(response: str) -> None:
    assert verdict("sequence", response, [3, 1, 2]).score == 0


@pytest.mark.parametrize("response", ["1.\n2.\n3.", "1)\n2)\n3)", "1.\n2.\n3"])
def test_an_empty_numbered_list_is_no_sequence(response: str) -> None:
    assert verdict("sequence", response, {"rows": [1, 2, 3], "partial": True}).score == 0


def test_rows_between_semicolons_stand_in_one_pair_of_brackets() -> None:
    for response in ("[1 0; 0 1]", "[1, 0; 0, 1]"):
        assert verdict("sequence", response, [[1, 0], [0, 1]]).score == 1


@pytest.mark.parametrize("response", [
    "cat, dog, New York", "['cat', 'dog', 'New York']", '["cat","dog","New York"]',
    "<answer>Cat, Dog, new york</answer>",
    "The answer is cat, dog, New York.", "1. cat\n2. dog\n3. New York", "**cat, dog, New York**"])
def test_words_of_a_sequence_are_compared_without_quotes_and_case(response: str) -> None:
    assert verdict("sequence", response, ["cat", "dog", "New York"]).score == 1


def test_cells_count_in_part_only_where_the_reference_asks() -> None:
    part = {"rows": GRID, "partial": True}
    assert verdict("sequence", "1 2 3\n4 5 7", part).score == 5 / 6
    assert verdict("sequence", "1 2 3\n4 5 7", {"rows": GRID}).score == 0
    assert verdict("sequence", "1 2 3", part).score == 0  # three cells are right, and the shape is not
    assert verdict("sequence", "7 8 9\n0 0 0", part).status is Status.WRONG
    assert verdict("sequence", "#.#\n.#.", [list("#.#"), list(".#.")]).score == 1


@pytest.mark.parametrize("reference", [[], None, [[1], 2], {"rows": [1], "x": 1}, [[]], [None], "", 5, {},
                                       {"rows": [1], "partial": 1}, [0] * 10_001])
def test_a_bad_sequence_reference_is_our_error(reference: object) -> None:
    assert verdict("sequence", "1", reference).status is Status.ERROR


@pytest.mark.parametrize(("response", "score"), [("<think>so</think> Paris", 1), ("<think>Paris", 0), ("Paris.", 0)])
def test_exact_looks_behind_the_reasoning(response: str, score: float) -> None:
    assert verdict("exact", response, "Paris").score == score


GOLD = {"choice": ("B", "B"), "numeric": ("The answer is 72", 72), "regex": ("abc", "[a-c]+"),
        "sequence": ("[1, 2]", [1, 2]), "exact": ("Paris", "Paris")}


@pytest.mark.timeout(100)
@pytest.mark.parametrize("name", GOLD)
def test_hostile_text_neither_raises_nor_hangs_nor_scores(name: str) -> None:
    right, reference = GOLD[name]
    assert verdict(name, right, reference, choices=CITIES).score == 1
    assert verdict(name, right, reference, choices=CITIES) == verdict(name, right, reference, choices=CITIES)
    for piece in ("[", "[]", "(1,", "1 ", "1,", "\n", "|", "&", "\\begin{matrix}", "```\n", "'", '"', "answer is ", "{",
                  "<answer>", "-> ", "1.\n", "\\\\", "Answer: A\n", "(C) ", "A or ", "Question: ", "\\boxed{", "\x00",
                  "\ud800", "\\text{", "actually ", " ", "9", "/", "e9", "</answer>", "option ", "`", "</think>",
    "not A, but ",
                  "<answer></answer>", "1 and ", "[1;", "- ", "doubt ", "if A otherwise "):
        found = verdict(name, piece * (100_000 // len(piece)), reference, choices=CITIES)
        assert found.score == 0, piece
        assert found.status is not Status.ERROR, piece
