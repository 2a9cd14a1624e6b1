"""One rank of the policy, and of the reference policy beside it where the algorithm compares with one. Under LoRA the
reference is the policy without its adapters, and what is sent and exported is merged."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import ray
import torch

from reasongym.sync.checksums import Columns
from reasongym.sync.layout import bucketize
from reasongym.sync.ranks import Ranks
from reasongym.sync.shared_memory import Share
from reasongym.training.lora import Adapters
from reasongym.training.policy import Policy, load_policy
from reasongym.training.rows import MicroBatch
from reasongym.training.update import LossSettings, micro_loss
from reasongym.training.zero import build_reference, even_share, full_shape, gathered, own_share, partitioned_loading
from reasongym.training.zero_rank import RankSettings, StepTotals, ZeroRank

__all__ = ["Rank"]

Gather = Callable[[Sequence[str]], contextlib.AbstractContextManager[dict[str, torch.Tensor]]]

REFERENCE_FILE = "reference.safetensors"  # whole, so that it does not depend on the number of ranks


class Rank(ZeroRank):
    """Holds a partition of the policy, its optimizer and, when asked for, of the reference policy."""

    def __init__(self, settings: RankSettings, rank: int) -> None:
        super().__init__(settings, rank)
        self.sender: Any = None
        self.renewed = False

    def build(self, address: str, port: int) -> dict[str, int]:
        """Join the group and load. Returns the counts of parameters, buckets and bytes."""
        super().build(address, port)
        s = self.settings
        own = s.reference and self.adapters is None
        self.reference = build_reference(self._policy(self._load(train=False)), s.zero) if own else None
        trained = [full_shape(p) for p in self.model.parameters() if p.requires_grad]
        return {"parameters": sum(int(torch.Size(shape).numel()) for _, _, shape, _ in self.shapes),
                "trained": sum(int(torch.Size(shape).numel()) for shape in trained),
                "buckets": len(self.buckets), "bytes": sum(bucket.nbytes for bucket in self.buckets)}

    def load_module(self) -> Policy:
        """The policy, and how its weights are laid out for the engines."""
        s = self.settings
        self.model = self._load(train=True)
        self.adapters = Adapters(self.model, s.lora, stage=s.zero.stage, seed=s.seed) if s.lora.rank else None
        self.parameters = self.adapters.base if self.adapters else dict(self.model.named_parameters())
        self.shapes = [(n, str(p.dtype).removeprefix("torch."), full_shape(p), p.element_size())
                       for n, p in self.parameters.items()]
        self.buckets = bucketize(self.shapes, s.bucket_bytes)
        return self._policy(self.model)

    def _load(self, *, train: bool) -> Any:
        s = self.settings
        with partitioned_loading(s.zero, train=train):
            return load_policy(s.model, dtype=getattr(torch, s.zero.dtype), trust_remote_code=s.trust_remote_code,
                               gradient_checkpointing=s.gradient_checkpointing and train, team=self.team)

    def _policy(self, model: Any) -> Policy:
        s = self.settings
        return Policy(model, temperature=s.temperature, chunk_tokens=s.chunk_tokens,
                      entropy_gradient=s.entropy_gradient, team=self.team)

    def logprobs(self, micros: Sequence[MicroBatch]) -> list[list[list[float]]]:
        """Of each completion's tokens under the present policy, without gradient, by micro-batch."""
        return self.measure(self.engine, micros, "logprobs_BT")

    def reference_logprobs(self, micros: Sequence[MicroBatch]) -> list[list[list[float]]]:
        """The same under the reference policy."""
        if self.adapters:
            with self.adapters.reference():
                return self.measure(self.engine, micros, "logprobs_BT")
        assert self.reference is not None
        return self.measure(self.reference, micros, "logprobs_BT")

    def renew_reference(self) -> None:
        """The reference policy becomes the present one."""
        if self.adapters:
            self.adapters.renew_reference()
            return
        for names in self._bucket_names():
            with self._gathered(self.parameters, names) as present:
                self._overwrite_reference(present)

    def _overwrite_reference(self, tensors: Mapping[str, torch.Tensor]) -> None:
        assert self.reference is not None
        parameters = dict(self.reference.module.model.named_parameters())
        with self._gathered(parameters, list(tensors), writable=True) as reference:
            for name, tensor in tensors.items():
                reference[name].copy_(tensor)
        self.renewed = True

    def train(self, micros: Sequence[MicroBatch], loss: LossSettings, learning_rate: float) -> StepTotals:
        """One optimizer step over this rank's micro-batches; every rank is given equally many."""
        return self.step(micros, learning_rate, lambda batch, output: micro_loss(batch, output, loss))

    def connect(self, transport: str, engines: Sequence[Any], workers: Sequence[int], timeout_s: float) -> None:
        """Open the way to the engines, of so many processes each. Rank 0 speaks to them."""
        from reasongym.sync.client import EnginesClient
        from reasongym.sync.transports import make_sender

        if self.sender is not None:  # engines were replaced
            self.sender.close()
        self.sender = make_sender(
            transport, buckets=self.buckets, gather=self._weights,
            ranks=Ranks(self.rank, self.settings.world, machine=ray.get_runtime_context().get_node_id()),
            shares=self._shares, client=EnginesClient(engines, timeout_s=timeout_s, workers=workers))

    def send_weights(self, version: int, checksums: Columns | None) -> dict[str, str]:
        """Push the policy to every engine as `version`. On rank 0: name -> digest of these columns."""
        return self.sender.send(version, checksums=checksums)  # type: ignore[no-any-return]

    def save(self, folder: str) -> None:
        """Beside the policy's share, a reference that is no longer the initial model."""
        super().save(folder)
        if self.adapters:
            self.adapters.save(folder, write=self.rank == 0)
        if self.renewed:
            assert self.reference is not None
            frozen = dict(self.reference.module.model.named_parameters())
            state = self._collected(lambda names: self._gathered(frozen, names))
            if self.rank == 0:
                from safetensors.torch import save_file

                save_file(state, str(Path(folder) / REFERENCE_FILE))

    def load(self, folder: str) -> None:
        """Read what `save` wrote; the number of ranks must be the same."""
        super().load(folder)
        if self.adapters:
            self.adapters.load(folder)
        path = Path(folder) / REFERENCE_FILE
        if self.reference is not None and path.exists():
            from safetensors import safe_open

            with safe_open(str(path), framework="pt") as file:
                for names in self._bucket_names():
                    self._overwrite_reference({name: file.get_tensor(name) for name in names})

    def export(self, folder: str, tokenizer: str) -> None:
        """Write the policy as a Hugging Face folder, adapters apart in `adapter` too (on rank 0; all ranks gather)."""
        state = self._collected(self._weights)
        if self.rank == 0:
            from transformers import AutoTokenizer

            self.model.save_pretrained(folder, state_dict=state)
            trusted = self.settings.trust_remote_code
            AutoTokenizer.from_pretrained(tokenizer, trust_remote_code=trusted).save_pretrained(folder)
        if self.adapters:
            self.adapters.export(str(Path(folder) / "adapter"), write=self.rank == 0)

    def _collected(self, gather: Gather) -> dict[str, torch.Tensor]:
        """Whole tensors in host memory, on rank 0; gathered bucket by bucket on all."""
        state: dict[str, torch.Tensor] = {}
        for names in self._bucket_names():
            with gather(names) as tensors:
                if self.rank == 0:
                    state |= {name: tensor.detach().to("cpu", copy=True) for name, tensor in tensors.items()}
        return state

    def _weights(self, names: Sequence[str]) -> contextlib.AbstractContextManager[dict[str, torch.Tensor]]:
        """Full tensors of the policy, adapters merged, while the context lasts."""
        return self.adapters.merged(names) if self.adapters else self._gathered(self.parameters, names)

    @contextlib.contextmanager
    def _shares(self, names: Sequence[str], *, whole: bool) -> Iterator[dict[str, Share]]:
        """What this rank writes of the policy's weights (`shared_memory.Shares`): what it holds of them, without a
        collective, where nothing is merged and no layer is held together with others."""
        rank, world = self.rank, self.settings.world
        zero = self.settings.zero
        if not (whole or self.adapters or zero.tensor_parallel > 1):
            yield {name: Share(*own_share(self.parameters[name], stage=zero.stage, rank=rank, world=world))
                   for name in names}
            return
        rank, world = (rank, 1) if whole else (rank, world)
        with self._weights(names) as tensors:
            yield {name: Share(*even_share(tensor, rank=rank, world=world)) for name, tensor in tensors.items()}

    def _bucket_names(self) -> list[list[str]]:
        return [[tensor.name for tensor in bucket.tensors] for bucket in self.buckets]

    def _gathered(self, parameters: Mapping[str, Any], names: Sequence[str],
                  writable: bool = False) -> contextlib.AbstractContextManager[dict[str, torch.Tensor]]:
        return gathered({name: parameters[name] for name in names}, stage=self.settings.zero.stage, writable=writable)

    def close(self) -> None:
        if self.sender is not None:
            self.sender.close()
