"""PPO's critic on real ranks: how a step is cut changes nothing, and what was saved goes on. Then `reasongym train
--algorithm ppo` as a user runs it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the training stack is not installed")

from value_samples import samples  # noqa: E402

from reasongym.training.critic import CriticRank, ValueSettings  # noqa: E402
from reasongym.training.group import RankGroup  # noqa: E402
from reasongym.training.rows import micro_batches, pack_rows, split_over_ranks  # noqa: E402
from reasongym.training.zero import ZeroSettings, gathered  # noqa: E402
from reasongym.training.zero_rank import RankSettings  # noqa: E402

pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.timeout(1800)]


class OpenRank(CriticRank):
    """Shows its weights."""

    def weights(self) -> dict[str, Any]:
        with gathered(dict(self.engine.module.named_parameters()), stage=3) as full:
            return {name: tensor.clone() for name, tensor in full.items()}


@pytest.fixture
def started(tiny: Path, ray_here: None) -> Iterator[Any]:
    """Starts a critic of so many ranks; all are ended."""
    groups = []

    def start(ranks: int) -> RankGroup:
        zero = ZeroSettings(stage=3, dtype="float32", device="cpu", learning_rate=1e-3, weight_decay=0.01,
                            betas=(0.9, 0.99), max_grad_norm=1.0, offload_optimizer=False)
        settings = RankSettings(model=str(tiny), zero=zero, world=ranks, temperature=1.0, chunk_tokens=16,
                                gradient_checkpointing=False, trust_remote_code=False, reference=False,
                                bucket_bytes=1 << 20, threads=1, timeout_s=300, seed=0)
        here = {"PYTHONPATH": str(Path(__file__).parent)}  # where an actor's process finds OpenRank
        groups.append(RankGroup(OpenRank, settings, [({"num_cpus": 0}, here)] * ranks, start_timeout_s=300,
                                step_timeout_s=300))
        groups[-1].build()
        return groups[-1]

    yield start
    for group in groups:
        group.close()


def train(group: RankGroup, *, budget: int, share_prompt: bool, steps: int, poison: float = 0.0) -> list[float]:
    """Optimizer steps over `samples`; the loss of each."""
    trained = samples(poison=poison)
    rows = pack_rows(trained, share_prompt=share_prompt, budget=budget)
    dealt = split_over_ranks(micro_batches(rows, budget=budget), group.settings.world)
    loss = ValueSettings(denominator=float(sum(s.num_trainable for s in trained)), value_clip=0.2)
    return [sum(totals.loss for totals in group.scatter("train", [(micros, loss, 1e-3) for micros in dealt]))
            for _ in range(steps)]


def test_how_a_step_is_cut_changes_neither_the_critics_loss_nor_its_weights(started: Any) -> None:
    one = started(1)
    before = one.call("weights")[0]
    losses = train(one, budget=10_000, share_prompt=False, steps=3)
    expected = one.call("weights")[0]
    # 2 ranks: with a large budget all is one micro-batch, and the other rank takes part with an empty one
    for ranks, budget, share_prompt, poison in ((1, 40, False, 0.0), (2, 60, True, 1e4), (2, 10_000, True, 0.0)):
        group = started(ranks)
        assert train(group, budget=budget, share_prompt=share_prompt, steps=3, poison=poison) == pytest.approx(
            losses, rel=1e-4)
        for weights in group.call("weights"):
            for name, tensor in expected.items():
                moved = float((tensor - before[name]).abs().max())
                assert moved > 1e-4, f"{name} did not move, so the comparison would show nothing"
                torch.testing.assert_close(weights[name], tensor, rtol=0, atol=0.02 * moved)
        group.close()


def test_a_critic_learns_and_a_saved_one_goes_on_as_if_it_had_not_stopped(started: Any, tmp_path: Path) -> None:
    first = started(1)
    losses = train(first, budget=10_000, share_prompt=True, steps=5)
    assert losses[-1] < 0.5 * losses[0]
    first.call("save", str(tmp_path / "critic"))
    further = train(first, budget=10_000, share_prompt=True, steps=2)
    again = started(1)
    again.call("load", str(tmp_path / "critic"))
    assert train(again, budget=10_000, share_prompt=True, steps=2) == further
    for name, tensor in first.call("weights")[0].items():
        assert torch.equal(again.call("weights")[0][name], tensor), name


# The whole stack

SETTINGS = ("rollout.prompts_per_step=4", "rollout.group_size=2", "rollout.max_new_tokens=12",
            "rollout.kv_cache_gib=0.1", "rollout.max_prompt_tokens=96", "rollout.max_num_seqs=32",
            "rollout.temperature=1.0", "evaluation.every=0", "checkpoint.every=1", "trainer.learning_rate=1e-3",
            "trainer.epochs=2", "trainer.schedule=constant", "algorithm.critic.ranks=2",
            "algorithm.critic.warmup_steps=1", "algorithm.critic.learning_rate=1e-3", "tracking.loggers=[]")

VERIFIER = """
from reasongym.verifiers import verifier

@verifier("length_parity")
def length_parity(response, reference, *, example):
    return (len(response) % 7) / 7
"""


def reasongym_train(folder: Path, *arguments: str) -> None:
    done = subprocess.run([sys.executable, "-m", "reasongym", "train", *arguments], cwd=folder, capture_output=True,
                          text=True, timeout=600, check=False)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-5000:]}"


def rows_of(run: Path) -> dict[int, dict[str, float]]:
    return {row["step"]: row for row in map(json.loads, (run / "metrics.jsonl").read_text().splitlines())}


def weights_of(folder: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return load_file(folder / "model.safetensors")


def test_ppo_warms_its_critic_up_with_the_policy_at_rest_and_resumes_both(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "rules.py").write_text(VERIFIER)
    sets = [part for text in (*SETTINGS, "task.verifier=rules.py:length_parity") for part in ("--set", text)]
    start = ("--algorithm", "ppo", "--task", "arithmetic", "--model", str(tiny), "--seed", "7", "--runs", "runs", *sets)
    reasongym_train(tmp_path, *start, "--name", "whole", "--steps", "2")
    whole, parted = (tmp_path / "runs" / name for name in ("whole", "parted"))
    before = weights_of(tiny)
    assert (whole / "checkpoints" / "step-000001" / "critic").is_dir()
    assert rows_of(whole)[1].keys() >= {"critic/loss", "critic/seconds", "sync/seconds"}
    assert not any(name.startswith("train/") for name in rows_of(whole)[1])
    assert rows_of(whole)[1]["critic/value_mean"] == 0

    shutil.copytree(whole, parted)
    reasongym_train(tmp_path, "--resume", str(parted), "--resume-from", "1")
    straight, resumed = rows_of(whole), rows_of(parted)
    assert {"train/loss", "critic/explained_variance"} <= straight[2].keys()
    assert straight[2]["critic/value_mean"] != 0
    for name in ("critic/value_mean", "critic/loss", "critic/grad_norm", "train/loss", "reward/mean"):
        assert resumed[2][name] == pytest.approx(straight[2][name], rel=1e-4, abs=1e-7), name
    last, again = weights_of(whole / "final"), weights_of(parted / "final")
    assert any(not torch.equal(before[name], last[name]) for name in before)
    for name, tensor in last.items():
        torch.testing.assert_close(again[name], tensor, rtol=0, atol=1e-5)
