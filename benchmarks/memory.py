"""What each trainer holds: the embedded model on one ZeRO-3 rank in float32, one optimizer step of one micro-batch.
Each trainer has a process of its own, one after another.

    parameters   this rank's share, a reference policy's included
    gradients    DeepSpeed's float32 buffer of them
    optimizer    master weights and Adam's two moments, where they are not the parameters' own memory
    activations  what the forward pass keeps for the backward pass, of the micro-batch
    resident     the process at its highest, of the whole step; Python and its libraries included

PPO holds the policy's row and the critic's.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import torch
from torch import Tensor, nn

from reasongym.config.policy_gradient import CriticConfig
from reasongym.config.sections import LoraConfig
from reasongym.models import EMBEDDED, model_folder
from reasongym.training.critic import CriticRank, ValueSettings, critic_settings
from reasongym.training.rank import Rank
from reasongym.training.rows import MicroBatch, Row, Sample
from reasongym.training.update import LossSettings
from reasongym.training.zero import ZeroSettings
from reasongym.training.zero_rank import RankSettings, ZeroRank

MIB = 2**20
TRAINERS = ("grpo", "grpo_with_kl", "grpo_lora_with_kl", "critic")
COLUMNS = ("parameters", "gradients", "optimizer", "activations", "resident")
PROMPT, ANSWER, GROUP, ROWS = 120, 60, 8, 3  # tokens: GSM8K questions in their chat template, short solutions
RANK = 16


def measure() -> dict[str, float]:
    """MiB by trainer and kind; prints them as a table."""
    found: dict[str, float] = {}
    print(f"{'MiB':<20}" + "".join(f"{column:>14}" for column in COLUMNS))
    for trainer in TRAINERS:
        done = subprocess.run([sys.executable, "-m", "benchmarks.memory", trainer], text=True, timeout=900, check=True,
                              stdout=subprocess.PIPE, env=os.environ | {"DS_ACCELERATOR": "cpu"})
        row = json.loads(done.stdout.splitlines()[-1])
        print(f"{trainer:<20}" + "".join(f"{row[column]:>14,.1f}" for column in COLUMNS), flush=True)
        found |= {f"{trainer}_{column}_mib": row[column] for column in COLUMNS}
    ppo = {column: found[f"grpo_{column}_mib"] + found[f"critic_{column}_mib"] for column in COLUMNS}
    print(f"{'ppo = grpo + critic':<20}" + "".join(f"{ppo[column]:>14,.1f}" for column in COLUMNS))
    return found | {f"ppo_{column}_mib": value for column, value in ppo.items()}


def one(trainer: str) -> dict[str, float]:
    """MiB of one trainer, measured in this process."""
    rank, loss = build(trainer)
    saved = SavedTensors()
    with torch.autograd.graph.saved_tensors_hooks(saved.pack, lambda tensor: tensor):
        rank.train([micro_batch()], loss, 1e-6)  # type: ignore[attr-defined]
    optimizer = rank.engine.optimizer
    engines = [engine for engine in (rank.engine, getattr(rank, "reference", None)) if engine]
    parameters = storages(p.ds_tensor for engine in engines for p in engine.module.parameters())
    gradients = storages([optimizer.grad_partitions_flat_buffer])
    state = storages([*optimizer.fp32_partitioned_groups_flat,
                      *(v for entry in optimizer.optimizer.state.values() for v in entry.values()
                        if isinstance(v, Tensor))])
    sizes = {"parameters": sum(parameters.values()), "gradients": sum(gradients.values()),
             "optimizer": sum(size for place, size in state.items() if place not in parameters),
             "activations": sum(saved.found.values()), "resident": peak_resident()}
    return {name: size / MIB for name, size in sizes.items()}


def build(trainer: str) -> tuple[ZeroRank, LossSettings | ValueSettings]:
    """A rank on its own, and what its loss is told."""
    zero = ZeroSettings(stage=3, dtype="float32", device="cpu", learning_rate=1e-6, weight_decay=0.0,
                        betas=(0.9, 0.999), max_grad_norm=1.0, offload_optimizer=False)
    settings = RankSettings(model=model_folder(EMBEDDED), zero=zero, world=1, temperature=1.0, chunk_tokens=512,
                            gradient_checkpointing=False, trust_remote_code=False, reference="with_kl" in trainer,
                            bucket_bytes=256 * MIB, threads=os.cpu_count() or 1, timeout_s=600, seed=0,
                            lora=LoraConfig(rank=RANK if "lora" in trainer else 0))
    tokens = float(ROWS * GROUP * ANSWER)
    rank: ZeroRank
    loss: LossSettings | ValueSettings
    if trainer == "critic":
        rank = CriticRank(critic_settings(settings, CriticConfig()), 0)
        loss = ValueSettings(denominator=tokens, value_clip=0.2)
    else:
        rank = Rank(settings, 0)
        loss = LossSettings(algorithm="grpo", knobs={"clip_low": 0.2, "clip_high": 0.2, "dual_clip": None},
                            denominator=tokens, kl_coefficient=0.001 if settings.reference else 0.0)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    rank.build("127.0.0.1", port)
    return rank, loss


def micro_batch() -> MicroBatch:
    """Groups of one prompt, with every column that any of the losses reads."""
    generator = torch.Generator().manual_seed(0)

    def draw(n: int) -> tuple[int, ...]:
        return tuple(torch.randint(0, 49_000, (n,), generator=generator).tolist())

    columns = {"engine_logprobs": -10.0, "reference_logprobs": -10.0, "advantages": 1.0, "old_values": 0.0,
               "returns": 1.0}
    filled = {name: (value,) * ANSWER for name, value in columns.items()}
    prompts = [draw(PROMPT) for _ in range(ROWS)]
    return MicroBatch(tuple(Row(tuple(Sample(prompt_ids=prompt, token_ids=draw(ANSWER), mask=(True,) * ANSWER,
                                             columns=filled) for _ in range(GROUP))) for prompt in prompts))


class SavedTensors:
    """What autograd keeps, each storage once; weights are no activations. What is kept is not freed before the backward
    pass, so until then no two storages have one address."""

    def __init__(self) -> None:
        self.found: dict[int, int] = {}

    def pack(self, tensor: Tensor) -> Tensor:
        if not isinstance(tensor, nn.Parameter) and not isinstance(tensor._base, nn.Parameter):
            storage = tensor.untyped_storage()
            self.found[storage.data_ptr()] = storage.nbytes()
        return tensor


def storages(tensors: Iterable[Tensor]) -> dict[int, int]:
    """Address -> bytes of each storage behind the tensors."""
    return {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in tensors}


def peak_resident() -> int:
    """Bytes, of this process so far."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    print(json.dumps(one(sys.argv[1])))
