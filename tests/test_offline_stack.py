"""SFT, DPO, KTO and online DPO as a user runs them, on real Ray, vLLM and two ZeRO-3 ranks with a tiny model: a run's
answers become pairs and labels, and those are trained on. Runs that are killed end as those that are not."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest
from test_stack import checkpoints, command, kill_after, metrics, run, same_weights

pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.timeout(900)]

COMMON = ("trainer.ranks=2", "rollout.max_prompt_tokens=200", "rollout.kv_cache_gib=0.1", "rollout.max_num_seqs=32",
          "evaluation.every=0", "checkpoint.every=1", "checkpoint.keep_last=9", "trainer.learning_rate=1e-3",
          "tracking.loggers=[]")
ONLINE = ("rollout.prompts_per_step=4", "rollout.group_size=4", "rollout.max_new_tokens=12",
          "algorithm.reference_every=2", "task.verifier={folder}/rules.py:length_parity")
VERIFIER = '''
from reasongym.verifiers import Verdict, verifier

@verifier("length_parity")
def length_parity(response, reference, *, example):
    """A random model answers nothing right; this calls every second answer so."""
    return Verdict.correct() if len(response) % 2 else Verdict.wrong("of even length")
'''
LN_2 = math.log(2)


def new_run(folder: Path, name: str, algorithm: str, *settings: str, task: str = "arithmetic",
            steps: str = "3") -> list[str]:
    sets = [text.format(folder=folder) for text in (*COMMON, *settings)]
    return command(folder, "--task", task, "--algorithm", algorithm, "--model", str(folder / "model"), "--seed", "7",
                   "--recipe", "cpu", "--name", name, "--runs", str(folder / "runs"), "--steps", steps,
                   *(part for text in sets for part in ("--set", text)))


def losses(path: Path) -> list[float]:
    return [row["train/loss"] for step, row in sorted(metrics(path).items()) if step]


@pytest.fixture(scope="module")
def online(workshop: Path) -> Path:
    """The folder of an online DPO run whose reference is renewed once, before its third step of four."""
    run(new_run(workshop, "online", "online_dpo", *ONLINE, steps="4"), workshop)
    return workshop / "runs" / "online"


@pytest.fixture(scope="module")
def pairs(online: Path, workshop: Path) -> Path:
    return made(online, workshop, "pairs")


def made(online: Path, workshop: Path, kind: str) -> Path:
    """What `reasongym pairs` makes of that run's answers."""
    target = workshop / f"{kind}.parquet"
    done = subprocess.run([sys.executable, "-m", "reasongym", "pairs", str(online), "--kind", kind, "--output",
                           str(target)], cwd=workshop, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return target


def test_online_dpo_begins_at_its_reference_and_again_when_it_is_renewed(online: Path) -> None:
    # Where the reference is the policy itself every log-ratio is 0 and the loss ln 2.
    first, second, third, fourth = losses(online)
    assert (first, third) == pytest.approx((LN_2, LN_2), abs=1e-5)
    assert min(abs(second - LN_2), abs(fourth - LN_2)) > 1e-3
    assert all(row["train/pairs"] > 0 and row["train/grad_norm"] > 0 for step, row in metrics(online).items() if step)


def test_a_killed_online_dpo_run_gets_its_renewed_reference_back(online: Path, workshop: Path) -> None:
    killed = workshop / "runs" / "killed"
    kill_after(new_run(workshop, "killed", "online_dpo", *ONLINE, steps="4"), workshop,
               killed / "rollouts" / "step-000004.parquet")
    assert checkpoints(killed) == ["step-000001", "step-000002", "step-000003"]
    assert "resumed from step 3" in run(command(workshop, "--resume", str(killed)), workshop)
    assert losses(killed) == pytest.approx(losses(online), abs=1e-6)
    same_weights(online, killed)


def test_dpo_on_a_runs_pairs_begins_at_ln_2_and_learns(workshop: Path, pairs: Path) -> None:
    """And a killed run compares with the initial model when it goes on: with the one it had, it would begin at ln 2
    again."""
    settings = (f"algorithm.data={pairs}", "algorithm.batch_size=6")
    run(new_run(workshop, "dpo", "dpo", *settings), workshop)
    whole, killed = workshop / "runs" / "dpo", workshop / "runs" / "dpo-killed"
    assert losses(whole)[0] == pytest.approx(LN_2, abs=1e-5)
    assert abs(losses(whole)[2] - LN_2) > 0.01
    kill_after(new_run(workshop, "dpo-killed", "dpo", *settings), workshop, killed / "checkpoints" / "step-000002")
    run(command(workshop, "--resume", str(killed)), workshop)
    assert losses(killed) == pytest.approx(losses(whole), abs=1e-6)
    same_weights(whole, killed)


def test_a_resumed_run_does_not_go_on_with_other_rows(workshop: Path, pairs: Path) -> None:
    run_folder = workshop / "runs" / "dpo"
    other = workshop / "other.jsonl"
    other.write_text('{"prompt": "a", "chosen": "b", "rejected": "c"}\n')
    done = subprocess.run(command(workshop, "--resume", str(run_folder), "--set", f"algorithm.data={other}"),
                          cwd=workshop, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2
    assert "examples:" in done.stderr


def test_kto_on_a_runs_labels_begins_where_nothing_is_felt(workshop: Path, online: Path) -> None:
    labels = made(online, workshop, "labels")
    run(new_run(workshop, "kto", "kto", f"algorithm.data={labels}", "algorithm.batch_size=6"), workshop)
    rows = metrics(workshop / "runs" / "kto")
    assert rows[1]["train/reference_point"] == pytest.approx(0.0, abs=1e-5)
    assert rows[1]["train/loss"] == pytest.approx(0.5, abs=1e-5)  # r = z = 0: 1 - sigmoid(0)
    assert all(rows[step]["train/grad_norm"] > 0 for step in (1, 2, 3))
    assert abs(rows[3]["train/loss"] - 0.5) > 1e-3


def test_sft_on_a_tasks_own_solutions_learns(workshop: Path) -> None:
    run(new_run(workshop, "sft", "sft", "rollout.max_new_tokens=200", "algorithm.batch_size=3", task="word_problems"),
        workshop)
    found = losses(workshop / "runs" / "sft")
    assert found[0] == pytest.approx(math.log(49152), abs=0.5)  # a random model finds all tokens equally likely
    assert found[2] < found[0] - 0.05


def test_a_bad_file_is_one_error_and_no_folder(workshop: Path) -> None:
    bad = workshop / "bad.jsonl"
    bad.write_text('{"prompt": "a", "chosen": "b"}\n')
    done = subprocess.run(new_run(workshop, "none", "dpo", f"algorithm.data={bad}"), cwd=workshop, capture_output=True,
                          text=True, timeout=300, check=False)
    assert done.returncode == 2
    assert "bad.jsonl:1 has no 'rejected'" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (workshop / "runs" / "none").exists()
