"""What `reasongym plan` says that a rank holds, beside what its process holds: the embedded model, all weights or LoRA,
on one ZeRO-3 rank and on two, in float32 on a CPU.

    python -m benchmarks.plan_accuracy [ROWS [CASE ...]]

The ranks are those of a run, each in a process of its own. They load, make two optimizer steps of one micro-batch, send
the weights through shared memory to no engine, and make a third step of two micro-batches, by when DeepSpeed knows the
order of the layers. A micro-batch is as large as its configuration allows, rows of a prompt and eight answers, so the
plan's highest and the measured peak are of the same work. Measured is rank 0's VmHWM: Python and its libraries, and
shared memory that it has touched, are part of it.
"""

from __future__ import annotations

import dataclasses
import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ray  # noqa: F401 - a rank's process is a Ray worker: its modules are part of what it holds
import torch

from reasongym.config import RunConfig, load_config
from reasongym.models import EMBEDDED, model_folder
from reasongym.planning import Hardware, plan, shape_of
from reasongym.planning.roles import Role, roles
from reasongym.sync.checksums import ALL
from reasongym.sync.ranks import Ranks
from reasongym.sync.shared_memory import SharedMemorySender
from reasongym.training.rank import Rank
from reasongym.training.rows import MicroBatch, Row, Sample
from reasongym.training.update import LossSettings
from reasongym.training.zero import ZeroSettings
from reasongym.training.zero_rank import RankSettings

MIB = 2**20
PROMPT, ANSWER, GROUP, ROWS = 120, 60, 8, 2  # tokens: GSM8K questions in their chat template, short solutions
CHUNK, LORA_RANK, BUCKET_MIB, CORES = 512, 16, 256, 2
BAR, TIMEOUT_S = 0.10, 3600.0
CASES = {"full_1": (0, 1), "full_2": (0, 2), "lora_1": (LORA_RANK, 1), "lora_2": (LORA_RANK, 2)}  # adapters, ranks
MOMENTS = ("built", "trained", "sent", "peak")


def measure(cases: Sequence[str] = tuple(CASES), rows: int = ROWS) -> dict[str, float]:
    """MiB planned and measured by case, and their ratio; prints them as a table. rows: of a micro-batch."""
    found: dict[str, float] = {}
    print(f"{'MiB':<10}{'planned':>10}{'measured':>10}{'ratio':>8}" + "".join(f"{name:>10}" for name in MOMENTS))
    for name in cases:
        planned, moments = _planned(name, rows).total / MIB, _measured(name, rows)
        measured = max(moments.values())
        print(f"{name:<10}{planned:>10,.0f}{measured:>10,.0f}{planned / measured:>8.3f}"
              + "".join(f"{moments[moment]:>10,.0f}" for moment in MOMENTS), flush=True)
        found |= {f"{name}_planned_mib": planned, f"{name}_measured_mib": measured, f"{name}_ratio": planned / measured}
    worst = max(abs(value - 1) for name, value in found.items() if name.endswith("_ratio"))
    print(f"the plan is off by at most {100 * worst:.1f} %; the bar is {100 * BAR:.0f} %")
    return found


def _config(case: str, rows: int) -> RunConfig:
    lora, ranks = CASES[case]
    return load_config(overrides=(
        "resources.device=cpu", "model.dtype=float32", f"model.lora.rank={lora}", f"trainer.ranks={ranks}",
        f"rollout.max_prompt_tokens={PROMPT}", f"rollout.max_new_tokens={ANSWER}", f"rollout.group_size={GROUP}",
        f"trainer.micro_batch_tokens={rows * (PROMPT + GROUP * ANSWER)}", f"trainer.logprob_chunk_tokens={CHUNK}",
        f"sync.bucket_mib={BUCKET_MIB}"))


def _planned(case: str, rows: int) -> Role:
    """The policy's role of a plan on a machine that is large enough."""
    machine = Hardware.described("cpu 2 cores 64GB")
    policy, *_ = roles(plan(_config(case, rows), machine, shape_of(EMBEDDED)))
    return policy


def _measured(case: str, rows: int) -> dict[str, float]:
    """MiB that rank 0 held at most: until it was built, in the first steps, as it sent, in the last step."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [sys.executable, "-m", "benchmarks.plan_accuracy", "rank", case, str(rows), str(port)]
    started = [subprocess.Popen([*words, str(rank)], stdout=subprocess.PIPE, text=True,
                                env=os.environ | {"DS_ACCELERATOR": "cpu"}) for rank in range(CASES[case][1])]
    try:
        output, *_ = [process.communicate(timeout=TIMEOUT_S)[0] for process in started]
    finally:
        for process in started:
            process.kill()
    found: dict[str, float] = json.loads(output.splitlines()[-1])
    return found


def one_rank(case: str, rows: int, port: int, index: int) -> dict[str, float]:
    """The work of one rank, in this process; MiB at each moment."""
    rank = Rank(_settings(_config(case, rows)), index)
    found = []
    rank.build("127.0.0.1", port)
    found.append(_highest())
    for step in range(2):
        _step(rank, rows, [step])
    found.append(_highest())
    rank.sender = SharedMemorySender(buckets=rank.buckets, shares=rank._shares, client=Nobody(),
                                     ranks=Ranks(index, rank.settings.world))
    rank.send_weights(1, ALL)
    found.append(_highest())
    _step(rank, rows, [2, 3])
    found.append(_highest())
    rank.close()
    return dict(zip(MOMENTS, found, strict=True))


class Nobody:
    """Engines that take everything and hold nothing."""

    def init_weight_transfer_engine(self, init_info: dict[str, Any]) -> None: ...
    def start_weight_update(self) -> None: ...
    def update_weights(self, update_info: Any) -> None: ...
    def finish_weight_update(self, weight_version: str | None = None) -> None: ...


def _settings(config: RunConfig) -> RankSettings:
    zero = ZeroSettings(stage=3, dtype="float32", device="cpu", learning_rate=1e-6, weight_decay=0.0,
                        betas=(0.9, 0.999), max_grad_norm=1.0, offload_optimizer=False)
    ranks = config.trainer.ranks
    return RankSettings(model=model_folder(EMBEDDED), zero=zero, world=ranks, temperature=1.0, chunk_tokens=CHUNK,
                        gradient_checkpointing=False, trust_remote_code=False, reference=False,
                        bucket_bytes=BUCKET_MIB * MIB, threads=max(1, CORES // ranks), timeout_s=TIMEOUT_S, seed=0,
                        lora=config.model.lora)


def _highest() -> float:
    """MiB, the most of this process since it was last asked."""
    status = Path("/proc/self/status").read_text().splitlines()
    Path("/proc/self/clear_refs").write_text("5")
    return int(next(line for line in status if line.startswith("VmHWM:")).split()[1]) / 1024


def _step(rank: Rank, rows: int, seeds: Sequence[int]) -> None:
    tokens = rank.settings.world * len(seeds) * rows * GROUP * ANSWER
    loss = LossSettings(algorithm="grpo", knobs={"clip_low": 0.2, "clip_high": 0.2, "dual_clip": None},
                        denominator=float(tokens))
    rank.train([_micro_batch(rows, 10 * rank.rank + seed) for seed in seeds], loss, 1e-6)


def _micro_batch(rows: int, seed: int) -> MicroBatch:
    generator = torch.Generator().manual_seed(seed)

    def draw(count: int) -> tuple[int, ...]:
        return tuple(torch.randint(0, 49_000, (count,), generator=generator).tolist())

    filled: dict[str, Any] = {"engine_logprobs": (-10.0,) * ANSWER, "advantages": (1.0,) * ANSWER}
    prompts = [draw(PROMPT) for _ in range(rows)]
    first = Sample(prompt_ids=(), token_ids=(), mask=(True,) * ANSWER, columns=filled)
    return MicroBatch(tuple(Row(tuple(dataclasses.replace(first, prompt_ids=prompt, token_ids=draw(ANSWER))
                                      for _ in range(GROUP))) for prompt in prompts))


if __name__ == "__main__":
    if sys.argv[1:2] == ["rank"]:
        print(json.dumps(one_rank(sys.argv[2], *map(int, sys.argv[3:]))))
    else:
        measure(sys.argv[2:] or tuple(CASES), int(sys.argv[1]) if sys.argv[1:] else ROWS)
