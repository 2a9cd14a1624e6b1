"""The evaluations within a training run: a result of each, its entry in a store, and that neither stops the run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sample_runs import group, rollout

pytest.importorskip("torch", reason="the training stack is not installed")

from reasongym import registry
from reasongym.config import load_config
from reasongym.errors import ConfigError, DataError
from reasongym.evaluation.record import PartRecord, read_result, read_result_samples
from reasongym.leaderboard import Store
from reasongym.records import Group
from reasongym.tasks import TaskOptions
from reasongym.tracking import RunFolder
from reasongym.training import evaluations
from reasongym.training.evaluations import check_store, discard_evaluations_after, keep_evaluation
from reasongym.verifiers import Status

JUDGES = (PartRecord(name="answer", verifier="gsm8k", weight=0.9, fingerprint="v1"),
          PartRecord(name="format", verifier="gsm8k_format", weight=0.1, fingerprint="v1"))
GROUPS = [group(rollout(1.0, index=3), rollout(0.1, status=Status.WRONG, index=3, seed=1)),
          group(rollout(None, status=Status.ERROR, index=8), rollout(1.0, index=8, seed=1))]


def session(folder: Path, groups: list[Group] = GROUPS, **evaluation: object) -> Any:
    """What `keep_evaluation` sees of a session, and `notes`: what a person would have read."""
    options = {f"evaluation.{key}": value for key, value in evaluation.items()}
    config = load_config(options={"task.name": "arithmetic", "evaluation.samples": 2, "seed": 5, **options})
    task = registry.task("arithmetic", TaskOptions())
    notes: list[str] = []
    run = RunFolder(folder / "my-run", resume=True)
    run.write_environment({"commit": "c" * 40, "versions": {"vllm": "0.32.0"}, "run_id": "an id"})
    return SimpleNamespace(config=config, task=task, judges=JUDGES, folder=run, store_failed=False, notes=notes,
                           plan=SimpleNamespace(dtype="bfloat16"), held_out=[one.prompt for one in groups],
                           prompts=SimpleNamespace(tokenizer=SimpleNamespace(chat_template="{{ messages }}")),
                           progress=SimpleNamespace(note=notes.append))


def test_an_evaluation_is_a_result_like_any_other(tmp_path: Path) -> None:
    run = session(tmp_path)
    keep_evaluation(run, 10, GROUPS, (1.5, 2.0))
    assert run.notes == []
    result = read_result(tmp_path / "my-run/evals/step-000010")
    assert result.model.path == "my-run@step-10"
    assert result.metrics["accuracy"].mean == 0.75  # (1/2 + 1/1) / 2: the failed verifier is in no mean
    assert (result.counts["answers"], result.counts["status_error"], result.partial) == (4, 1, False)
    assert (result.task.rows, result.decoding.samples, result.decoding.seed) == ((3, 8), 2, 5)
    assert result.seconds == {"sampling": 1.5, "total": 2.0}
    assert result.environment["training"] == {"run": str(run.folder.path), "step": 10, "from": "smollm2-135m",
                                              "algorithm": "grpo"}
    answers = read_result_samples(tmp_path / "my-run/evals/step-000010")
    assert [(one.prompt.example.index, one.sample, one.reward) for one in answers] == [
        (3, 0, 1.0), (3, 1, 0.1), (8, 0, None), (8, 1, 1.0)]


def test_each_evaluation_enters_the_store_once(tmp_path: Path) -> None:
    run = session(tmp_path, store=str(tmp_path / "board.db"))
    for step in (0, 10):
        keep_evaluation(run, step, GROUPS, (1.0, 1.0))
    with Store(str(tmp_path / "board.db")) as store:
        assert [one.entry.model for one in store.results()] == ["my-run@step-0", "my-run@step-10"]
        assert len(store.samples(store.results()[0].id)) == 4
    assert run.notes == []


def test_a_store_that_cannot_be_reached_is_told_once_and_the_results_stay(tmp_path: Path) -> None:
    (tmp_path / "board.db").write_text("not a database, but long enough to be taken for a damaged one" * 20)
    run = session(tmp_path, store=str(tmp_path / "board.db"))
    for step in (0, 10):
        keep_evaluation(run, step, GROUPS, (1.0, 1.0))
    assert len(run.notes) == 1
    assert "leaderboard add --store URL" in run.notes[0]
    assert read_result(tmp_path / "my-run/evals/step-000010").model.path == "my-run@step-10"


def test_whatever_a_database_raises_the_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("driver bug")

    monkeypatch.setattr("reasongym.leaderboard.store.Store", broken)
    run = session(tmp_path, store=str(tmp_path / "board.db"))
    keep_evaluation(run, 0, GROUPS, (1.0, 1.0))
    assert "driver bug" in run.notes[0]


def test_an_evaluation_without_one_verdict_does_not_stop_the_run(tmp_path: Path) -> None:
    failed = [group(rollout(None, status=Status.ERROR), rollout(None, status=Status.ERROR, seed=1))]
    run = session(tmp_path, failed)
    keep_evaluation(run, 0, failed, (1.0, 1.0))
    assert "no answer could be scored" in run.notes[0]
    assert not (tmp_path / "my-run/evals/step-000000/results.json").exists()


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), ValueError("Arrow is out of memory")])
def test_whatever_keeping_a_result_raises_the_run_goes_on_and_says_so(error: Exception, tmp_path: Path,
                                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise error

    monkeypatch.setattr(evaluations, "write_result", broken)
    run = session(tmp_path, store=str(tmp_path / "board.db"))
    keep_evaluation(run, 10, GROUPS, (1.0, 1.0))
    assert len(run.notes) == 1
    assert f"the evaluation of step 10 has no result in {run.folder.evaluations}/step-000010" in run.notes[0]
    assert str(error) in run.notes[0]


def test_the_verifier_is_recorded_as_the_workers_loaded_it_not_as_it_is_at_the_evaluation(tmp_path: Path) -> None:
    run = session(tmp_path)
    keep_evaluation(run, 0, GROUPS, (1.0, 1.0))
    assert read_result(tmp_path / "my-run/evals/step-000000").task.parts == JUDGES


def test_a_resumed_run_drops_the_evaluations_it_makes_anew(tmp_path: Path) -> None:
    run = session(tmp_path)
    for step in (0, 10, 20):
        keep_evaluation(run, step, GROUPS, (1.0, 1.0))
    (run.folder.evaluations / "mine").mkdir()
    discard_evaluations_after(run, 10)
    assert sorted(found.name for found in run.folder.evaluations.iterdir()) == ["mine", "step-000000", "step-000010"]


def models(address: str) -> list[str]:
    with Store(address) as store:
        return [one.entry.model for one in store.results()]


def test_a_resumed_run_stands_in_the_store_once_a_step(tmp_path: Path) -> None:
    """It was killed after step 20 and goes back to step 10; what it then finds at step 20 differs."""
    address = str(tmp_path / "board.db")
    run = session(tmp_path, store=address)
    for step in (0, 10, 20):
        keep_evaluation(run, step, GROUPS, (1.0, 1.0))
    discard_evaluations_after(run, 10)
    assert models(address) == ["my-run@step-0", "my-run@step-10"]
    keep_evaluation(run, 20, GROUPS, (2.0, 2.5))
    assert models(address) == ["my-run@step-0", "my-run@step-10", "my-run@step-20"]
    keep_evaluation(run, 20, GROUPS, (3.0, 3.5))  # a store that did not answer when the run was resumed
    assert models(address) == ["my-run@step-0", "my-run@step-10", "my-run@step-20"]
    assert run.notes == []


def test_a_copy_of_a_run_and_a_run_begun_anew_are_runs_of_their_own(tmp_path: Path) -> None:
    address = str(tmp_path / "board.db")
    run = session(tmp_path, store=address)
    keep_evaluation(run, 10, GROUPS, (1.0, 1.0))
    run.folder.write_environment({"run_id": "another id"})
    keep_evaluation(run, 10, GROUPS, (2.0, 2.0))
    discard_evaluations_after(run, 0)
    assert models(address) == ["my-run@step-10"]
    shutil.copytree(run.folder.path, tmp_path / "copy")
    run.folder = RunFolder(tmp_path / "copy", resume=True)
    run.folder.write_environment({"run_id": "an id"})
    keep_evaluation(run, 10, GROUPS, (1.0, 1.0))
    discard_evaluations_after(run, 0)
    assert models(address) == ["my-run@step-10"]


@pytest.mark.parametrize("store", ["postgresql://me:secret@host/board", "postgresql://host/board?password=secret"])
def test_a_password_is_refused_before_it_is_written_to_a_file(store: str) -> None:
    with pytest.raises(ConfigError, match="PGPASSWORD") as caught:
        check_store(store)
    assert "secret" not in str(caught.value)


def test_an_address_that_no_store_has_is_refused_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="mysql"):
        check_store("mysql://host/board")
    check_store("board.db")
    check_store(None)
    monkeypatch.setattr(evaluations.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'reasongym\[leaderboard\]'"):
        check_store("board.db")


def test_the_record_says_what_was_sent_to_the_engine(tmp_path: Path) -> None:
    run = session(tmp_path, temperature=0.7)
    keep_evaluation(run, 0, GROUPS, (1.0, 1.0))
    record = json.loads((tmp_path / "my-run/evals/step-000000/results.json").read_text())
    assert record["decoding"]["sent"] == {"max_tokens": 256, "temperature": 0.7, "logprobs": 0}
    assert record["engine"]["kind"] == "vllm"
    assert record["prompting"]["template"] == "{{ messages }}"
