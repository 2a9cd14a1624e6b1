"""Word problems: their arithmetic, their English, their splits."""

from __future__ import annotations

import random
import re

import pytest

from reasongym.errors import ConfigError, DataError
from reasongym.tasks import Example, TaskOptions
from reasongym.tasks.word_problems import MAX_LEVEL, TEMPLATES, WordProblems
from reasongym.tasks.word_problems.story import Story, count, plural
from reasongym.verifiers.gsm8k import gsm8k, gsm8k_format

EQUATION = re.compile(r"(?<![0-9])([0-9]+) ([+\-*/]) ([0-9]+) = ([0-9]+)(?![0-9])")


@pytest.fixture(scope="module")
def rows() -> list[Example]:
    task = WordProblems(TaskOptions(settings={"levels": [1, MAX_LEVEL]}))
    return [task.example("train", index, seed=11) for index in range(3000)]


def question(example: Example) -> str:
    return example.messages[0]["content"].partition("\n\n")[0]


def test_every_template_appears(rows: list[Example]) -> None:
    assert len(TEMPLATES) >= 40
    assert {row.fields["template"] for row in rows} == set(TEMPLATES)
    assert {row.fields["level"] for row in rows} == set(range(1, MAX_LEVEL + 1))


def test_each_worked_line_is_true_and_the_last_is_the_answer(rows: list[Example]) -> None:
    """Checked without the task's own arithmetic: c * b == a where a / b = c, and so on."""
    for row in rows:
        assert row.solution is not None
        *lines, final = row.solution.split("\n")
        assert len(lines) == row.fields["level"], row.id
        results = []
        for line in lines:
            (equation,) = EQUATION.findall(line)
            a, b, c = (int(equation[at]) for at in (0, 2, 3))
            assert {"+": a + b == c, "-": b + c == a, "*": a * b == c, "/": b * c == a}[equation[1]], line
            assert c > 0, line
            results.append(c)
        assert final == f"#### {results[-1]}" == f"#### {row.reference}"


def test_each_step_uses_what_is_told_or_worked_out(rows: list[Example]) -> None:
    """A number that is neither in the question, nor an earlier result, nor in a word could not be known."""
    in_words = {"half": "2", "twice": "2", "doubles": "2", "as many": "2", "same way back": "2", "rectangle": "2",
                "ride home": "2", "three": "3", "triples": "3", "four times": "4", "a quarter": "4"}
    for row in rows:
        text = question(row)
        known = set(re.findall(r"[0-9]+", text)) | {number for word, number in in_words.items() if word in text}
        for a, _, b, c in EQUATION.findall(row.solution or ""):
            assert {a, b} <= known, (text, row.solution)
            known.add(c)


def test_gold_scores_1_and_empty_0(rows: list[Example]) -> None:
    for row in rows[:500]:
        for check in (gsm8k, gsm8k_format):
            assert check(row.solution or "", row.reference, example=row.fields).score == 1
            assert check("", row.reference, example=row.fields).score == 0


def test_no_placeholder_is_left_and_sentences_are_whole(rows: list[Example]) -> None:
    for row in rows:
        text = question(row)
        assert not re.search(r"[{}<>]|None|  |\.\.|\[", text), text
        assert text.endswith("?"), text
        for sentence in re.split(r"(?<=[.?]) ", text):
            assert sentence[0].isupper() or sentence[0].isdigit(), text
            assert sentence[-1] in ".?", text


def test_one_is_singular_and_more_are_plural(rows: list[Example]) -> None:
    for row in rows:
        for text in (question(row), row.solution or ""):
            assert not re.search(r"(?<![0-9$€£.])1 (?:more |extra |easy |hard )?[a-z]+s\b(?! (?:1|=))", text), text
            many = r"\b(?:[2-9]|[1-9][0-9]+) "
            assert not re.search(many + r"(?:apple|egg|dollar|euro|pound|hour|day|page|person)\b", text), text
            assert not re.search(r"\b[Aa] (?:[aeio]|u(?!s))|\b[Aa]n [^aeiouAEIOUh]", text), text


def test_plurals() -> None:
    for one, many in {"box": "boxes", "batch": "batches", "cherry": "cherries", "day": "days", "person": "people",
                      "bunch of flowers": "bunches of flowers", "picture frame": "picture frames"}.items():
        assert plural(one) == many
    assert (count(1, "glass"), count(2, "glass"), count(0, "egg")) == ("1 glass", "2 glasses", "0 eggs")


def test_no_problem_is_in_both_splits() -> None:
    """Level 1 has the fewest problems, so an overlap would show there first."""
    for levels in ([1, 1], [1, 3]):
        task = WordProblems(TaskOptions(settings={"levels": levels}))
        train, test = ({re.sub(r"\b[A-Z][a-z]+\b", "", question(task.example(split, index, seed=seed)))
                        for seed in (0, 1, 7) for index in range(420)} for split in ("train", "test"))
        assert not train & test
        assert len(train | test) > 900


def test_rows_are_the_same_every_time_and_differ_by_seed() -> None:
    task, again = WordProblems(TaskOptions()), WordProblems(TaskOptions())
    assert [task.example("test", i) for i in range(50)] == [again.example("test", i) for i in range(50)]
    assert len({question(task.example("train", i, seed=seed)) for seed in (0, 1) for i in range(100)}) > 150


@pytest.mark.parametrize("levels", [1, 8, [2, 2], [3, 5]])
def test_levels_are_kept(levels: int | list[int]) -> None:
    task = WordProblems(TaskOptions(settings={"levels": levels}))
    low, high = levels if isinstance(levels, list) else (levels, levels)
    assert {task.example("train", i).fields["level"] for i in range(60)} == set(range(low, high + 1))


@pytest.mark.parametrize("levels", [0, 9, [3, 1], [1, 9], [1], "easy", True, 1.5, None, [1, 2, 3]])
def test_impossible_levels_are_refused(levels: object) -> None:
    with pytest.raises(ConfigError, match="'levels'"):
        WordProblems(TaskOptions(settings={"levels": levels}))


def test_mistakes_are_named() -> None:
    with pytest.raises(ConfigError, match=r"Did you mean 'levels'\?"):
        WordProblems(TaskOptions(settings={"level": 2}))
    with pytest.raises(ConfigError, match="makes its own rows"):
        WordProblems(TaskOptions(data="rows.jsonl"))
    with pytest.raises(DataError, match="dev"):
        WordProblems(TaskOptions()).example("dev", 0)
    with pytest.raises(DataError, match="-1"):
        WordProblems(TaskOptions()).example("train", -1)


def test_a_template_cannot_write_a_step_that_does_not_go_out_even() -> None:
    story = Story(random.Random(0))
    for a, operation, b in ((7, "/", 2), (3, "-", 3), (3, "-", 5)):
        with pytest.raises(ValueError, match="positive integers"):
            story.step("Ann has", a, operation, b, "apple")
