"""The tasks json_extraction and json_schema: rows that follow from their text, and files of a user's own."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from reasongym.errors import ConfigError, DataError
from reasongym.tasks import Example, TaskOptions, row_random
from reasongym.tasks.base import content_split
from reasongym.tasks.json_extraction import KINDS, MAX_LEVEL, JsonExtraction
from reasongym.tasks.json_extraction.draft import Draft
from reasongym.tasks.json_extraction.words import MONTHS
from reasongym.tasks.json_schema import json_schema as schema_task
from reasongym.verifiers import Status
from reasongym.verifiers.json_schema import json_schema

LEVELS = range(1, MAX_LEVEL + 1)
CHARS_OF_400_TOKENS = 1600


def rows(level: int, number: int, split: str = "train", seed: int = 0) -> list[Example]:
    task = JsonExtraction(TaskOptions(settings={"levels": level}))
    return [task.example(split, index, seed=seed) for index in range(number)]


def text_of(row: Example) -> str:
    return row.messages[0]["content"].partition("Text:\n")[2].partition("\n\nSchema:")[0]


def value_of(row: Example) -> dict[str, Any]:
    assert isinstance(row.reference, dict)
    value: dict[str, Any] = row.reference["value"]
    return value


def score(row: Example, response: str) -> float:
    return json_schema(response, row.reference, example=row.fields).score


@pytest.mark.parametrize("level", LEVELS)
def test_every_row_is_valid_by_its_own_schema_and_its_solution_scores_1(level: int) -> None:
    for split in ("train", "test"):
        for row in rows(level, 100, split, seed=level):
            assert row.solution is not None
            assert [score(row, row.solution) for _ in range(2)] == [1.0, 1.0]


@pytest.mark.parametrize("level", LEVELS)
def test_what_holds_nothing_of_the_answer_scores_the_floor(level: int) -> None:
    for row in rows(level, 20):
        schema = json.dumps(row.reference)
        assert [score(row, response) for response in ("", "no", "<think>", row.messages[0]["content"][:60])] == [0] * 4
        assert all(score(row, response) <= 0.1 for response in ("{}", "[]", "null", "{\"value\": 1}", schema))


def test_all_kinds_and_levels_come_up() -> None:
    assert len(KINDS) >= 12
    assert {row.fields["kind"] for row in rows(1, 200)} == set(KINDS)
    mixed = JsonExtraction(TaskOptions(settings={"levels": [1, MAX_LEVEL]}))
    assert {mixed.example("train", index).fields["level"] for index in range(100)} == set(LEVELS)


@pytest.mark.parametrize("level", [1, 2])
def test_the_prompts_of_the_first_levels_are_short(level: int) -> None:
    assert max(len(row.messages[0]["content"]) for row in rows(level, 300)) < CHARS_OF_400_TOKENS


def test_higher_levels_ask_for_more() -> None:
    sizes = [sum(len(json.dumps(value_of(row))) for row in rows(level, 60)) for level in LEVELS]
    assert sizes == sorted(sizes)
    assert all(not isinstance(item, dict | list) for level in (1, 2) for row in rows(level, 60)
               for item in value_of(row).values())
    assert any(isinstance(item, list) and isinstance(item[0], dict) for row in rows(4,
        5) for item in value_of(row).values())
    assert any(item is None for row in rows(5, 60) for item in value_of(row).values())


def test_no_document_is_in_both_splits_whatever_the_seed() -> None:
    seen = {split: {json.dumps(value_of(row)) for seed in range(4) for row in rows(1, 150, split, seed)}
            for split in ("train", "test")}
    assert not seen["train"] & seen["test"]
    assert len(seen["train"]) > 500


@pytest.mark.parametrize("split", ["train", "test"])
def test_the_document_decides_its_split(split: str) -> None:
    """Two seeds seldom draw one document, so that a split by anything else would go unseen above."""
    for row in rows(2, 60, split):
        key = str(row.fields["kind"]) + json.dumps(value_of(row), sort_keys=True)
        assert content_split("json_extraction", key) == split


def test_no_number_is_drawn_twice_in_one_document() -> None:
    draft = Draft(row_random("t", "train", 0, 0), 1)
    assert {draft.number(1, 6).value for _ in range(6)} == set(range(1, 7))
    assert draft.number(1, 6).value in range(1, 7)  # a range that is used up does not go on for ever


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict | list):
        return [leaf for item in (value.values() if isinstance(value, dict) else value) for leaf in leaves(item)]
    return [value]


def test_at_the_first_levels_every_value_stands_in_the_text_once() -> None:
    """So an aside never names what is asked for, and nothing has to be guessed."""
    for level in (1, 2):
        for row in rows(level, 200):
            for leaf in leaves(value_of(row)):
                if leaf not in (True, False):
                    assert len(re.findall(rf"(?<![\w-]){re.escape(str(leaf))}(?![\w-])", text_of(row))) == 1, row


def number(text: str, pattern: str) -> float:
    found = re.findall(pattern, text)
    assert len(found) == 1, (text, pattern)
    return float(found[0])


def iso_date(written: str) -> str:
    day = re.fullmatch(r"(\d+) (\w+) (\d{4})", written) or re.fullmatch(r"(?:)(\w+) (\d+), (\d{4})", written)
    assert day is not None
    first, second, year = day.groups()
    date, month = (first, second) if first.isdigit() else (second, first)
    return f"{year}-{MONTHS.index(month) + 1:02}-{int(date):02}"


def of_kind(kind: str, level: int) -> list[Example]:
    found = [row for row in rows(level, 250) if row.fields["kind"] == kind]
    assert found
    return found


def test_an_invoice_read_by_itself_gives_the_same_value() -> None:
    for row in of_kind("invoice", 4):
        text, value = text_of(row), value_of(row)
        lines = [{"item": item, "quantity": int(quantity), "price": round(float(price) * 100)} for item, quantity, price
                 in re.findall(r"^- ([a-z ]+), quantity (\d+), ([\d.]+) euros each$", text, re.MULTILINE)]
        assert value["lines"] == lines
        if "total" in value:
            assert value["total"] == round(number(text, r"Total to pay: ([\d.]+) euros") * 100)
        if "issued" in value:
            assert value["issued"] == iso_date(re.findall(r"Issued on (.+?)\.(?: |$)", text, re.MULTILINE)[0])
        if "number" in value:
            assert value["number"] == re.findall(r"Invoice number: ([\w-]+)\.", text)[0]


def test_race_results_read_by_themselves_give_the_same_value() -> None:
    for row in of_kind("race_results", 5):
        text, value = text_of(row), value_of(row)
        finishers = [{"name": name, "bib": int(bib), "time": 60 * int(minutes) + int(seconds)} for name, bib, minutes,
            seconds
                     in re.findall(r"^- ([\w ]+), bib (\d+), finished in (\d+) min (\d+) s$", text, re.MULTILINE)]
        assert value["finishers"] == finishers
        if value["place"]["course"] is not None:
            assert value["place"]["course"] == round(1000 * number(text, r"Length of the course: ([\d.]+) km"))
        stated = re.findall(r"Referee: ([\w ]+)\.", text)
        assert value["referee"] == (stated[0] if stated else None)


def test_a_sensor_log_read_by_itself_gives_the_same_value() -> None:
    for row in of_kind("sensor_log", 4):
        text, value = text_of(row), value_of(row)
        readings = []
        for hour, minute, half, reading, state in re.findall(
                r"^- at (\d+):(\d\d) (am|pm) the value was (\d+), state (\w+)$", text, re.MULTILINE):
            hours = int(hour) % 12 + (12 if half == "pm" else 0)
            readings.append({"value": int(reading), "time": f"{hours:02}:{minute}", "state": state})
        assert value["readings"] == readings
        if "interval" in value:
            (minutes, seconds), = re.findall(r"One reading every (\d+) min (\d+) s", text)
            assert value["interval"] == 60 * int(minutes) + int(seconds)


def test_a_row_does_not_depend_on_what_was_asked_before() -> None:
    first, second = (JsonExtraction(TaskOptions(settings={"levels": 5})) for _ in range(2))
    first.example("test", 7, seed=2)
    assert first.example("train", 3, seed=1) == second.example("train", 3, seed=1)
    assert first.example("train", 3, seed=1) != first.example("train", 3, seed=2)


@pytest.mark.parametrize(("options", "says"), [
    (TaskOptions(settings={"levels": 6}), "from 1 to 5"), (TaskOptions(settings={"level": 1}), "Did you mean 'levels'"),
    (TaskOptions(data="x.jsonl"), "json_schema")])
def test_a_wrong_option_is_refused_by_name(options: TaskOptions, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        JsonExtraction(options)


def test_rows_outside_of_a_split_are_refused() -> None:
    task = JsonExtraction(TaskOptions())
    assert (task.size("train"), task.size("test")) == (None, None)
    for split, index in (("dev", 0), ("train", -1)):
        with pytest.raises(DataError, match="no such row"):
            task.example(split, index)


def user_rows(number: int) -> list[dict[str, object]]:
    return [{"schema": {"type": "integer"}, "prompt": f"How much is {n} + 1?", "value": n + 1} for n in range(number)]


def write(file: Path, values: list[dict[str, object]]) -> TaskOptions:
    file.write_text("\n".join(json.dumps(value) for value in values) if file.suffix == ".jsonl" else json.dumps(values))
    return TaskOptions(data=str(file))


def test_a_users_rows_are_split_by_content_and_scored(tmp_path: Path) -> None:
    task = schema_task(write(tmp_path / "rows.jsonl", user_rows(80)))
    other = schema_task(write(tmp_path / "rows.json", user_rows(80)[::-1]))
    assert task.splits == ("train", "test")
    assert task.size("train") + task.size("test") == 80
    for split in task.splits:
        mine, theirs = ({t.example(split, i).messages[0]["content"] for i in range(t.size(split))} for t in (task,
            other))
        assert mine == theirs
        row = task.example(split, 0)
        assert row.solution is not None
        assert (score(row, row.solution), score(row, "-1")) == (1.0, 0.1)
    assert "Schema:\n{\"type\":\"integer\"}" in task.example("train", 0).messages[0]["content"]
    assert task.provenance()["fingerprint"] != other.provenance()["fingerprint"]
    with pytest.raises(DataError, match="no row 99"):
        task.example("train", 99)


def test_a_folder_of_schemas_asks_for_any_valid_document(tmp_path: Path) -> None:
    for n in range(3):
        (tmp_path / f"{n}.json").write_text(json.dumps({"type": "array", "minItems": n}))
    task = schema_task(TaskOptions(data=str(tmp_path)))
    assert sum(task.size(split) for split in task.splits) == 3
    row = task.example(task.splits[0], 0)
    assert row.solution is None
    assert json_schema("[1, 2, 3]", row.reference, example={}).status is Status.CORRECT


@pytest.mark.parametrize(("line", "says"), [
    ("{", "rows.jsonl:2 is not JSON"), ('{"schema": {}, "schema": {}}', "stands twice"), ("[1]", "has no schema"),
    ('{"prompt": "x"}', "has no schema"), ('{"schema": {"type": "text"}}', "at /type"),
    ('{"schema": {"$ref": "http://x.test/"}}', "nothing is fetched"), ('{"schema": {}, "valeu": 1}',
        "Did you mean 'value'"),
    ('{"schema": {}, "value": 1}', "no usable prompt"), ('{"schema": {}, "prompt": " "}', "no usable prompt"),
    ('{"schema": {"type": "integer"}, "prompt": "x", "value": "1"}', "gold value is not valid")])
def test_a_row_that_cannot_be_scored_is_named_by_its_line(tmp_path: Path, line: str, says: str) -> None:
    (tmp_path / "rows.jsonl").write_text('{"schema": {}}\n' + line)
    with pytest.raises(DataError, match=r"rows\.jsonl:2[\s\S]*remedy") as caught:
        schema_task(TaskOptions(data=str(tmp_path / "rows.jsonl")))
    assert says in str(caught.value)


def test_data_that_is_not_there_is_an_error_that_says_what_is_read(tmp_path: Path) -> None:
    (tmp_path / "object.json").write_text("{}")
    (tmp_path / "rows.csv").write_text("a")
    (tmp_path / "empty").mkdir()
    (tmp_path / "latin.jsonl").write_bytes(b"\xff")
    for name, says in {"object.json": "not a list", "rows.csv": "another kind", "empty": "no rows", "none": "no such",
                       "latin.jsonl": "latin.jsonl is not UTF-8"}.items():
        with pytest.raises(DataError, match=says):
            schema_task(TaskOptions(data=str(tmp_path / name)))
    with pytest.raises(DataError, match="--data FILE"):
        schema_task(TaskOptions())
