"""Which way the weights take: our shared memory on one host, vLLM's NCCL or CUDA IPC between GPUs."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import ray
import torch

from reasongym.errors import ConfigError, message
from reasongym.sync.checksums import Columns, digest
from reasongym.sync.client import EnginesClient
from reasongym.sync.layout import Bucket
from reasongym.sync.ranks import Ranks
from reasongym.sync.shared_memory import BACKEND, SharedMemorySender, Shares

__all__ = ["backend_name", "make_sender"]

Gather = Callable[[list[str]], contextlib.AbstractContextManager[Mapping[str, torch.Tensor]]]


def backend_name(transport: str) -> str:
    """The name of a transport in vLLM's factory."""
    return BACKEND if transport == "shared_memory" else transport


def make_sender(transport: str, *, buckets: Sequence[Bucket], ranks: Ranks, gather: Gather, shares: Shares,
                client: EnginesClient) -> SharedMemorySender | VllmSender:
    """The trainer's half of a transport, on every rank. Both kinds have `send(version, checksums)` and `close()`.

    gather: `gather(names)` is a context manager giving name -> full tensor on every rank, a collective under ZeRO-3;
    shares: the part of each that this rank holds.
    """
    if transport == "shared_memory":
        return SharedMemorySender(buckets=list(buckets), shares=shares, ranks=ranks, client=client)
    if transport in {"nccl", "ipc"}:
        return VllmSender(transport, buckets=buckets, rank=ranks.rank, gather=gather, client=client,
                          workers=sum(client.workers))
    raise ConfigError(message("no such transport", got=transport, expected="shared_memory, nccl or ipc",
                              remedy="set sync.transport"))


class VllmSender:
    """vLLM's own trainer-side engines, fed bucket by bucket with gathered weights. Needs GPUs."""

    def __init__(self, transport: str, *, buckets: Sequence[Bucket], rank: int, gather: Gather, client: EnginesClient,
                 workers: int) -> None:
        from vllm.distributed.weight_transfer.factory import WeightTransferTrainerFactory

        self.source = _source(buckets, gather)
        self.client, self.rank = client, rank
        self.engine = WeightTransferTrainerFactory.trainer_init(
            _init_info(transport, rank=rank, world_size=1 + workers), client=self, source=self.source)
        self.version = 0

    # vLLM's engine calls its client without a version; this one adds it.
    def init_weight_transfer_engine(self, init_info: dict[str, Any]) -> None:
        self.client.init_weight_transfer_engine(init_info)

    def start_weight_update(self) -> None:
        self.client.start_weight_update()

    def update_weights(self, update_info: Any) -> None:
        self.client.update_weights(update_info)

    def finish_weight_update(self, weight_version: str | None = None) -> None:
        self.client.finish_weight_update(weight_version or str(self.version))

    def send(self, version: int, *, checksums: Columns | None) -> dict[str, str]:
        """Move all weights as `version`; on rank 0, name -> digest of these columns."""
        self.version, self.source.digests = version, {}
        self.source.columns = checksums if self.rank == 0 else None
        self.engine.send_weights()
        return dict(self.source.digests)

    def close(self) -> None:
        self.engine.shutdown()


def _init_info(transport: str, *, rank: int, world_size: int) -> Any:
    if transport == "ipc":
        from vllm.distributed.weight_transfer.ipc_engine import IPCTrainerInitInfo

        return IPCTrainerInitInfo(packed=True, rank=rank)
    from vllm.distributed.weight_transfer.nccl_engine import NCCLTrainerInitInfo

    with socket.socket() as probe:
        probe.bind(("", 0))
        port = probe.getsockname()[1]
    return NCCLTrainerInitInfo(master_address=ray.util.get_node_ip_address(), master_port=port,
                               world_size=world_size, packed=True, rank=rank)


def _source(buckets: Sequence[Bucket], gather: Gather) -> Any:
    from vllm.distributed.weight_transfer.base import ParamMeta, WeightSource

    class Gathered(WeightSource):  # type: ignore[misc]
        """The policy's weights in order; each bucket is gathered once and stays while its tensors are read."""

        digests: dict[str, str]
        columns: Columns | None = None

        def metadata(self) -> list[Any]:
            return [ParamMeta(t.name, getattr(torch, t.dtype), t.shape) for b in buckets for t in b.tensors]

        def __iter__(self) -> Iterator[tuple[str, torch.Tensor]]:
            for bucket in buckets:
                with gather([t.name for t in bucket.tensors]) as tensors:
                    for spec in bucket.tensors:
                        if self.columns is not None:
                            self.digests[spec.name] = digest(self.columns.cut(tensors[spec.name]))
                        yield spec.name, tensors[spec.name]

    return Gathered()
