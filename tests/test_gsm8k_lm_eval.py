"""GSM8K in lm-evaluation-harness's form: its prompts to the letter, and no others put before them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from reasongym import registry
from reasongym.errors import ConfigError, DataError
from reasongym.evaluation.prompting import draw_shots, unencoded
from reasongym.tasks import Task, TaskOptions

OFFICIAL = Path(__file__).parent.parent / "../shared/data/gsm8k"


def write(file: Path, first: int, count: int) -> None:
    file.write_text("".join(json.dumps({"question": f" Q{n}? ", "answer": f"{n} = <<{n}={n}>>{n}\n#### {n}"}) + "\n"
                            for n in range(first, first + count)))


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    write(tmp_path / "train.jsonl", 0, 7)
    write(tmp_path / "test.jsonl", 90, 6)
    return tmp_path


def made(data: Path, **settings: object) -> Task:
    return registry.task("gsm8k", TaskOptions(data=str(data), settings={"style": "lm_eval", **settings}))


def prompt(task: Task, split: str, index: int) -> str:
    return unencoded(task.example(split, index), "completions").text


def test_a_prompt_keeps_blanks_and_the_calculator_s_marks(rows: Path) -> None:
    asked = prompt(made(rows, shots=1), "test", 0)
    # Random(1234).sample(range(7), 1) is [6]
    assert asked == "Question:  Q6? \nAnswer: 6 = <<6=6>>6\n#### 6\n\nQuestion:  Q90? \nAnswer:"
    assert prompt(made(rows, shots=0), "test", 1) == "Question:  Q91? \nAnswer:"


def test_a_row_s_shown_rows_are_its_own_whatever_was_asked_before(rows: Path) -> None:
    task = made(rows)
    backwards = [prompt(task, "test", index) for index in reversed(range(6))][::-1]
    assert backwards == [prompt(made(rows), "test", index) for index in range(6)]
    assert all(text.count("Question:") == 6 for text in backwards)  # five by default
    assert len({text.rpartition("Question:")[0] for text in backwards}) > 1


@pytest.mark.parametrize("shots", [1, 3, 6])
def test_a_train_row_is_never_shown_its_own_answer(rows: Path, shots: int) -> None:
    task = made(rows, shots=shots)
    for index in range(7):
        shown, _, own = prompt(task, "train", index).rpartition("Question:")
        assert own == f"  Q{index}? \nAnswer:"
        assert f"Q{index}?" not in shown
        assert shown.count("Question:") == shots


@pytest.mark.parametrize(("settings", "says"), [
    ({"style": "lmeval"}, "Did you mean 'lm_eval'"), ({"style": 5}, "one of own, lm_eval"), ({"style": None}, "one of"),
    ({"shots": 7}, "at least 8"), ({"shots": 33}, "from 0 to 32"), ({"styl": "own"}, "Did you mean 'style'"),
])
def test_settings_that_cannot_be_are_refused(rows: Path, settings: dict[str, object], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        made(rows, **settings)


def test_a_data_set_without_a_train_split_has_nothing_to_show(tmp_path: Path) -> None:
    write(tmp_path / "test.jsonl", 0, 3)
    with pytest.raises(ConfigError, match="a train split"):
        made(tmp_path)
    assert prompt(made(tmp_path, shots=0), "test", 0).startswith("Question:")


def test_other_shown_rows_are_not_put_before_the_harness_s(rows: Path) -> None:
    with pytest.raises(ConfigError, match="--set shots=2"):
        draw_shots(made(rows, shots=0), "test", 2, seed=0)
    own = registry.task("gsm8k", TaskOptions(data=str(rows)))
    assert len(draw_shots(own, "test", 2, seed=0)) == 2


def test_no_substitute_stands_in_for_the_published_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REASONGYM_DATA", raising=False)
    monkeypatch.setattr("reasongym.tasks.gsm8k._reachable", lambda endpoint: False)
    options = TaskOptions(training=True, settings={"style": "lm_eval"})
    with pytest.raises(DataError):
        registry.task("gsm8k", options)


@pytest.mark.skipif(not OFFICIAL.is_dir(), reason="no public GSM8K in ../shared/data")
def test_the_prompts_of_the_official_test_split_are_the_harness_s() -> None:
    """The digest is of the 1,319 prompts that lm_eval 0.4.13 logged (`python -m benchmarks lm_eval_harness`)."""
    task, digest = made(OFFICIAL), hashlib.sha256()
    for index in range(1319):
        digest.update(prompt(task, "test", index).encode() + b"\0")
    assert digest.hexdigest() == "90c166d5c3e3026061cfa63a694800e2cc31cdc12da84ff0fea81cccf9c93092"
