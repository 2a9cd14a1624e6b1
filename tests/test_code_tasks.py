"""The tasks of code: rows and their mistakes, and that code_synth's tests tell right solutions from wrong ones."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from reasongym import registry
from reasongym.errors import ConfigError, DataError
from reasongym.tasks import Example, Task, TaskOptions
from reasongym.tasks.code_answers import fenced
from reasongym.tasks.code_synth import KINDS, MAX_LEVEL, CodeSynth
from reasongym.tasks.code_synth.inputs import draw_inputs
from reasongym.tasks.code_synth.problem import STEPS, Problem, run
from reasongym.verifiers import Status
from reasongym.verifiers.code import code

HUMANEVAL = {"task_id": "x/0", "prompt": 'def double(n):\n    """Twice n."""\n', "entry_point": "double",
             "canonical_solution": "    return 2 * n\n",
             "test": "def check(candidate):\n    assert candidate(2) == 4\n"}
MBPP = {"task_id": 11, "prompt": "Double a number.", "code": "def half(n): return n / 2\ndef double(n): return n + n",
        "test_imports": ["import math"], "test_list": ["assert double(2) == 4", "assert math.sqrt(double(8)) == 4"]}
STDIO = {"prompt": "Double a number.", "tests": [{"input": "2", "output": "4"}],
         "shown": [{"input": "1\n", "output": "2\n"}], "solution": "print(2 * int(input()))"}
ROWS: dict[str, dict[str, Any]] = {"humaneval": HUMANEVAL, "mbpp": MBPP, "stdio_problems": STDIO}


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REASONGYM_DATA", raising=False)


def made(name: str, folder: Path, *rows: dict[str, Any], file: str = "test.jsonl") -> Task:
    (folder / file).write_text("".join(json.dumps(row) + "\n" for row in rows or [ROWS[name]]))
    return registry.task(name, TaskOptions(data=str(folder / file)))


def synth(**settings: object) -> CodeSynth:
    return CodeSynth(TaskOptions(settings=settings))


def passes(example: Example, response: str) -> bool:
    verdict = code(response, json.loads(json.dumps(example.reference)), example=example.fields)
    assert verdict.status is not Status.ERROR, verdict.reason
    return verdict.status is Status.CORRECT


@pytest.mark.parametrize("name", ROWS)
def test_the_solution_of_a_row_passes_and_nothing_does_not(name: str, tmp_path: Path) -> None:
    row = made(name, tmp_path).example("test", 0)
    assert row.solution is not None
    assert passes(row, row.solution)
    assert not passes(row, "")
    assert not passes(row, fenced("def double(n): pass"))
    assert row.messages[0]["content"].endswith("in one fenced block:\n```python\n...\n```")


@pytest.mark.parametrize(("name", "change", "says"), [
    ("humaneval", {"test": ""}, "not a HumanEval row"), ("humaneval", {"test": "pass"}, "no tests"),
    ("humaneval", {"entry_point": "triple"}, "function's head"), ("mbpp", {"test_list": []}, "not an MBPP row"),
    ("mbpp", {"code": "def f(): pass"}, "tests no function"), ("mbpp", {"code": "def f("}, "tests no function"),
    ("mbpp", {"test_list": ["assert double("]}, "tests no function"), ("mbpp", {"task_id": "11"}, "not an MBPP row"),
    ("stdio_problems", {"tests": []}, "no tests"), ("stdio_problems", {"test": []}, "Did you mean 'tests'"),
    ("stdio_problems", {"tests": [{"in": "1"}]}, "a test is"),
    ("stdio_problems", {"prompt": " "}, "not a stdio problem"),
    ("stdio_problems", {"float_tolerance": 7}, "float_tolerance"), ("stdio_problems", {"solution": 1}, "not a stdio"),
])
def test_a_malformed_row_is_named_with_file_and_line(name: str, change: dict[str, object], says: str,
                                                     tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"test\.jsonl:2 ") as raised:
        made(name, tmp_path, ROWS[name], {**ROWS[name], **change})
    assert says in str(raised.value)


def test_mbpp_is_divided_as_published_and_shows_what_is_asked_for(tmp_path: Path) -> None:
    rows = [{**MBPP, "task_id": number, "prompt": f"Problem {number}", "code": f"{MBPP['code']}\n# {number}"}
            for number in (2, 11, 510, 511, 974)]
    task = made("mbpp", tmp_path, *rows, file="sanitized.jsonl")
    assert [task.size(split) for split in ("train", "test")] == [3, 2]
    doubled = {**rows[0], "task_id": 600, "prompt": "Problem 11 in other words", "code": rows[1]["code"] + "\n"}
    task = made("mbpp", tmp_path, *rows, doubled, file="sanitized.jsonl")
    assert [task.size(split) for split in ("train", "test")] == [3, 2]
    assert "sqrt" not in task.example("test", 0).messages[0]["content"]
    options = TaskOptions(data=str(tmp_path / "sanitized.jsonl"), settings={"shown": 3})
    assert "sqrt" in registry.task("mbpp", options).example("test", 0).messages[0]["content"]


def test_stdio_problems_show_the_examples_that_are_shown(tmp_path: Path) -> None:
    content = made("stdio_problems", tmp_path).example("test", 0).messages[0]["content"]
    assert "For the input\n\n```text\n1\n```\n\nthe output is\n\n```text\n2\n```" in content


def test_a_fence_is_longer_than_those_in_the_code() -> None:
    assert fenced('"""\n```\n"""').startswith("````python\n")


# --- code_synth ---


def test_there_are_kinds_and_steps_of_every_level_and_shape() -> None:
    assert len(KINDS) >= 40
    assert {kind.level for kind in KINDS.values()} == {1, 2, 3}
    assert all(len(STEPS[shape]) >= 4 for shape in {kind.shape for kind in KINDS.values()})


@pytest.mark.parametrize("level", range(1, MAX_LEVEL + 1))
def test_splits_are_disjoint_and_rows_do_not_depend_on_each_other(level: int) -> None:
    task = synth(levels=level)
    drawn = {split: {task.example(split, index, seed=seed).solution for seed in (0, 1) for index in range(40)}
             for split in ("train", "test")}
    assert not drawn["train"] & drawn["test"]
    assert len(drawn["train"]) > 30
    assert synth(levels=level).example("train", 7, seed=1) == task.example("train", 7, seed=1)
    assert task.example("train", 7).fields["level"] == level


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_total_says_what_it_does_and_returns_json(kind: str) -> None:
    for seed in range(20):
        rng = Random(seed)
        steps = tuple(make(rng) for make in rng.sample(STEPS[KINDS[kind].shape], 3))
        problem = Problem(KINDS[kind], KINDS[kind].make(rng), steps)
        results = run(problem, draw_inputs(KINDS[kind].shape, rng, 10))
        assert json.loads(json.dumps(results)) == results
        assert problem.core.says.endswith(".")
        assert "return" in problem.core.says.lower()
        assert max(map(len, problem.source.splitlines())) < 120


def test_solutions_pass_and_wrong_ones_do_not() -> None:
    task = synth(levels=[1, MAX_LEVEL])
    rows = [task.example(split, index, seed=5) for split in ("train", "test") for index in range(20)]
    for row, other in zip(rows, [*rows[1:], rows[0]], strict=True):
        name = row.reference["entry_point"]  # type: ignore[index]
        head = str(row.fields["prompt"])
        constant = row.reference["hidden"][0]["expected"]  # type: ignore[index]
        assert passes(row, str(row.solution)), row.solution
        assert not passes(row, fenced(f"{head}    pass\n"))
        assert not passes(row, fenced(f"def {name}(*args): return {constant!r}"))
        borrowed = f"{str(other.solution).removesuffix('```')}\n{name} = {other.reference['entry_point']}\n```"  # type: ignore[index]
        assert not passes(row, borrowed) or other.solution == row.solution


def test_hidden_tests_fail_a_solution_that_leaves_out_the_first_step() -> None:
    task, num_tried = synth(levels=[2, 3]), 0
    for index in range(60):
        row = task.example("train", index)
        reference: Any = row.reference
        head, first, *rest = str(row.solution).removeprefix("```python\n").removesuffix("\n```").split("\n")
        if first.split(" ")[4:6] and first.split(" ")[4] == head.partition("(")[2].partition(":")[0]:
            space: dict[str, Any] = {}
            exec("\n".join([head, *rest]), space)  # source of ours
            hurried = space[reference["entry_point"]]
            assert [hurried(*test["args"]) for test in reference["hidden"]] != \
                [test["expected"] for test in reference["hidden"]], row.solution
            num_tried += 1
    assert num_tried > 15


def test_the_prompt_shows_two_examples_and_no_hidden_test() -> None:
    row = synth().example("train", 3)
    reference: Any = row.reference
    assert row.messages[0]["content"].count(">>>") == len(reference["shown"]) == 2
    assert len(reference["hidden"]) >= 10
    assert not [test for test in reference["hidden"] if test in reference["shown"]]


@pytest.mark.parametrize("settings", [{"levels": 6}, {"level": 1}, {"levels": [3, 1]}])
def test_settings_it_does_not_have_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        synth(**settings)


def test_it_reads_no_data_and_has_no_other_split() -> None:
    with pytest.raises(ConfigError, match="no data"):
        CodeSynth(TaskOptions(data="rows.jsonl"))
    with pytest.raises(DataError, match="no such row"):
        synth().example("validation", 0)
