"""The whole stack as a user runs it: `reasongym train` on real Ray, vLLM and two ZeRO-3 ranks, on a tiny model.

One run of four steps is the measure. A second run of the same seed is killed with SIGKILL again and again and resumed;
it must have sampled the same tokens and end with the same weights. Others are asked to stop.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from processes import below

pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.timeout(900)]

SETTINGS = ("trainer.ranks=2", "rollout.prompts_per_step=4", "rollout.group_size=4", "rollout.max_new_tokens=12",
            "rollout.max_prompt_tokens=96", "rollout.kv_cache_gib=0.1", "evaluation.prompts=4", "evaluation.every=4",
            "checkpoint.every=2", "trainer.learning_rate=1e-3", "rollout.max_num_seqs=32",
            "trainer.mini_batches=2", "trainer.epochs=2", "algorithm.kl.coefficient=0.01", "task.verifier={verifier}")


def command(folder: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "reasongym", "train", *arguments]


def new_run(folder: Path, name: str) -> list[str]:
    sets = [s.format(verifier=f"{folder}/rules.py:length_parity") for s in SETTINGS]
    return command(folder, "--task", "arithmetic", "--model", str(folder / "model"), "--recipe", "cpu", "--steps", "4",
                   "--seed", "7", "--name", name, "--runs", str(folder / "runs"),
                   *(part for s in sets for part in ("--set", s)))


def run(arguments: list[str], folder: Path) -> str:
    done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, timeout=800, check=False)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-5000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def whole(workshop: Path) -> Path:
    """The uninterrupted run's folder."""
    run(new_run(workshop, "whole"), workshop)
    return workshop / "runs" / "whole"


def rollouts(path: Path) -> dict[int, list[tuple[Any, ...]]]:
    """Step -> what was sampled, in order."""
    from reasongym.tracking import read_rollouts

    return {int(file.stem.removeprefix("step-")): [
        (row["index"], row["seed"], tuple(row["prompt_token_ids"]), tuple(row["token_ids"]), row["reward"])
        for row in read_rollouts(file)] for file in sorted((path / "rollouts").glob("*.parquet"))}


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]


def metrics(path: Path) -> dict[int, dict[str, float]]:
    found: dict[int, dict[str, float]] = {}
    for row in rows_of(path):
        found.setdefault(row["step"], {}).update(row)
    return found


def test_a_run_leaves_everything_a_researcher_needs(whole: Path) -> None:
    assert {p.name for p in whole.iterdir()} >= {"config.yaml", "environment.json", "metrics.jsonl", "tensorboard",
                                                "rollouts", "checkpoints", "report.html", "final"}
    assert sorted(rollouts(whole)) == [1, 2, 3, 4]
    assert all(len(rows) == 16 for rows in rollouts(whole).values())
    rows = metrics(whole)
    assert all(row["mismatch/mean_abs_logprob_diff"] < 0.05 for step, row in rows.items() if step)
    assert {"eval/reward/mean"} <= rows[0].keys() & rows[4].keys()
    assert any(row["train/grad_norm"] > 0 for step, row in rows.items() if step)
    assert all(row["train/kl"] > 0 for step, row in rows.items() if step)  # from the second mini-batch on it has moved


def test_rollouts_are_read_by_datasets(whole: Path, tmp_path: Path) -> None:
    import datasets

    loaded = datasets.load_dataset("parquet", data_files=str(whole / "rollouts" / "*.parquet"), split="train",
                                   cache_dir=str(tmp_path))
    assert len(loaded) == 64
    assert {"prompt", "completion", "reward", "token_ids", "logprobs"} <= set(loaded.column_names)


def test_the_final_model_loads_and_answers_and_is_not_the_first(whole: Path, workshop: Path) -> None:
    import torch
    from safetensors.torch import load_file
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(whole / "final")
    model = AutoModelForCausalLM.from_pretrained(whole / "final")
    text = tokenizer.apply_chat_template([{"role": "user", "content": "2 + 2?"}], tokenize=False)
    answer = model.generate(**tokenizer(text, return_tensors="pt"), max_new_tokens=4, do_sample=False)
    assert answer.shape[1] > len(tokenizer(text)["input_ids"])
    first, last = (load_file(folder / "model.safetensors") for folder in (workshop / "model", whole / "final"))
    assert first.keys() == last.keys()
    assert any(not torch.equal(first[name], last[name]) for name in first)


def test_a_run_killed_and_resumed_is_the_run_that_was_not(whole: Path, workshop: Path) -> None:
    """Killed three times: in the update before any checkpoint, while a checkpoint is written, and in the update after
    one."""
    killed, resume = workshop / "runs" / "killed", command(workshop, "--resume", str(workshop / "runs" / "killed"))
    kill_after(new_run(workshop, "killed"), workshop, killed / "rollouts" / "step-000001.parquet")
    assert checkpoints(killed) == []
    kill_after(resume, workshop, killed / "checkpoints" / ".step-000002.tmp")
    assert checkpoints(killed) == []
    kill_after(resume, workshop, killed / "rollouts" / "step-000003.parquet")
    assert checkpoints(killed) == ["step-000002"]
    assert not (killed / "final").exists()
    output = run(resume, workshop)
    assert "resumed from step 2" in output
    assert rollouts(killed) == rollouts(whole)
    resumed, straight = metrics(killed), metrics(whole)
    for name in ("train/learning_rate", "reward/mean", "train/loss"):
        assert [resumed[step][name] for step in (1, 2, 3, 4)] == pytest.approx(
            [straight[step][name] for step in (1, 2, 3, 4)], rel=1e-4, abs=1e-7)
    assert [row["step"] for row in rows_of(killed)] == [row["step"] for row in rows_of(whole)]
    same_weights(whole, killed)


def test_an_engine_and_a_rank_that_are_killed_change_nothing(whole: Path, workshop: Path) -> None:
    """The engine is replaced within its step. After a rank's death the run goes on from its checkpoint by itself."""
    import psutil

    hurt = workshop / "runs" / "hurt"
    with subprocess.Popen(new_run(workshop, "hurt"), cwd=workshop, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, start_new_session=True) as process:
        for name, after in (("VLLM::EngineCore", "rollouts/step-000001.parquet"),
                            ("ray::Rank", "checkpoints/step-000002")):
            wait_for(hurt / after, process)
            victim = next(child for child in psutil.process_iter(["cmdline"])
                          if name in " ".join(child.info["cmdline"] or ()) and child.pid in below(process.pid))
            victim.kill()
        output, _ = process.communicate(timeout=600)
    assert process.returncode == 0, output[-5000:]
    assert "engine 0 is lost and is started anew" in output
    assert "The run begins anew from its newest checkpoint" in output
    assert rollouts(hurt) == rollouts(whole)
    assert [row["step"] for row in rows_of(hurt)] == [row["step"] for row in rows_of(whole)]
    same_weights(hurt, whole)


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 400
    while not path.exists():
        assert process.poll() is None, process.communicate()[0][-5000:]
        assert time.monotonic() < deadline
        time.sleep(0.05)


def same_weights(first: Path, second: Path) -> None:
    import torch
    from safetensors.torch import load_file

    one, other = (load_file(path / "final" / "model.safetensors") for path in (first, second))
    for name, tensor in one.items():
        torch.testing.assert_close(other[name], tensor, rtol=0, atol=1e-5)


def checkpoints(path: Path) -> list[str]:
    """Names of the complete ones."""
    return sorted(p.name for p in (path / "checkpoints").glob("step-*"))


def kill_after(arguments: list[str], folder: Path, appears: Path) -> None:
    """Start a run and SIGKILL its whole session once a path is there: nothing of it gets to clean up."""
    known = appears.stat().st_mtime_ns if appears.exists() else None
    with subprocess.Popen(arguments, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          start_new_session=True) as process:
        deadline = time.monotonic() + 800
        while not appears.exists() or appears.stat().st_mtime_ns == known:
            assert process.poll() is None, "the run ended before it was killed"
            assert time.monotonic() < deadline
            time.sleep(0.001)
        os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize("ask", ["SIGTERM", "Ctrl-C"])
def test_a_run_that_is_asked_to_stop_saves_the_last_whole_step_and_says_how_to_go_on(workshop: Path, ask: str) -> None:
    name = ask.lower()
    folder = workshop / "runs" / name
    arguments = [*new_run(workshop, name), "--steps", "500", "--set", "checkpoint.every=0"]
    with subprocess.Popen(arguments, cwd=workshop, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          start_new_session=True) as process:
        wait_for(folder / "rollouts" / "step-000002.parquet", process)
        if ask == "SIGTERM":
            process.terminate()
        else:  # a terminal sends it to every process of the foreground group
            os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=300)
    assert process.returncode == 130
    assert f"--resume {folder}" in output
    assert "Traceback" not in output
    assert checkpoints(folder) == [f"step-{max(metrics(folder)):06d}"]
    assert (folder / "report.html").exists()
    assert not (folder / "final").exists()


def test_a_run_that_exists_is_not_written_over(whole: Path, workshop: Path) -> None:
    before = (whole / "metrics.jsonl").read_bytes()
    done = subprocess.run(new_run(workshop, "whole"), cwd=workshop, capture_output=True, text=True, timeout=120,
                          check=False)
    assert done.returncode == 2
    assert "--resume" in done.stderr
    assert (whole / "metrics.jsonl").read_bytes() == before
