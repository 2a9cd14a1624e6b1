"""The tasks arithmetic and gsm8k, what tasks share, and the command that lists them."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from click.testing import CliRunner

from reasongym.cli.tasks import command
from reasongym.errors import ConfigError, DataError
from reasongym.tasks import Task, TaskOptions, row_random
from reasongym.tasks import gsm8k as gsm8k_module
from reasongym.tasks.arithmetic import LEVELS, Arithmetic
from reasongym.tasks.base import content_split
from reasongym.tasks.gsm8k import gsm8k
from reasongym.verifiers import as_verdict

OFFICIAL = Path(__file__).parent.parent / "../shared/data/gsm8k"


def arithmetic(**settings: object) -> Arithmetic:
    return Arithmetic(TaskOptions(settings=settings))


def problem(task: Task, split: str, index: int, seed: int = 0) -> str:
    return task.example(split, index, seed=seed).messages[0]["content"].removeprefix("What is ").partition("?")[0]


def write_rows(file: Path, *numbers: int) -> Path:
    rows = [{"question": f"How much is {n}?", "answer": f"It is <<{n}={n}>>{n}.\n#### {n}"} for n in numbers]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REASONGYM_DATA", raising=False)


@pytest.fixture
def no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """`datasets` is installed, and the hub cannot be reached."""
    monkeypatch.setitem(sys.modules, "datasets", ModuleType("datasets"))
    fake = ModuleType("huggingface_hub")
    fake.constants = SimpleNamespace(HF_HUB_OFFLINE=False, ENDPOINT="http://127.0.0.1:9")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "huggingface_hub", fake)


def test_seeds_and_indices_do_not_collide() -> None:
    """`seed + index` would make seed 1 index 0 the row of seed 0 index 1."""
    drawn = {row_random("t", split, seed, index).random()
             for split in "ab" for seed in range(30) for index in range(30)}
    assert len(drawn) == 2 * 30 * 30


def test_about_one_problem_in_eight_is_for_test() -> None:
    # 8,000 draws at 1/8: mean 1,000, standard deviation sqrt(8000 * 7/64) = 29.6; six of them either way.
    share = sum(content_split("t", str(n)) == "test" for n in range(8000))
    assert abs(share - 1000) < 180


def test_the_default_is_sums_of_1_to_20() -> None:
    task = arithmetic()
    for index in range(400):
        a, plus, b = problem(task, "train", index).split(" ")
        assert plus == "+"
        assert 1 <= int(a) <= 20
        assert 1 <= int(b) <= 20
        assert task.example("train", index).reference == str(int(a) + int(b))


def test_a_generator_of_other_sums_is_another_data_set() -> None:
    prints = [arithmetic(**settings).provenance()["fingerprint"]
              for settings in ({}, {"levels": 3}, {"levels": [2, 3]}, {"range": [1, 9]}, {"operations": "*"})]
    assert len(set(prints)) == 5
    assert arithmetic(levels=2).provenance() == arithmetic().provenance()  # the default


@pytest.mark.parametrize("settings", [{}, {"levels": 1}, {"levels": [1, 5]}, {"operations": ["*"], "range": [-9, 9]}])
def test_no_problem_is_in_both_splits_nor_its_mirror(settings: dict[str, object]) -> None:
    task = arithmetic(**settings)
    seen: dict[str, set[str]] = {}
    for split in ("train", "test"):
        drawn = {problem(task, split, index, seed) for seed in (0, 1, 2) for index in range(400)}
        seen[split] = drawn | {" ".join(reversed(p.split(" "))) for p in drawn if p.split(" ")[1] in "+*"}
    assert seen["train"]
    assert seen["test"]
    assert not seen["train"] & seen["test"]


def test_each_level_has_its_operations_and_exact_results() -> None:
    for number, level in LEVELS.items():
        task, used = arithmetic(levels=number), set()
        for index in range(300):
            a, operation, b = problem(task, "train", index).split(" ")
            c = int(str(task.example("train", index).reference))
            x, y = int(a), int(b)
            assert {"+": x + y == c, "-": x - y == c, "*": x * y == c, "/": y * c == x}[operation]
            used.add(operation)
        assert used == set(level.operations)


def test_a_tiny_space_ends_with_an_error_instead_of_a_loop() -> None:
    """One problem, 1 + 1, can be in one split only."""
    task = arithmetic(range=[1, 1])
    full = content_split("arithmetic", "1+1")
    assert problem(task, full, 5) == "1 + 1"
    with pytest.raises(DataError, match="widen the range"):
        task.example("train" if full == "test" else "test", 0)


def test_division_by_zero_is_never_asked() -> None:
    task = arithmetic(operations="/", range=[-1, 1])
    assert all(" / 0" not in problem(task, split, index) for split in ("train", "test") for index in range(200))
    with pytest.raises(ConfigError, match="divide"):
        arithmetic(operations="/", range=[0, 0])


@pytest.mark.parametrize(("settings", "says"), [
    ({"level": 2}, "Did you mean 'levels'"), ({"levels": 6}, "from 1 to 5"), ({"levels": [2, 1]}, "levels"),
    ({"range": [5, 1]}, "range"), ({"range": "1-20"}, "range"), ({"operations": ["%"]}, "operations"),
    ({"operations": []}, "operations"), ({"operations": 3}, "operations"), ({"operations": [["+"]]}, "operations")])
def test_a_wrong_setting_is_refused_by_name(settings: dict[str, object], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        arithmetic(**settings)


def test_a_folder_gives_both_splits(tmp_path: Path) -> None:
    write_rows(tmp_path / "train.jsonl", 1, 2, 3)
    write_rows(tmp_path / "test.jsonl", 4)
    task = gsm8k(TaskOptions(data=str(tmp_path)))
    assert (task.size("train"), task.size("test"), task.splits) == (3, 1, ("train", "test"))
    example = task.example("train", 2)
    assert example.reference == "3"
    assert example.solution == "It is 3.\n#### 3"  # the annotation <<3=3>> is gone
    assert example.messages[0]["content"].startswith("How much is 3?\n\n")
    assert "####" in example.messages[0]["content"]
    with pytest.raises(DataError, match="no row 1"):
        task.example("test", 1)
    with pytest.raises(DataError, match="no split 'dev'"):
        task.size("dev")


def test_parquet_shards_are_read_in_order(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    for shard in (0, 1):
        table = pyarrow.table({"question": [f"Q{shard}"], "answer": [f"#### {shard}"]})
        (tmp_path / "main").mkdir(exist_ok=True)
        pyarrow.parquet.write_table(table, tmp_path / "main" / f"train-0000{shard}-of-00002.parquet")
    task = gsm8k(TaskOptions(data=str(tmp_path)))
    assert task.splits == ("train",)
    assert [task.example("train", index).reference for index in (0, 1)] == ["0", "1"]


def test_a_single_file_is_the_split_of_its_name_or_is_split_by_content(tmp_path: Path) -> None:
    named = gsm8k(TaskOptions(data=str(write_rows(tmp_path / "main-test.jsonl", *range(20)))))
    assert (named.splits, named.size("test")) == (("test",), 20)
    mixed = gsm8k(TaskOptions(data=str(write_rows(tmp_path / "mine.jsonl", *range(200)))))
    train, test = ({mixed.example(s, i).reference for i in range(mixed.size(s) or 0)} for s in ("train", "test"))
    assert len(train) + len(test) == 200
    assert test
    assert not train & test


@pytest.mark.parametrize(("line", "says"), [
    ("{", "not JSON"), ("[1]", "not a GSM8K row"), ('{"question": "Q"}', "not a GSM8K row"),
    ('{"question": "Q", "answer": 5}', "not a GSM8K row"),
    ('{"question": "Q", "answer": "It is 5."}', "no gold number"),
    ('{"question": "Q", "answer": "#### five or 6 or 7"}', "no gold number"), ("[" * 100_000, "not JSON")])
def test_a_malformed_row_is_named_by_file_and_line(tmp_path: Path, line: str, says: str) -> None:
    file = write_rows(tmp_path / "train.jsonl", 1)
    file.write_text(file.read_text() + "\n" + line + "\n")
    with pytest.raises(DataError, match=rf"train\.jsonl:3.*{says}"):
        gsm8k(TaskOptions(data=str(tmp_path)))


def test_a_file_that_cannot_be_read_is_an_error_of_data(tmp_path: Path) -> None:
    (tmp_path / "train.parquet").write_bytes(b"not parquet")
    (tmp_path / "latin.jsonl").write_bytes(b"\xff\xfe")
    (tmp_path / "empty.jsonl").write_text("\n")
    (tmp_path / "rows.csv").write_text("a,b")
    (tmp_path / "none").mkdir()
    for name, says in {"train.parquet": "not a Parquet file", "latin.jsonl": "not UTF-8", "empty.jsonl": "no rows",
                       "rows.csv": "kind that is not read", "none": "no GSM8K rows", "absent.jsonl": "no file"}.items():
        with pytest.raises(DataError, match=says):
            gsm8k(TaskOptions(data=str(tmp_path / name)))


def test_the_environment_names_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_rows(tmp_path / "gsm8k" / "train.jsonl", 1)
    monkeypatch.setenv("REASONGYM_DATA", str(tmp_path))
    assert gsm8k(TaskOptions()).provenance()["source"] == str(tmp_path / "gsm8k")
    monkeypatch.setenv("REASONGYM_DATA", str(tmp_path / "gsm8k"))
    assert gsm8k(TaskOptions()).provenance()["rows"] == "train 1"


@pytest.mark.usefixtures("no_hub")
def test_without_rows_evaluation_fails_and_training_says_what_it_uses() -> None:
    with pytest.raises(DataError, match=r"cannot be reached[\s\S]*--data FOLDER"):
        gsm8k(TaskOptions())
    task = gsm8k(TaskOptions(training=True))
    assert task.name == "word_problems"
    assert task.provenance()["substitute_for"] == "gsm8k"


def test_a_malformed_row_is_not_covered_up_by_the_substitute(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text("{\n")
    with pytest.raises(DataError, match="not JSON"):
        gsm8k(TaskOptions(data=str(tmp_path), training=True))


@pytest.mark.usefixtures("no_hub")
def test_the_hubs_rows_are_taken_when_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"question": "Q", "answer": "#### 7"}]
    monkeypatch.setattr(gsm8k_module, "_reachable", lambda endpoint: True)
    monkeypatch.setattr(sys.modules["datasets"], "load_dataset", lambda *name: {"train": rows, "test": rows},
                        raising=False)
    assert gsm8k(TaskOptions()).example("test", 0).reference == "7"


def test_the_fingerprint_follows_the_rows(tmp_path: Path) -> None:
    prints = []
    for name, numbers in (("a", (1, 2)), ("b", (1, 2)), ("c", (2, 1))):
        write_rows(tmp_path / name / "train.jsonl", *numbers)
        prints.append(gsm8k(TaskOptions(data=str(tmp_path / name))).provenance()["fingerprint"])
    assert prints[0] == prints[1] != prints[2]


def test_gsm8k_takes_no_settings(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no setting 'levels'"):
        gsm8k(TaskOptions(data=str(tmp_path), settings={"levels": 2}))


@pytest.mark.skipif(not OFFICIAL.is_dir(), reason="no public GSM8K in ../shared/data")
def test_the_official_rows_are_all_read() -> None:
    task = gsm8k(TaskOptions(data=str(OFFICIAL)))
    assert (task.size("train"), task.size("test")) == (7473, 1319)
    assert all("<<" not in (task.example("train", index).solution or "") for index in range(7473))


def test_listing_tasks_fetches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsm8k_module, "_reachable", lambda endpoint: pytest.fail("asked the hub"))
    result = CliRunner().invoke(command, [], env={"COLUMNS": "160"})
    assert result.exit_code == 0, result.output
    for text in ("arithmetic", "gsm8k", "word_problems", "openai/gsm8k", "endless", "format 0.1"):
        assert text in result.output


def test_samples_show_prompt_reference_and_solution() -> None:
    arguments = ["word_problems", "--samples", "2", "--split", "test", "--set", "levels=[4,4]"]
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 0, result.output
    assert result.output.count("[reference]") == result.output.count("[solution]") == 2
    assert "--- word_problems/test/1" in result.output
    other = CliRunner().invoke(command, [*arguments, "--seed", "9"])
    assert other.output != result.output


@pytest.mark.parametrize("setting", ["levels", "=3", "levels=[1"])
def test_a_setting_that_is_not_key_value_is_refused(setting: str) -> None:
    result = CliRunner().invoke(command, ["word_problems", "--set", setting])
    assert isinstance(result.exception, ConfigError)
    assert setting in str(result.exception)


def test_shown_problems_come_before_the_question_and_are_right_in_the_form_that_is_asked_for() -> None:
    from reasongym import registry
    from reasongym.tasks.prompting import MAX_SHOTS

    task = registry.task("word_problems", TaskOptions(settings={"shots": MAX_SHOTS}))
    plain = registry.task("word_problems", TaskOptions()).example("train", 0)
    shown = task.example("train", 0)
    assert shown.messages[-1:] == plain.messages
    assert [turn["role"] for turn in shown.messages] == ["user", "assistant"] * MAX_SHOTS + ["user"]
    for turn in shown.messages[1::2]:
        gold = turn["content"].rsplit("####", 1)[1].strip()
        for name in ("gsm8k", "gsm8k_format"):
            assert as_verdict(registry.verifier(name)(turn["content"], gold, example={})).score == 1
        for left, operator, right, result in re.findall(r"(\d+) ([*/+-]) (\d+) = (\d+)", turn["content"]):
            a, b = int(left), int(right)
            assert {"*": a * b, "/": a / b, "+": a + b, "-": a - b}[operator] == int(result)


@pytest.mark.parametrize("shots", [-1, 5, True, "1", 1.5])
def test_a_number_of_shown_problems_that_there_is_not_is_refused(shots: object) -> None:
    from reasongym import registry

    with pytest.raises(ConfigError, match="shots"):
        registry.task("word_problems", TaskOptions(settings={"shots": shots}))


def test_a_setting_without_a_task_is_a_mistake_not_ignored() -> None:
    result = CliRunner().invoke(command, ["--set", "levels=3"])
    assert result.exit_code == 2
    assert "name it" in result.output
