"""From a cold start to reinforcement learning on programs: SFT on worked solutions, then GRPO on what the sandbox
says of the answers. The model is tiny and learns four functions by heart, well enough to write them right now and
then."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tiny_model import make_tiny_model

pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.timeout(900)]

TASK = '''
from reasongym.tasks.code_synth import CodeSynth


class FewProblems(CodeSynth):
    """Four problems of code_synth, again and again."""

    def size(self, split):
        return 4

    def example(self, split, index, *, seed=0):
        return super().example("train", index % 4, seed=0)
'''
SETTINGS = ("task.settings={levels: [1, 1]}", "rollout.max_prompt_tokens=400", "rollout.max_new_tokens=80",
            "rollout.kv_cache_gib=0.2", "evaluation.every=0", "checkpoint.every=0", "scoring.timeout_s=60",
            "trainer.micro_batch_tokens=4096")
WAVES = ("rollout.max_num_seqs=4", "rollout.prompts_per_step=4", "rollout.group_size=8")  # 32 answers, 4 at a time


def train(folder: Path, name: str, algorithm: str, model: Path, steps: int, *settings: str) -> Path:
    done = subprocess.run(
        [sys.executable, "-m", "reasongym", "train", "--recipe", "cpu", "--task", "few.py:FewProblems", "--model",
         str(model), "--algorithm", algorithm, "--steps", str(steps), "--name", name, "--seed", "0",
         *(part for setting in (*SETTINGS, *settings) for part in ("--set", setting))],
        cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return folder / "runs" / name


def metrics(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def test_solutions_are_imitated_and_then_the_sandbox_rewards_what_runs(tmp_path: Path) -> None:
    from reasongym.tracking.rollouts import read_rollouts, rollout_files

    make_tiny_model(tmp_path / "model")
    (tmp_path / "few.py").write_text(TASK)
    cold = train(tmp_path, "cold", "sft", tmp_path / "model", 60, "algorithm.batch_size=4",
                 "trainer.learning_rate=3e-3")
    losses = [row["train/loss"] for row in metrics(cold)]
    assert losses[-1] < 0.1 * losses[0]
    learnt = train(tmp_path, "learnt", "grpo", cold / "final", 3, *WAVES, "trainer.learning_rate=1e-4")
    rows = metrics(learnt)
    assert all(0 < row["reward/mean"] < 1 for row in rows)
    assert all(row["train/grad_norm"] > 0 for row in rows)
    # Programs are run while others are still being sampled: with 4 answers at a time of 32, the first verdicts are
    # there long before the last answer.
    assert all(row["rollout/scored_early_share"] > 0.25 for row in rows)
    answers = [row for file in rollout_files(learnt / "rollouts").values() for row in read_rollouts(file)]
    judged = [row for row in answers if row["status"] == "wrong" and row["reason_correct"].startswith("test ")]
    assert judged, "no program ran and failed a test"
    assert all(row["score_correct"] == 1.0 for row in answers if row["status"] == "correct")
