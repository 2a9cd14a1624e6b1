"""What a run writes: its folder, metrics, rollouts, environment."""

from __future__ import annotations

import builtins
import errno
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from sample_runs import HOSTILE, group, rollout, training_row

import reasongym
from reasongym.errors import ConfigError, DataError, ResourceError
from reasongym.tracking import (
    METRICS,
    MetricsLog,
    RunFolder,
    environment,
    metric_info,
    read_metrics,
    read_rollouts,
    write_rollouts,
)
from reasongym.tracking.rollouts import rollout_files
from reasongym.verifiers import Status


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path / "run")


def full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_run_is_never_written_over(folder: RunFolder) -> None:
    folder.write_config("steps: 1\n")
    with pytest.raises(ConfigError, match="--resume"):
        RunFolder(folder.path)
    assert RunFolder(folder.path, resume=True).config.read_text() == "steps: 1\n"


def test_a_file_is_not_taken_for_a_run_folder(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("notes")
    with pytest.raises(ConfigError, match="not a folder"):
        RunFolder(tmp_path / "run", resume=True)


def test_an_empty_folder_is_free(tmp_path: Path) -> None:
    assert RunFolder(tmp_path).name == tmp_path.name


def test_a_full_disk_leaves_the_previous_file_and_no_litter(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write_config("steps: 1\n")
    before = sorted(os.listdir(folder.path))
    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(ResourceError, match="No space left"):
        folder.write_config("steps: 2\n")
    assert folder.config.read_text() == "steps: 1\n"
    assert sorted(os.listdir(folder.path)) == before


def test_a_full_disk_does_not_leave_half_a_metrics_line(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    log = MetricsLog(folder, tensorboard=False)
    log.write(1, {"reward/mean": 0.5})
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_disk)
        with pytest.raises(ResourceError):
            log.write(2, {"reward/mean": 0.6})
    log.write(2, {"reward/mean": 0.7})
    assert [row["reward/mean"] for row in log.read()] == [0.5, 0.7]


def test_numbers_json_cannot_hold_become_null(folder: RunFolder) -> None:
    log = MetricsLog(folder, tensorboard=False)
    log.write(1, {"train/loss": float("nan"), "train/grad_norm": float("inf"), "rollout/tokens": 12})
    row = json.loads(folder.metrics.read_text(), parse_constant=pytest.fail)
    assert (row["step"], row["train/loss"], row["train/grad_norm"], row["rollout/tokens"]) == (1, None, None, 12)
    assert row["time"] > 1.7e9


def test_a_torn_last_line_does_not_swallow_the_next(folder: RunFolder) -> None:
    MetricsLog(folder, tensorboard=False).write(1, {"a": 1.0})
    with folder.metrics.open("a") as file:
        file.write('{"step": 2, "a": 2')
    assert [row["step"] for row in read_metrics(folder.metrics)] == [1]
    MetricsLog(folder, tensorboard=False).write(2, {"a": 3.0})
    assert [row["a"] for row in read_metrics(folder.metrics)] == [1.0, 3.0]


def test_a_number_cut_short_is_not_read_as_a_smaller_one(folder: RunFolder) -> None:
    # "12}" cut to "1}" would still parse; only the missing end of the line tells
    folder.metrics.write_text('{"step": 1, "a": 1}')
    assert read_metrics(folder.metrics) == []


@pytest.mark.parametrize("line", ["{", "[1]", '{"a": 1}'])
def test_a_damaged_line_is_an_error_that_names_it(folder: RunFolder, line: str) -> None:
    folder.metrics.write_text(f'{{"step": 1}}\n{line}\n{{"step": 2}}\n')
    with pytest.raises(DataError, match="line 2"):
        read_metrics(folder.metrics)


def test_resuming_drops_the_steps_to_be_done_again(folder: RunFolder) -> None:
    log = MetricsLog(folder, tensorboard=False)
    for step in range(5):
        log.write(step, {"a": float(step)})
    with folder.metrics.open("a") as file:
        file.write('{"step": 5')
    log.truncate_after(2)
    log.write(3, {"a": 30.0})
    assert [(row["step"], row["a"]) for row in log.read()] == [(0, 0.0), (1, 1.0), (2, 2.0), (3, 30.0)]


def test_without_tensorboard_the_numbers_are_still_written(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if "tensorboard" in name:
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    log = MetricsLog(folder, tensorboard=True)
    log.write(1, {"a": 1.0})
    assert "pip install tensorboard" in log.notes[0]
    assert len(log.read()) == 1


@pytest.mark.stack
def test_tensorboard_has_the_same_numbers(folder: RunFolder) -> None:
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    pytest.importorskip("torch")
    log = MetricsLog(folder, tensorboard=True)
    assert log.notes == ()
    for step in (1, 2, 3):
        log.write(step, {"reward/mean": step / 4, "train/loss": float("nan")})
    log.close()
    resumed = MetricsLog(folder, tensorboard=True)
    resumed.truncate_after(2)
    resumed.write(3, {"reward/mean": 0.125})
    resumed.close()
    events = reader.EventAccumulator(str(folder.tensorboard)).Reload()
    assert [(e.step, e.value) for e in events.Scalars("reward/mean")] == [(1, 0.25), (2, 0.5), (3, 0.125)]
    assert "train/loss" not in events.Tags()["scalars"]


def test_rollouts_keep_every_token_and_failed_ones_too(folder: RunFolder) -> None:
    failed = rollout(None, status=Status.ERROR, seed=1)
    path = write_rollouts(folder, 7, [group(rollout(num_tokens=3), failed), group(rollout(index=4, cut=True))])
    assert path == folder.rollouts / "step-000007.parquet"
    first, second, third = read_rollouts(path)
    assert (first["token_ids"], first["logprobs"], first["versions"]) == ([0, 1, 2], [-0.5] * 3, [2] * 3)
    assert (first["mask"], first["prompt_token_ids"], first["num_tokens"]) == ([True] * 3, [5, 6], 3)
    assert (first["score_answer"], first["status_format"], first["extracted_answer"]) == (1.0, "correct", "7")
    assert json.loads(first["reference"]) == {"value": 7}
    assert (second["reward"], second["status"], second["group"]) == (None, "error", 0)
    assert (third["index"], third["group"], third["finish_reason"], third["step"]) == (4, 1, "length", 7)


def test_text_no_file_can_hold_does_not_stop_a_run(folder: RunFolder) -> None:
    path = write_rollouts(folder, 1, [group(rollout(text="a\ud800b\x00" + HOSTILE))])
    assert read_rollouts(path)[0]["completion"] == "a\\ud800b\x00" + HOSTILE


def test_a_step_without_rollouts_is_a_readable_file(folder: RunFolder) -> None:
    assert read_rollouts(write_rollouts(folder, 1, [])) == []


def test_a_damaged_rollout_file_is_a_data_error(folder: RunFolder) -> None:
    path = folder.rollouts / "step-000001.parquet"
    path.write_bytes(b"PAR1 and nothing else")
    with pytest.raises(DataError, match="step-000001"):
        read_rollouts(path)
    with pytest.raises(DataError, match="step-000002"):
        read_rollouts(folder.rollouts / "step-000002.parquet")


def test_steps_of_seven_digits_come_after_those_of_six(folder: RunFolder) -> None:
    for name in ("step-1000000.parquet", "step-999999.parquet", ".step-000003.parquet.1.tmp", "step-x.parquet"):
        (folder.rollouts / name).touch()
    assert list(rollout_files(folder.rollouts)) == [999_999, 1_000_000]


@pytest.mark.stack
def test_the_datasets_library_reads_rollouts(folder: RunFolder, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    for step in (1, 2):
        write_rollouts(folder, step, [group(rollout(float(step)))])
    loaded = datasets.load_dataset("parquet", data_files=str(folder.rollouts / "*.parquet"), split="train",
                                   cache_dir=str(tmp_path / "cache"))
    assert loaded["reward"][:] == [1.0, 2.0]
    assert loaded[0]["token_ids"] == [0, 1, 2, 3]


def test_every_metric_of_a_step_is_defined() -> None:
    import random

    names = [*training_row(0.5, random.Random(0)), "train/kl", "sync/verify_seconds", "eval/reward/mean",
             "eval/reward/answer", "eval/length_mean", "eval/truncated_share", "eval/prompts"]
    assert [name for name in names if metric_info(name) is None] == []
    assert metric_info("reward/answer") is METRICS["reward/<part>"]
    assert metric_info("rewards") is None
    assert all(text.endswith(".") for info in METRICS.values() for text in (info.definition, info.bad_value_means))


def test_a_users_own_repository_is_not_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answers_everywhere(command: tuple[str, ...], **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 0, stdout="0123abcd\n")

    monkeypatch.setattr(subprocess, "run", answers_everywhere)
    monkeypatch.setattr(reasongym, "__file__", str(tmp_path / "venv" / "reasongym" / "__init__.py"))
    (tmp_path / ".git").mkdir()
    assert "commit" not in environment({})
    (tmp_path / "venv" / ".git").mkdir(parents=True)
    assert environment({})["commit"] == "0123abcd"


def test_environment_records_versions_hardware_and_the_callers_part() -> None:
    record = environment({"dataset": {"source": "generator"}})
    versions, hardware = record["versions"], record["hardware"]
    assert isinstance(versions, dict)
    assert isinstance(hardware, dict)
    assert versions["python"].startswith("3.")
    assert hardware["cores"] >= 1
    assert record["dataset"] == {"source": "generator"}
    json.dumps(record)
