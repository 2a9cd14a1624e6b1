"""One ZeRO-3 rank as a Ray actor. All ranks are called together: most methods are collectives."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from reasongym.algorithms.correction import MismatchSums, combine
from reasongym.sync.layout import bucketize
from reasongym.training.policy import Policy, load_policy
from reasongym.training.rows import MicroBatch
from reasongym.training.tensors import Batch, collate
from reasongym.training.update import LossSettings, MicroLoss, micro_loss
from reasongym.training.zero import (
    ZeroSettings,
    build_engine,
    build_reference,
    full_shape,
    gathered,
    init_distributed,
    partitioned_loading,
)

__all__ = ["Rank", "RankSettings", "StepTotals"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSettings:
    """How a rank is built; plain values, so that they travel to the actor's process as they are."""

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


class StepTotals(NamedTuple):
    """A rank's sums over its micro-batches of one optimizer step."""

    loss: float
    grad_norm: float
    mismatch: MismatchSums
    num_clipped: float
    sum_entropy: float
    sum_kl: float
    seconds: float


class Rank:
    """Holds a partition of the policy, its optimizer and, when a KL term asks for it, of the reference policy."""

    def __init__(self, settings: RankSettings, rank: int) -> None:
        self.settings, self.rank = settings, rank
        if settings.zero.device == "cpu":
            torch.set_num_threads(settings.threads)
        torch.manual_seed(settings.seed)
        self.sender: Any = None

    def address(self) -> tuple[str, int]:
        """This host and a free port on it, for the ranks to meet."""
        import ray

        with socket.socket() as probe:
            probe.bind(("", 0))
            return ray.util.get_node_ip_address(), probe.getsockname()[1]

    def build(self, address: str, port: int) -> dict[str, int]:
        """Join the group and load the policy. Returns the counts of parameters, buckets and bytes."""
        s = self.settings
        # Ray shows each actor its own GPU only, so every rank's device is local device 0.
        init_distributed(rank=self.rank, world=s.world, local_rank=0, address=address, port=port,
                         device=s.zero.device, timeout_s=s.timeout_s)
        self.device = torch.device(s.zero.device)
        model = self._load(train=True)
        self.model = model
        shapes = [(n, str(p.dtype).removeprefix("torch."), full_shape(p), p.element_size())
                  for n, p in model.named_parameters()]
        self.buckets = bucketize(shapes, s.bucket_bytes)
        self.parameters = dict(model.named_parameters())
        self.engine = build_engine(self._policy(model), s.zero)
        self.reference = build_reference(self._policy(self._load(train=False)), s.zero) if s.reference else None
        return {"parameters": sum(_count(shape) for _, _, shape, _ in shapes), "buckets": len(self.buckets),
                "bytes": sum(bucket.nbytes for bucket in self.buckets)}

    def _load(self, *, train: bool) -> Any:
        s = self.settings
        with partitioned_loading(s.zero, train=train):
            return load_policy(s.model, dtype=getattr(torch, s.zero.dtype), trust_remote_code=s.trust_remote_code,
                               gradient_checkpointing=s.gradient_checkpointing and train)

    def _policy(self, model: Any) -> Policy:
        return Policy(model, temperature=self.settings.temperature, chunk_tokens=self.settings.chunk_tokens)

    def logprobs(self, micros: Sequence[MicroBatch]) -> list[torch.Tensor]:
        """logprobs_BT of each micro-batch under the present policy, without gradient."""
        return self._logprobs(self.engine, micros)

    def _logprobs(self, engine: Any, micros: Sequence[MicroBatch]) -> list[torch.Tensor]:
        with torch.no_grad():
            return [engine(collate(micro, device=self.device)).logprobs_BT.cpu() for micro in micros]

    def reference_logprobs(self, micros: Sequence[MicroBatch]) -> list[torch.Tensor]:
        """The same under the reference policy."""
        assert self.reference is not None
        return self._logprobs(self.reference, micros)

    def train(self, micros: Sequence[MicroBatch], loss: LossSettings, learning_rate: float,
              old: Sequence[torch.Tensor] | None) -> StepTotals:
        """One optimizer step over this rank's micro-batches; every rank is given equally many."""
        started = time.monotonic()
        reference = self.reference_logprobs(micros) if self.reference is not None else None
        for group in self.engine.optimizer.param_groups:
            group["lr"] = learning_rate
        results = []
        for index, micro in enumerate(micros):
            self.engine.set_gradient_accumulation_boundary(index == len(micros) - 1)
            results.append(self._backward(collate(micro, device=self.device), loss, index, old, reference))
        self.engine.step()
        return _totals(results, float(self.engine.get_global_grad_norm() or 0.0), time.monotonic() - started)

    def _backward(self, batch: Batch, loss: LossSettings, index: int, old: Sequence[torch.Tensor] | None,
                  reference: Sequence[torch.Tensor] | None) -> MicroLoss:
        def at(values: Sequence[torch.Tensor] | None) -> torch.Tensor | None:
            return None if values is None else values[index].to(self.device)

        found = micro_loss(batch, self.engine(batch), loss, old_logprobs_BT=at(old),
                           reference_logprobs_BT=at(reference))
        # DeepSpeed averages gradients over ranks; the loss is a sum of shares, so the average is undone here.
        self.engine.backward(found.loss * self.settings.world)
        return found._replace(loss=found.loss.detach())

    def connect(self, transport: str, engines: Sequence[Any], workers: int, timeout_s: float) -> None:
        """Open the way to the engines, each of `workers` processes. Rank 0 speaks to them; all gather."""
        from reasongym.sync.client import EnginesClient
        from reasongym.sync.transports import make_sender

        stage = self.settings.zero.stage
        self.sender = make_sender(
            transport, buckets=self.buckets, rank=self.rank, workers_per_engine=workers,
            gather=lambda names: gathered({n: self.parameters[n] for n in names}, stage=stage),
            client=EnginesClient(engines, timeout_s=timeout_s))

    def send_weights(self, version: int, checksums: bool) -> dict[str, str]:
        """Push the policy to every engine as `version`. On rank 0, with `checksums`: name -> digest."""
        return self.sender.send(version, checksums=checksums)  # type: ignore[no-any-return]

    def save(self, folder: str) -> None:
        """Write this rank's share of parameters, optimizer and master weights under `folder`."""
        self.engine.save_checkpoint(folder, tag="state", save_latest=False)

    def load(self, folder: str) -> None:
        """Read what `save` wrote; the number of ranks must be the same."""
        path, _ = self.engine.load_checkpoint(folder, tag="state", load_module_strict=True)
        if path is None:
            raise FileNotFoundError(f"no checkpoint of {self.settings.world} ranks in {folder}")

    def export(self, folder: str, tokenizer: str) -> None:
        """Write the policy as a Hugging Face folder (on rank 0; all ranks gather)."""
        state: dict[str, torch.Tensor] = {}
        for bucket in self.buckets:
            names = [t.name for t in bucket.tensors]
            with gathered({n: self.parameters[n] for n in names}, stage=self.settings.zero.stage) as tensors:
                if self.rank == 0:
                    state |= {name: tensor.detach().to("cpu", copy=True) for name, tensor in tensors.items()}
        if self.rank == 0:
            from transformers import AutoTokenizer

            self.model.save_pretrained(folder, state_dict=state)
            trusted = self.settings.trust_remote_code
            AutoTokenizer.from_pretrained(tokenizer, trust_remote_code=trusted).save_pretrained(folder)

    def close(self) -> None:
        if self.sender is not None:
            self.sender.close()


def _count(shape: Sequence[int]) -> int:
    return int(torch.Size(shape).numel())


def _totals(results: Sequence[MicroLoss], grad_norm: float, seconds: float) -> StepTotals:
    mismatch = results[0].mismatch
    for result in results[1:]:
        mismatch = combine(mismatch, result.mismatch)
    return StepTotals(loss=float(sum(float(r.loss) for r in results)), grad_norm=grad_norm, mismatch=mismatch,
                      num_clipped=sum(r.num_clipped for r in results), sum_entropy=sum(r.sum_entropy for r in results),
                      sum_kl=sum(r.sum_kl for r in results), seconds=seconds)
