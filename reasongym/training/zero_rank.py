"""A ZeRO rank of any trained model as a Ray actor: joins its group, steps, saves. All ranks are called together: most
methods are collectives."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import ray
import torch

from reasongym.algorithms.correction import MismatchSums, combine
from reasongym.config.sections import LoraConfig
from reasongym.training.heap import give_back_between_layers
from reasongym.training.rows import MicroBatch
from reasongym.training.sequence import Team
from reasongym.training.tensors import Batch, collate
from reasongym.training.update import MicroLoss
from reasongym.training.zero import ZeroSettings, build_engine, init_distributed, step_and_norm, step_in_place

__all__ = ["RankSettings", "StepTotals", "ZeroRank", "combined"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSettings:
    """How a rank is built; plain values, so that they travel to the actor's process as they are.

    reference: keep a frozen policy to compare with. entropy_gradient: the loss has an entropy term.
    lora: of a policy. share_prompt: rows may hold several answers; the ranks themselves read any row.
    sequence_parallel: ranks of a team, which are given the same rows and read a part of each. The ranks of a team that
    holds layers together (`ZeroSettings.tensor_parallel`) are given the same rows too.
    """

    model: str
    zero: ZeroSettings
    world: int
    temperature: float
    chunk_tokens: int
    gradient_checkpointing: bool
    trust_remote_code: bool
    reference: bool
    bucket_bytes: int
    threads: int
    timeout_s: float
    seed: int
    entropy_gradient: bool = False
    share_prompt: bool = True
    lora: LoraConfig = field(default_factory=LoraConfig)
    sequence_parallel: int = 1

    @property
    def teams(self) -> int:
        """How many parts work is dealt into."""
        return self.world // self.team_size

    @property
    def team_size(self) -> int:
        """Ranks that are given the same rows: of one kind of team, as there are never both."""
        return self.sequence_parallel * self.zero.tensor_parallel


class StepTotals(NamedTuple):
    """A rank's sums over its micro-batches of one optimizer step."""

    loss: float
    grad_norm: float
    mismatch: MismatchSums
    sums: dict[str, float]
    seconds: float


class ZeroRank:
    """Holds a partition of a model and its optimizer. Subclasses load the model (`load_module`).

    noun: what messages call it.
    """

    noun = "training rank"

    def __init__(self, settings: RankSettings, rank: int) -> None:
        self.settings, self.rank = settings, rank
        if settings.zero.device == "cpu":
            torch.set_num_threads(settings.threads)
        torch.manual_seed(settings.seed)

    def address(self) -> tuple[str, int]:
        """This host and a free port on it, for the ranks to meet."""
        with socket.socket() as probe:
            probe.bind(("", 0))
            return ray.util.get_node_ip_address(), probe.getsockname()[1]

    def build(self, address: str, port: int) -> dict[str, int]:
        """Join the group and load. Returns counts for the record."""
        s = self.settings
        # Ray shows each actor its own GPU only, so every rank's device is local device 0.
        init_distributed(rank=self.rank, world=s.world, local_rank=0, address=address, port=port,
                         device=s.zero.device, timeout_s=s.timeout_s, here=ray.util.get_node_ip_address())
        self.device = torch.device(s.zero.device)
        self.team = Team(rank=self.rank, world=s.world, size=s.sequence_parallel) if s.sequence_parallel > 1 else None
        module = self.load_module()
        if s.zero.device == "cpu":
            give_back_between_layers(module)
        self.engine = build_engine(module, s.zero)
        return {}

    def load_module(self) -> Any:
        """The module that is trained; its forward pass takes a Batch."""
        raise NotImplementedError

    def step(self, micros: Sequence[MicroBatch], learning_rate: float,
             loss: Callable[[Batch, Any], MicroLoss]) -> StepTotals:
        """One optimizer step over this rank's micro-batches; every rank is given equally many.

        loss: a micro-batch and the module's output to its share of the step's loss.
        """
        started = time.monotonic()
        for group in self.engine.optimizer.param_groups:
            group["lr"] = learning_rate
        results = []
        for index, micro in enumerate(micros):
            self.engine.set_gradient_accumulation_boundary(index == len(micros) - 1)
            batch = collate(micro, device=self.device)
            found = loss(batch, self.engine(batch))
            # DeepSpeed averages gradients over ranks; the loss is a sum of shares, so the average is undone here. Ranks
            # that hold layers together count as one: each has the whole gradient of what it holds.
            self.engine.backward(found.loss * (self.settings.world // self.settings.zero.tensor_parallel))
            results.append(found._replace(loss=found.loss.detach()))
        grad_norm = step_and_norm(self.engine)
        return combined(results, grad_norm=grad_norm, seconds=time.monotonic() - started)

    def measure(self, engine: Any, micros: Sequence[MicroBatch], what: str) -> list[list[list[float]]]:
        """`what` of the output of each micro-batch, (B, T), without gradient: a list a completion, of its length."""
        found = []
        with torch.no_grad():
            for micro in micros:
                values_BT = getattr(engine(collate(micro, device=self.device)), what).float().cpu()
                found.append([row_T[:len(sample.token_ids)].tolist()
                              for row_T, sample in zip(values_BT, micro.samples, strict=True)])
        return found

    def save(self, folder: str) -> None:
        """Write this rank's share of parameters, optimizer and master weights under `folder`, frozen ones left out."""
        self.engine.save_checkpoint(folder, tag="state", save_latest=False, exclude_frozen_parameters=True)

    def load(self, folder: str) -> None:
        """Read what `save` wrote; the number of ranks must be the same."""
        whole = all(parameter.requires_grad for parameter in self.engine.module.parameters())
        path, _ = self.engine.load_checkpoint(folder, tag="state", load_module_strict=whole)
        if path is None:
            raise FileNotFoundError(f"no checkpoint of {self.settings.world} ranks in {folder}")
        if self.device.type == "cpu":
            step_in_place(self.engine)

    def close(self) -> None:
        """Free what lies outside this process."""


def combined(results: Sequence[MicroLoss], *, grad_norm: float, seconds: float) -> StepTotals:
    """The sums over the micro-batches of a rank."""
    mismatch, sums = MismatchSums(), dict[str, float]()
    for result in results:
        mismatch = combine(mismatch, result.mismatch)
        for name, value in result.sums.items():
            sums[name] = sums.get(name, 0.0) + value
    return StepTotals(loss=float(sum(float(r.loss) for r in results)), grad_norm=grad_norm, mismatch=mismatch,
                      sums=sums, seconds=seconds)
