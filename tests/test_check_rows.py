"""`reasongym check` on rows: prompts that state or earn their answer, problems in two splits, schemas."""

from __future__ import annotations

import pytest

from reasongym.checking import Report
from reasongym.checking.overlap import check_splits
from reasongym.checking.prompts import check_stated
from reasongym.checking.schemas import check_schemas
from reasongym.tasks import Example


def row(reference: object, *, prompt: str = "Say it.", solution: str | None = None, **fields: object) -> Example:
    return Example(task="t", split="test", index=0, messages=({"role": "user", "content": prompt},),
                   reference=reference, solution=solution, fields=fields)


@pytest.mark.parametrize(("prompts", "references", "states"), [
    (["2 + {0}? (Answer: {0})", "3 + {0}? (Answer: {0})"], ["4", "5"], True),
    (["{0}: the answer is **{0}**", "the answer is \\boxed{{{0}}}"], ["4", "x^2"], True),
    (["#### {0}", "<answer>{0}</answer>"], ["4", "5"], True),
    (["2 + {0}?", "{0} apples and 3 more"], ["4", "5"], False),         # a number of the question
    (["Answer: 4 or 5. 2 + 2?", "Answer: 4 or 5. 2 + 3?"], ["4", "5"], False),    # the options
    (["Answer: {0}4", "Answer: {0} + 1", "Answer: {0}.5"], ["4", "5", "6"], False)])  # another value
def test_a_prompt_that_states_its_reference_is_told_from_one_that_holds_it(prompts: list[str], references: list[str],
                                                                           states: bool) -> None:
    report = Report(subject="t")
    check_stated([row(reference, prompt=prompt.format(reference)) for prompt, reference
                  in zip(prompts, references, strict=True)], "exact", report)
    assert bool(report.failures) == states


def test_a_prompt_that_earns_on_few_rows_is_named_in_a_note() -> None:
    rows = [row(str(n), prompt="Answer: 0" if n == 0 else f"{n}?") for n in range(20)]
    report = Report(subject="t")
    check_stated(rows, "exact", report)
    assert not report.failures
    assert "on 1 of 20 rows" in report.notes[0]


def test_splits_may_share_small_answers_and_what_many_prompts_of_a_split_share() -> None:
    long = "a passage that all rows of this task have in common, whatever is asked"
    one = [row("42", prompt=f"train {n}", solution="42", passage=long) for n in range(3)]
    two = [row("42", prompt=f"test {n}", solution=long) for n in range(2)]
    report = Report(subject="t")
    check_splits({"train": [*one, row("42", prompt="train 3", solution=long), row("42", prompt="4", solution=long)],
                  "test": two}, report)
    assert not report.failures
    check_splits({"train": [row("42", prompt="train 3", solution=long)], "test": two[:1]}, report)
    assert [failure.check for failure in report.failures] == ["splits"]


@pytest.mark.parametrize("reference", [
    {"schema": {"type": "integer"}, "value": "7"},          # a gold value of another type
    {"schema": {"type": "no such type"}},                   # no schema of its draft
    {"schema": {"$ref": "http://127.0.0.1:9/x"}, "value": 1},  # a reference outside: nothing is fetched
])
def test_a_schema_that_the_library_refuses_is_found_and_named(reference: dict[str, object]) -> None:
    row = Example(task="t", split="train", index=0, messages=({"role": "user", "content": "?"},), reference=reference)
    sound = Example(task="t", split="train", index=1, messages=row.messages,
                    reference={"schema": {"type": "integer"}, "value": 7})
    report = Report(subject="t")
    check_schemas([row, sound], report)
    assert [(failure.check, failure.row) for failure in report.failures] == [("schema", row.id)]
    assert report.looked_at["schema"] == 2
