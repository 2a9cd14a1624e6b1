"""Contracts that every registered task and verifier keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from reasongym import registry
from reasongym.errors import UnknownNameError
from reasongym.tasks import Example, Task, TaskOptions
from reasongym.verifiers import Status, as_verdict

GENERATORS = ("arithmetic", "gsm8k", "word_problems")
"""Tasks whose answer is a number; the others' contracts stand in test_dataset_tasks.py and test_rg_tasks.py."""


@pytest.fixture
def gsm8k_rows(tmp_path: Path) -> Path:
    row = '{"question": "Ann has 60 hats and buys 12. How many?", "answer": "60+12 = <<60+12=72>>72\\n#### 72"}\n'
    for split in ("train", "test"):
        (tmp_path / f"{split}.jsonl").write_text(row)
    return tmp_path


def built_in(name: str, rows: Path) -> Task:
    return registry.task(name, TaskOptions(data=str(rows) if name == "gsm8k" else None))


def scores(task: Task, example: Example, response: str) -> dict[str, float]:
    verdicts = {}
    for part in task.rewards:
        verifier = registry.verifier(part.verifier)
        verdicts[part.name] = as_verdict(verifier(response, example.reference, example=example.fields))
    assert all(verdict.status is not Status.ERROR for verdict in verdicts.values())
    return {name: verdict.score for name, verdict in verdicts.items()}


def examples(task: Task) -> list[Example]:
    found = []
    for split in task.splits:
        size = task.size(split)
        found += [task.example(split, index, seed=3) for index in range(min(20, 20 if size is None else size))]
    return found


def hostile(number: int) -> list[str]:
    """Answers that hold the right number without stating it, or that state it beside others."""
    listed = ", ".join(str(n) for n in range(number - 100, number + 101))
    return [listed, f"#### {listed}", f"\\boxed{{{number + 1}}} \\boxed{{{number}}}",
            f"#### {number}\n#### {number + 1}", f"#### {number + 1}\n#### {number}", f"#### {number} or {number + 1}",
            f"The answer is {number}. No, the answer is {number + 1}.", f"#### {number}0", f"#### {number}.5",
            f"#### {number} + 1", f"#### {number + 1}", f"<think>{number}", f"{number}\n</think>\nI am done.",
            "#### reference", "#### nan", "#### inf", "__import__('os')", "#### " + "9" * 10_000,
            "\\boxed{\\text{correct}}"]


@pytest.mark.parametrize("name", GENERATORS)
def test_gold_scores_1_on_every_part(name: str, gsm8k_rows: Path) -> None:
    task = built_in(name, gsm8k_rows)
    for example in examples(task):
        assert example.solution is not None
        assert set(scores(task, example, example.solution).values()) == {1.0}, example.id


@pytest.mark.parametrize("name", GENERATORS)
def test_an_empty_answer_scores_0_on_every_part(name: str, gsm8k_rows: Path) -> None:
    task = built_in(name, gsm8k_rows)
    for response in ("", " \n\t", "<think>"):
        assert set(scores(task, examples(task)[0], response).values()) == {0.0}


@pytest.mark.parametrize("name", GENERATORS)
def test_a_hostile_answer_scores_0_on_the_main_part(name: str, gsm8k_rows: Path) -> None:
    task = built_in(name, gsm8k_rows)
    for example in examples(task)[:4]:
        for response in hostile(int(str(example.reference))):
            assert scores(task, example, response)[task.rewards[0].name] == 0.0, (example.id, response[:60])


@pytest.mark.parametrize("name", GENERATORS)
def test_the_main_part_outweighs_all_others(name: str, gsm8k_rows: Path) -> None:
    """Else a well-formed wrong answer would pay as much as a right one."""
    main, *others = built_in(name, gsm8k_rows).rewards
    assert main.weight > sum(part.weight for part in others)


@pytest.mark.parametrize("name", GENERATORS)
def test_a_row_does_not_depend_on_what_was_asked_before(name: str, gsm8k_rows: Path) -> None:
    first, second = built_in(name, gsm8k_rows), built_in(name, gsm8k_rows)
    first.example("test", 0, seed=1)
    assert first.example("train", 0, seed=5) == second.example("train", 0, seed=5)


@pytest.mark.parametrize("name", registry.BUILT_IN_VERIFIERS)
def test_a_built_in_verifier_is_found_under_its_name(name: str) -> None:
    assert callable(registry.verifier(name))
    assert name in registry.verifier_names()


def test_an_unknown_name_says_which_is_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"Did you mean 'gsm8k'\?"):
        registry.task("gsm8")
    with pytest.raises(UnknownNameError, match=r"Did you mean 'exact'\?"):
        registry.verifier("exakt")


def test_a_users_file_gives_a_task_and_a_verifier(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("from reasongym.tasks.arithmetic import Arithmetic\n"
                    "def make(options): return Arithmetic(options)\n"
                    "def wrong(options): return 5\n"
                    "def always(response, reference, *, example): return True\n")
    assert registry.task(f"{file}:make").name == "arithmetic"
    assert registry.verifier(f"{file}:always")("", "", example={}) is True
    with pytest.raises(UnknownNameError, match="does not make a task"):
        registry.task(f"{file}:wrong")
    with pytest.raises(UnknownNameError, match="no file"):
        registry.task(f"{tmp_path}/absent.py:make")


@pytest.mark.parametrize("content", ["raise SystemExit(0)", "raise ValueError('no')", "import no_such_module_at_all"])
def test_a_file_that_fails_or_exits_while_it_is_imported_is_an_error_and_not_an_exit(tmp_path: Path,
                                                                                    content: str) -> None:
    (tmp_path / "mine.py").write_text(content)
    with pytest.raises(UnknownNameError, match="cannot be imported"):
        registry.verifier(f"{tmp_path}/mine.py:anything")


def test_what_a_file_prints_while_it_is_imported_stays_off_standard_output(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.py").write_text("print('hello')\ndef yes(response, reference, *, example):\n    return True\n")
    registry.verifier(f"{tmp_path}/mine.py:yes")
    assert capsys.readouterr() == ("", "hello\n")
