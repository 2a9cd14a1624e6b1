"""Labels: two results of one model under other settings never look alike, and two alike never look different."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from leaderboard_samples import made_up, record

from reasongym.evaluation.record import Result
from reasongym.leaderboard import Boards, Store, Submission, read_boards
from reasongym.leaderboard.reading import submission

ROWS = [True, False] * 20


def changed(task: str = "gsm8k", **sections: dict[str, Any]) -> Submission:
    """A result of `model` with some fields of its record changed."""
    whole = record("model", ROWS, task=task).model_dump(mode="json")
    for name, fields in sections.items():
        whole[name] |= fields
    return submission(Result.parse(whole, "changed"), made_up("model", right=ROWS).samples)


def boards_of(folder: Path, *made: Submission) -> Boards:
    with Store(str(folder / "s.db"), create=True) as store:
        for one in made:
            store.add(one)
        return read_boards(store)


def labels(folder: Path, *made: Submission) -> list[str]:
    """In the order of entry."""
    lines = [line.result for board in boards_of(folder, *made).boards for line in board.lines]
    return [result.entry.label for result in sorted(lines, key=lambda result: result.id)]


def endpoint(api: str = "chat", **sent: object) -> dict[str, dict[str, Any]]:
    return {"engine": {"kind": "endpoint", "api": api},
            "decoding": {"sent": {"max_tokens": 256, "temperature": 0.0, **sent}}}


@pytest.mark.parametrize(("one", "other", "told"), [
    (endpoint(), endpoint("completions"), ["chat", "completions"]),
    (endpoint(), endpoint(top_p=0.9), ["", "top_p=0.9"]),
    (endpoint(top_p=0.9), endpoint(top_p=0.95), ["top_p=0.9", "top_p=0.95"]),
    ({}, endpoint(), ["vllm", "endpoint"]),
    ({"model": {"dtype": "float32"}}, {"model": {"dtype": "bfloat16"}}, ["float32", "bfloat16"]),
    ({"prompting": {"shots": 4}}, {}, None),
])
def test_a_label_tells_what_two_results_of_a_model_differ_in(tmp_path: Path, one: dict[str, Any],
                                                             other: dict[str, Any], told: list[str] | None) -> None:
    found = labels(tmp_path, changed(**one), changed(**other))
    if told is None:
        assert found == ["greedy, 4-shot, 256 tokens", "greedy, 256 tokens"]
    else:
        assert found == [", ".join(filter(None, ["greedy, 256 tokens", text])) for text in told]


@pytest.mark.parametrize("told", ["system", "template"])
def test_two_system_prompts_and_two_templates_are_told_apart(tmp_path: Path, told: str) -> None:
    found = labels(tmp_path, *(changed(prompting={told: text}) for text in ("one", "two")))
    assert len(set(found)) == 2
    assert all(told in label for label in found)


def test_what_is_alike_is_not_told(tmp_path: Path) -> None:
    boards = boards_of(tmp_path, changed(**endpoint(top_p=0.9)), changed(**endpoint(top_p=0.9), environment={"x": 1}))
    lines = boards.boards[0].lines
    assert [line.result.entry.label for line in lines] == ["greedy, 256 tokens"] * 2
    assert lines[0].marks == ("one of 2 results of this model and these settings",)


def test_results_under_other_settings_are_no_tries_of_one(tmp_path: Path) -> None:
    boards = boards_of(tmp_path, changed(**endpoint()), changed(**endpoint("completions")))
    assert [line.marks for line in boards.boards[0].lines] == [(), ()]
    assert len(boards.overall) == 2


def test_a_field_of_a_body_stands_above_the_options(tmp_path: Path) -> None:
    """--body temperature=0.7 under a default of 0 would be called greedy."""
    assert labels(tmp_path, changed(**endpoint(temperature=0.7, max_tokens=9))) == ["T=0.7, 9 tokens"]
    servers_own = {"engine": {"kind": "endpoint", "api": "chat"}, "decoding": {"sent": {"max_tokens": 256}}}
    assert labels(tmp_path / "b", changed(**servers_own)) == ["the endpoint's temperature, 256 tokens"]


def test_a_long_field_of_a_body_is_told_apart_by_its_digest(tmp_path: Path) -> None:
    bodies = ({"stop": ["x" * 500, end]} for end in "ab")
    found = labels(tmp_path, *(changed(**endpoint(**body)) for body in bodies))
    assert len(set(found)) == 2
    assert all(len(label) < 90 for label in found)


def test_one_model_on_two_tasks_is_one_row_where_its_settings_are_alike(tmp_path: Path) -> None:
    boards = boards_of(tmp_path, changed(**endpoint()), changed("svamp", **endpoint()),
                       changed(**endpoint("completions")))
    assert {(one.label, one.macro is None) for one in boards.overall} == {
        ("greedy, 256 tokens, chat", False), ("greedy, 256 tokens, completions", True)}
