"""Real DeepSpeed ranks in real Ray actors: how a step is cut over ranks, micro-batches and rows never changes it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the training stack is not installed")

from rank_samples import samples  # noqa: E402

from reasongym.training.rows import micro_batches, pack_rows, split_over_ranks  # noqa: E402
from reasongym.training.update import LossSettings  # noqa: E402

pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.timeout(600)]


def train(model: Path, target: Path, *, ranks: int, budget: int, share_prompt: bool,
          stage: Any = 3) -> tuple[Any, dict[str, Any]]:
    """Two optimizer steps over `samples`; the totals of the second and the weights after it."""
    from safetensors.torch import load_file

    from reasongym.training.group import RankGroup
    from reasongym.training.rank import Rank
    from reasongym.training.zero import ZeroSettings
    from reasongym.training.zero_rank import RankSettings

    # SGD-like comparisons need a step that shows the gradient's size: Adam's first step hides it behind its sign, so
    # there are two, on which moments and clipping act.
    zero = ZeroSettings(stage=stage, dtype="float32", device="cpu", learning_rate=1e-3, weight_decay=0.01,
                        betas=(0.9, 0.99), max_grad_norm=1.0, offload_optimizer=False)
    settings = RankSettings(model=str(model), zero=zero, world=ranks, temperature=1.0, chunk_tokens=16,
                            gradient_checkpointing=False, trust_remote_code=False, reference=False,
                            bucket_bytes=1 << 20, threads=1, timeout_s=200, seed=0)
    group = RankGroup(Rank, settings, [({"num_cpus": 0}, {})] * ranks, start_timeout_s=200, step_timeout_s=200)
    try:
        group.build()
        rows = pack_rows(samples(), share_prompt=share_prompt, budget=budget)
        dealt = split_over_ranks(micro_batches(rows, budget=budget), ranks)
        loss = LossSettings(algorithm="grpo", knobs={"clip_low": 0.2, "clip_high": 0.2, "dual_clip": None},
                            denominator=float(sum(len(s.token_ids) for s in samples())), correction="token_truncate")
        for _ in range(2):
            totals: Sequence[Any] = group.scatter("train", [(micros, loss, 1e-3) for micros in dealt])
        group.call("export", str(target), str(model))
    finally:
        group.close()
    return totals, load_file(target / "model.safetensors")


@pytest.fixture(scope="module")
def reference(tiny: Path, ray_here: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, dict[str, Any]]:
    """One rank, one micro-batch, every completion in a row of its own."""
    return train(tiny, tmp_path_factory.mktemp("one"), ranks=1, budget=10_000, share_prompt=False)


@pytest.mark.parametrize(("ranks", "budget", "share_prompt"), [(1, 40, False), (1, 10_000, True), (2, 60, True)],
                         ids=["many micro-batches", "shared prompts", "two ranks, many, shared"])
def test_how_a_step_is_cut_changes_neither_loss_nor_weights(
        tiny: Path, reference: tuple[Any, dict[str, Any]], tmp_path: Path, ranks: int, budget: int,
        share_prompt: bool) -> None:
    expected_totals, expected = reference
    totals, weights = train(tiny, tmp_path, ranks=ranks, budget=budget, share_prompt=share_prompt)
    assert sum(t.loss for t in totals) == pytest.approx(sum(t.loss for t in expected_totals), rel=1e-4, abs=1e-6)
    assert totals[0].grad_norm == pytest.approx(expected_totals[0].grad_norm, rel=1e-4)
    start = _start(tiny)
    for name, tensor in expected.items():
        moved = (tensor - start[name]).abs().max()
        assert moved > 1e-4, f"{name} did not move, so the comparison would show nothing"
        torch.testing.assert_close(weights[name], tensor, rtol=0, atol=0.02 * float(moved))


def test_stage_0_reports_the_norm_of_its_gradient_and_makes_the_same_step(
        tiny: Path, reference: tuple[Any, dict[str, Any]], tmp_path: Path) -> None:
    expected_totals, expected = reference
    totals, weights = train(tiny, tmp_path, ranks=2, budget=40, share_prompt=False, stage=0)
    assert totals[0].grad_norm == totals[1].grad_norm == pytest.approx(expected_totals[0].grad_norm, rel=1e-4)
    name, start = max(expected), _start(tiny)
    torch.testing.assert_close(weights[name], expected[name], rtol=0,
                               atol=0.02 * float((expected[name] - start[name]).abs().max()))


def _start(model: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return load_file(model / "model.safetensors")


LOAD = """
import socket, sys, torch
from safetensors.torch import load_file
from reasongym.training.policy import load_policy
from reasongym.training.zero import ZeroSettings, full_shape, gathered, init_distributed, partitioned_loading

with socket.socket() as probe:  # only now, when all is loaded: it is not held until it is used
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
init_distributed(rank=0, world=1, local_rank=0, address="127.0.0.1", port=port, device="cpu", timeout_s=60)
settings = ZeroSettings(stage=3, dtype="float32", device="cpu", learning_rate=1e-3, weight_decay=0.0, betas=(0.9, 0.99),
                        max_grad_norm=1.0, offload_optimizer=False)
with partitioned_loading(settings, train=True):
    model = load_policy(sys.argv[1], dtype=torch.float32, trust_remote_code=False, gradient_checkpointing=False)
stored = load_file(f"{sys.argv[1]}/model.safetensors")
for name, parameter in model.named_parameters():
    assert parameter.numel() == 0, f"{name} is whole"
    assert full_shape(parameter) == tuple(stored[name].shape)
    with gathered({name: parameter}, stage=3) as full:
        assert torch.equal(full[name], stored[name]), name
again = load_policy(sys.argv[1], dtype=torch.float32, trust_remote_code=False, gradient_checkpointing=False)
assert all(parameter.numel() for parameter in again.parameters()), "later loading is partitioned as well"
"""


def test_a_rank_never_holds_the_whole_model_while_it_loads(tiny: Path) -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", LOAD, str(tiny)], capture_output=True, text=True,
                          timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
