"""Engines join and leave a run of real Ray, vLLM and a ZeRO-3 rank as its user asks: what is trained on stays right."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from test_stack import command, metrics, run

pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.timeout(900)]

PROMPTS, GROUP, BOUND = 4, 4, 1
SETTINGS = (f"rollout.prompts_per_step={PROMPTS}", f"rollout.group_size={GROUP}", "rollout.max_new_tokens=48",
            "rollout.max_prompt_tokens=96", "rollout.kv_cache_gib=0.1", "rollout.max_num_seqs=8", "rollout.mode=async",
            f"rollout.max_staleness={BOUND}", "evaluation.every=0", "checkpoint.every=10", "sync.verify=always",
            "trainer.learning_rate=1e-4", "task.verifier={folder}/rules.py:length_parity")


def start(folder: Path, path: Path) -> subprocess.Popen[bytes]:
    """A run without end; what it says is in a file, which never fills up."""
    sets = [text.format(folder=folder) for text in SETTINGS]
    arguments = command(folder, "--task", "arithmetic", "--model", str(folder / "model"), "--recipe", "cpu", "--seed",
                        "7", "--steps", "5000", "--name", path.name, "--runs", str(path.parent),
                        *(part for text in sets for part in ("--set", text)))
    with log_of(path).open("wb") as log:
        return subprocess.Popen(arguments, cwd=folder, stdout=log, stderr=log, start_new_session=True)


def log_of(path: Path) -> Path:
    return path.parent.parent / f"{path.name}.log"


def ask(path: Path, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-m", "reasongym", "engines", str(path), *arguments], capture_output=True,
                          text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def answers(path: Path) -> dict[int, list[dict[str, Any]]]:
    """Step -> its answers."""
    from reasongym.tracking import read_rollouts

    return {int(file.stem.removeprefix("step-")): list(read_rollouts(file))
            for file in sorted((path / "rollouts").glob("*.parquet"))}


def wait_for_step(path: Path, step: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 400
    while not (path / "rollouts" / f"step-{step:06d}.parquet").exists():
        assert process.poll() is None, log_of(path).read_text()[-5000:]
        assert time.monotonic() < deadline, f"no step {step}"
        time.sleep(0.1)


def num_steps(path: Path) -> int:
    return len(list((path / "rollouts").glob("*.parquet")))


def cores_of(process: subprocess.Popen[bytes]) -> int:
    """vLLM's engine processes."""
    import psutil

    from benchmarks.fault_processes import command_of

    children = psutil.Process(process.pid).children(recursive=True)
    return sum("VLLM::EngineCore" in command_of(child) for child in children)


def check(path: Path) -> None:
    """Each prompt is trained on once, and none too late."""
    found = answers(path)
    rows = [row["index"] for step in found for row in found[step][::GROUP]]
    assert len(rows) == len(set(rows)) == len(found) * PROMPTS
    for step, sampled in found.items():
        assert all(step - 1 - BOUND <= min(row["versions"]) <= max(row["versions"]) <= step - 1 for row in sampled)
    assert all(row["rollout/staleness_max"] <= BOUND for step, row in metrics(path).items() if step)


def test_an_engine_joins_a_run_and_leaves_it_and_each_prompt_is_trained_on_once(workshop: Path) -> None:
    path = workshop / "runs" / "elastic"
    with start(workshop, path) as process:
        try:
            wait_for_step(path, 2, process)
            alone = num_steps(path)
            assert ask(path, "--add", "1", "--timeout", "300").splitlines()[-1] == "engines 1 serve"
            assert cores_of(process) == 2
            joined = num_steps(path)
            wait_for_step(path, joined + 6, process)
            assert ask(path, "--remove", "1", "--finish", "0", "--timeout", "300").splitlines()[-1] == \
                "engines 1 have left"
            left = num_steps(path)
            assert [line.split()[:2] for line in ask(path).splitlines()[1:]] == [["0", "serving"]]
            wait_for_step(path, left + 3, process)
            assert cores_of(process) == 1
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(120)
    assert process.returncode == 130, log_of(path).read_text()[-5000:]
    check(path)
    by = {step: {row["engine"] for row in sampled} for step, sampled in answers(path).items()}
    assert all(by[step] == {0} for step in range(1, alone + 1))
    assert all(min(row["versions"]) >= alone for sampled in answers(path).values() for row in sampled if row["engine"])
    assert 1 in set.union(*(by[step] for step in range(joined + 1, joined + 7)))
    assert all(by[step] == {0} for step in by if step > left + 2)
    run(command(workshop, "--resume", str(path), "--steps", str(len(by) + 2)), workshop)
    check(path)
