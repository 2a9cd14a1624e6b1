"""The tasks over files: math500, math_files, svamp, multiple_choice."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from reasongym import registry
from reasongym.errors import ConfigError, DataError
from reasongym.tasks import Example, Task, TaskOptions
from reasongym.verifiers import Status, as_verdict

DATA = Path(__file__).parent.parent / "../shared/data"
NAMES = ("math500", "math_files", "svamp", "multiple_choice")
ROWS: Mapping[str, list[dict[str, object]]] = {
    "math": [{"problem": f"What is {n} + {n}?", "solution": f"It is $\\boxed{{{2 * n}}}$.", "answer": str(2 * n),
              "level": 1 + n % 5, "subject": ("Algebra", "Number Theory")[n % 2]} for n in range(40)],
    "svamp": [{"Body": f"Ann has {n} hats", "Question": "How many hats has she?", "Answer": float(n), "Type": "Sum"}
              for n in range(5)],
    "multiple_choice": [{"question": f"Which is {n}?", "choices": [f"item {n + i}" for i in range(4)], "answer": "A"}
                        for n in range(40)]}


def write(file: Path, rows: list[dict[str, object]]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def made(name: str, data: Path, **settings: object) -> Task:
    return registry.task(name, TaskOptions(data=str(data), settings=settings))


def score(task: Task, example: Example, response: str) -> float:
    verdict = as_verdict(registry.verifier(task.rewards[0].verifier)(response, example.reference,
                                                                    example=example.fields))
    assert verdict.status is not Status.ERROR, verdict
    return verdict.score


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REASONGYM_DATA", raising=False)


@pytest.fixture
def task(request: pytest.FixtureRequest, tmp_path: Path) -> Task:
    rows = ROWS["math" if request.param.startswith("math") else request.param]
    return made(request.param, write(tmp_path / "mine.jsonl", rows))


@pytest.mark.parametrize("task", NAMES, indirect=True)
def test_gold_scores_1_and_no_answer_the_floor(task: Task) -> None:
    for split in task.splits:
        for index in range(min(task.size(split) or 0, 8)):
            example = task.example(split, index)
            assert example == task.example(split, index, seed=7)
            assert score(task, example, example.solution or "") == 1
            for response in ("", " \n", "<think>", "I do not know", "\x00\ud800", "\\boxed{}", "Answer:", "####"):
                assert score(task, example, response) == 0, (example.id, response)


@pytest.mark.parametrize("task", NAMES, indirect=True)
def test_rows_are_found_under_their_index_alone(task: Task) -> None:
    split = task.splits[-1]
    size = task.size(split) or 0
    for index in (-1, size):
        with pytest.raises(DataError, match="no row"):
            task.example(split, index)
    with pytest.raises(DataError, match="no split 'dev'"):
        task.size("dev")


def test_one_file_is_divided_by_content_and_no_row_is_in_both(tmp_path: Path) -> None:
    for name, rows in (("math_files", ROWS["math"]), ("multiple_choice", ROWS["multiple_choice"])):
        forwards, backwards = (made(name, write(tmp_path / f"{name}{i}.jsonl", listed))
                               for i, listed in enumerate((rows, rows[::-1])))
        asked = {split: {forwards.example(split, i).messages[0]["content"] for i in range(forwards.size(split) or 0)}
                 for split in forwards.splits}
        assert len(asked["train"] | asked["test"]) == 40
        assert not asked["train"] & asked["test"]
        assert asked["test"] == {backwards.example("test", i).messages[0]["content"]
                                 for i in range(backwards.size("test") or 0)}


@pytest.mark.parametrize(("name", "kind"), [("math500", "math"), ("svamp", "svamp")])
def test_a_published_test_set_in_a_file_of_any_name_is_all_test(tmp_path: Path, name: str, kind: str) -> None:
    task = made(name, write(tmp_path / "rows.jsonl", ROWS[kind]))
    assert (task.splits, task.size("test")) == (("test",), len(ROWS[kind]))


def test_math500_has_no_train_split(tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl", ROWS["math"])
    with pytest.raises(DataError, match="math500 is a test set"):
        made("math500", tmp_path)
    write(tmp_path / "test.jsonl", ROWS["math"][:3])
    assert made("math500", tmp_path).splits == ("test",)
    assert made("math_files", tmp_path).splits == ("train", "test")


def test_levels_and_subjects_choose_rows(tmp_path: Path) -> None:
    file = write(tmp_path / "test.jsonl", [*ROWS["math"], {"problem": "P", "solution": "\\boxed{1}", "level": "Level ?",
                                                          "type": "Geometry"}])
    assert made("math500", file).size("test") == 41
    assert made("math500", file, levels=[4, 5]).size("test") == 16  # 40 rows over 5 levels: 8 each
    assert made("math500", file, levels=1, subjects="algebra").size("test") == 4  # n % 5 = 0 and n even: 0 10 20 30
    assert made("math500", file, subjects=["Algebra", "geometry"]).size("test") == 21
    with pytest.raises(ConfigError, match=r"Did you mean 'Algebra'\?"):
        made("math500", file, subjects="Algebar")
    with pytest.raises(DataError, match="passes the settings"):
        made("math500", file, subjects="geometry", levels=1)
    for bad in ({"levels": 6}, {"levels": "all"}, {"subjects": []}, {"subjects": 5}, {"subject": "Algebra"}):
        with pytest.raises(ConfigError):
            made("math500", file, **bad)


def test_rows_of_the_original_data_set_are_read(tmp_path: Path) -> None:
    """MATH itself has `type`, "Level 5" and no `answer`."""
    row: dict[str, object] = {"problem": "What is 2 + 2?", "level": "Level 5", "type": "Algebra",
                              "solution": "First $1+1=\\boxed{2}$? No: $\\boxed{4}$."}
    task = made("math_files", write(tmp_path / "train.jsonl", [row]), levels=5, subjects="Algebra")
    example = task.example("train", 0)
    assert score(task, example, "So \\boxed{4}") == 1
    assert score(task, example, "So \\boxed{2}") == 0
    (tmp_path / "list").mkdir()
    (tmp_path / "list" / "rows.json").write_text(json.dumps([row, row]))
    assert made("math500", tmp_path / "list" / "rows.json").size("test") == 2


@pytest.mark.parametrize(("name", "row", "says"), [
    ("math500", {"problem": "P"}, "no gold answer"), ("math500", {"problem": " ", "answer": "1"}, "not a MATH row"),
    ("math500", {"problem": "P", "answer": "1", "level": 7}, "a level that is none"),
    ("math500", {"problem": "P", "answer": "1", "level": True}, "a level that is none"),
    ("math500", {"problem": "P", "solution": 5, "answer": "1"}, "not a MATH row"), ("math500", 5, "not a MATH row"),
    ("svamp", {"Body": "B", "Question": "Q"}, "no gold number"),
    ("svamp", {"Question": "Q", "Answer": 1}, "not a SVAMP row"),
    ("svamp", {"Body": "B", "Question": "Q", "Answer": "many"}, "no gold number"),
    ("multiple_choice", {"question": "Q", "choices": ["x"], "answer": "A"}, "2 to 26 options"),
    ("multiple_choice", {"question": "Q", "choices": ["x", "y"], "answer": "C"}, "none of its options"),
    ("multiple_choice", {"question": "Q", "choices": ["x", "y"], "answer": 2}, "none of its options"),
    ("multiple_choice", {"question": "Q", "choices": ["x", "y"]}, "none of its options"),
    ("multiple_choice", {"question": "Q", "choices": ["B", "A"], "answer": "A"}, "several options"),
    ("multiple_choice", {"question": "Q", "choices": ["1", "3", "5"], "answer": 1}, "several options"),
    ("multiple_choice", {"question": "Q", "choices": ["x", ""], "answer": "A"}, "2 to 26 options")])
def test_a_malformed_row_is_named_by_its_line(tmp_path: Path, name: str, row: object, says: str) -> None:
    file = tmp_path / "test.jsonl"
    file.write_text(json.dumps(row) + "\n")
    with pytest.raises(DataError, match=rf"test\.jsonl:1[\s\S]*{says}"):
        made(name, file)


@pytest.mark.parametrize("row", [
    {"question": "Q", "choices": ["w", "x"], "answer": "B"}, {"question": "Q", "choices": ["w", "x"], "answer": 1},
    {"question": "Q", "choices": ["w", "x"], "answer": "x"}, {"question": "Q", "options": ["w", "x"], "answer": "b"},
    {"question": "Q", "choices": {"text": ["w", "x"], "label": ["1", "2"]}, "answerKey": "2"},
    {"question": {"stem": "Q", "choices": [{"text": "w", "label": "A"}, {"text": "x", "label": "B"}]},
     "answerKey": "B"},
    {"question_stem": "Q", "choices": {"text": ["w", "x"], "label": ["A", "B"]}, "answerKey": "B"},
    {"question": "Q", "A": "w", "B": "x", "answer": "B"}, {"question": "Q", "endings": ["w", "x"], "label": 1}])
def test_field_names_of_known_data_sets_are_read(tmp_path: Path, row: dict[str, object]) -> None:
    example = made("multiple_choice", write(tmp_path / "test.jsonl", [row])).example("test", 0)
    assert example.reference == "B"
    assert example.messages[0]["content"].startswith("Q\n\nA. w\nB. x\n")


def test_shuffled_options_keep_their_answer_and_do_not_depend_on_the_rows_around(tmp_path: Path) -> None:
    rows = ROWS["multiple_choice"]
    task = made("multiple_choice", write(tmp_path / "a" / "test.jsonl", rows), shuffle=True)
    other = made("multiple_choice", write(tmp_path / "b" / "test.jsonl", rows[7:]), shuffle=True)
    letters = []
    for index, row in enumerate(rows):
        example = task.example("test", index)
        choices, letter = example.fields["choices"], str(example.reference)
        assert isinstance(choices, list)
        assert isinstance(row["choices"], list)
        assert sorted(choices) == sorted(row["choices"])
        assert choices["ABCD".index(letter)] == row["choices"][0]
        assert index < 7 or other.example("test", index - 7).messages == example.messages
        letters.append(letter)
    assert set(letters) == set("ABCD")
    with pytest.raises(ConfigError, match="shuffle"):
        made("multiple_choice", tmp_path / "a", shuffle="yes")


@pytest.mark.parametrize("last", ["All of the above", "none of the above.", "Both A and B", "A and C", "A, B",
                                  "Neither (A) nor (B)", "All of these", "Any of the others"])
def test_options_that_refer_to_others_are_not_shuffled(tmp_path: Path, last: str) -> None:
    rows = [{"question": f"Q{n}", "choices": ["w", "x", "y", last], "answer": "D"} for n in range(12)]
    task = made("multiple_choice", write(tmp_path / "test.jsonl", rows), shuffle=True)
    assert {task.example("test", index).reference for index in range(12)} == {"D"}


def test_the_environment_names_a_folder_of_data_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REASONGYM_DATA", str(tmp_path))
    write(tmp_path / "svamp" / "svamp.jsonl", ROWS["svamp"])
    write(tmp_path / "math500" / "test.jsonl", ROWS["math"])
    write(tmp_path / "test.jsonl", [{"question": "Q", "answer": "#### 1"}])  # gsm8k's: no other task takes them
    assert registry.task("svamp").provenance()["rows"] == "test 5"
    assert registry.task("math500").provenance()["source"] == str(tmp_path / "math500")
    with pytest.raises(DataError, match="are yours to give"):
        registry.task("math_files")


def test_the_hub_is_asked_last_and_its_absence_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake, hub = ModuleType("datasets"), ModuleType("huggingface_hub")
    hub.constants = SimpleNamespace(HF_HUB_OFFLINE=False, ENDPOINT="http://127.0.0.1:9")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", fake)
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    for name in ("math500", "svamp"):
        with pytest.raises(DataError, match=rf"rows of {name} were not found[\s\S]*cannot be reached"):
            registry.task(name, TaskOptions(training=True))
    hub.constants.HF_HUB_OFFLINE = True
    fake.load_dataset = lambda *names: {"test": ROWS["math"], "validation": []}  # type: ignore[attr-defined]
    assert registry.task("math500").provenance()["rows"] == "test 40"
    with pytest.raises(DataError, match="no file or folder"):
        made("svamp", tmp_path / "absent")


def test_the_fingerprint_follows_rows_and_order(tmp_path: Path) -> None:
    prints = [made("math500", write(tmp_path / f"{i}.jsonl", rows)).provenance()["fingerprint"]
              for i, rows in enumerate((ROWS["math"], ROWS["math"], ROWS["math"][::-1], ROWS["math"][1:]))]
    assert prints[0] == prints[1]
    assert len(set(prints)) == 3


@pytest.mark.skipif(not (DATA / "math500").is_dir(), reason="no public MATH-500 in ../shared/data")
def test_all_of_math500_is_read_and_its_answers_are_right() -> None:
    task = made("math500", DATA / "math500" / "test.jsonl")
    assert task.size("test") == 500
    wrong = [example.id for example in (task.example("test", index) for index in range(500))
             if score(task, example, f"So the answer is $\\boxed{{{example.reference}}}$.") != 1]
    assert not wrong
    assert sum(made("math500", DATA / "math500", levels=n).size("test") or 0 for n in range(1, 6)) == 500


@pytest.mark.skipif(not (DATA / "svamp").is_dir(), reason="no public SVAMP in ../shared/data")
def test_all_of_svamp_is_read_and_its_answers_are_right() -> None:
    task = made("svamp", DATA / "svamp")
    assert task.size("test") == 1000
    wrong = [example.id for example in (task.example("test", index) for index in range(1000))
             if score(task, example, example.solution or "") != 1]
    assert not wrong


def test_the_only_row_file_of_a_folder_is_read_whatever_its_name_and_of_two_neither(tmp_path: Path) -> None:
    write(tmp_path / "Published-As-v2.jsonl", ROWS["svamp"])
    (tmp_path / "SOURCE.txt").write_text("where it comes from")
    only = made("svamp", tmp_path)
    assert sum(only.size(split) or 0 for split in only.splits) == len(ROWS["svamp"])
    write(tmp_path / "another.jsonl", ROWS["svamp"])
    with pytest.raises(DataError, match="holds no SVAMP rows"):
        made("svamp", tmp_path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "svamp.jsonl").symlink_to("/proc/self/mem")  # a file whose first byte cannot be read, by root neither
    with pytest.raises(DataError, match=r"svamp\.jsonl cannot be read"):
        made("svamp", tmp_path)
