"""Our transport between processes of one host: buckets through a memory-mapped file in /dev/shm.

Two segments take turns, so the trainer writes the next bucket while the engines load the present one. The sender holds
a lock on each of its files as long as it lives; files without one are what a killed run left, and are removed when the
next run starts.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import torch

from reasongym.errors import ResourceError, message
from reasongym.sync.checksums import Columns, digest
from reasongym.sync.layout import Bucket
from reasongym.sync.ranks import Ranks

__all__ = [
    "BACKEND",
    "Share",
    "SharedMemorySender",
    "Shares",
    "WeightSyncClient",
    "open_segment",
    "remove_stale_segments",
    "view",
]

BACKEND = "reasongym_shared_memory"
"""This transport's name in vLLM's factory."""
PREFIX = "reasongym-weights"


class WeightSyncClient(Protocol):
    """vLLM's control surface of a weight transfer, over all engines of the pool."""

    def init_weight_transfer_engine(self, init_info: dict[str, Any]) -> None: ...
    def start_weight_update(self) -> None: ...
    def update_weights(self, update_info: Any) -> None: ...
    def finish_weight_update(self, weight_version: str | None = None) -> None: ...


def open_segment(path: str, nbytes: int) -> torch.Tensor:
    """Map a segment: uint8 tensor of `nbytes`, shared with every process that maps the same path."""
    return torch.from_file(path, shared=True, size=nbytes, dtype=torch.uint8)


def view(segment: torch.Tensor, spec: Mapping[str, Any]) -> torch.Tensor:
    """The tensor that `spec` (a `TensorSpec` as a dict) describes, without a copy."""
    flat = segment[spec["offset"]:spec["offset"] + spec["nbytes"]]
    return flat.view(getattr(torch, spec["dtype"])).reshape(tuple(spec["shape"]))


def remove_stale_segments() -> None:
    """Delete segments that no living process has locked: what a killed run left behind. Other users' stay."""
    for path in _folder().glob(f"{PREFIX}-*"):
        with contextlib.suppress(OSError), path.open("r+b") as file:  # locked, another user's, or gone by now
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


class Share(NamedTuple):
    """What a rank writes of a tensor: its elements from `start` on in row-major order, flat; maybe none."""

    start: int
    values: torch.Tensor


class Shares(Protocol):
    """By name, what this rank writes of some tensors while the context lasts.

    whole: rank 0 writes all and the others nothing. May be a collective.
    """

    def __call__(self, names: list[str], *, whole: bool) -> contextlib.AbstractContextManager[Mapping[str, Share]]: ...


class SharedMemorySender:
    """The trainer's half. Every rank calls `send` and writes the part of each tensor that it holds, so that nothing is
    gathered; rank 0 alone speaks to the engines. Where a rank lives on another machine, rank 0 writes everything."""

    def __init__(self, *, buckets: list[Bucket], shares: Shares, ranks: Ranks, client: WeightSyncClient) -> None:
        self.buckets, self.shares, self.ranks, self.client = buckets, shares, ranks, client
        self.locks = contextlib.ExitStack()
        self.nbytes = max(bucket.nbytes for bucket in buckets)
        self.paths = self._agreed_paths()
        # By Ray's word and by the path: machines of a cluster may share a disk, or even this folder, and no memory.
        beside_first = ranks.machine == ranks.from_first(ranks.machine)
        self.whole = not ranks.all_agree(beside_first and all(Path(path).exists() for path in self.paths))
        writes = ranks.first or not self.whole
        self.segments = [open_segment(path, self.nbytes) for path in self.paths] if writes else []
        if ranks.first:
            client.init_weight_transfer_engine({})

    def _agreed_paths(self) -> list[str]:
        """Of the segments that rank 0 makes; where it cannot, every rank raises what it met."""
        made: list[str] | ResourceError = []
        if self.ranks.first:
            remove_stale_segments()
            try:
                made = [_create_segment(self.nbytes, self.locks) for _ in range(min(2, len(self.buckets)))]
            except ResourceError as error:
                made = error
        made = self.ranks.from_first(made)
        if isinstance(made, ResourceError):
            raise made
        return made

    def send(self, version: int, *, checksums: Columns | None) -> dict[str, str]:
        """Move all weights to the engines as `version`. Returns name -> digest of these columns on rank 0, else
        nothing.

        Raises what the client raises, after the last bucket: a rank that left early would leave the others waiting.
        """
        digests: dict[str, str] = {}
        with _Transfer(self.client if self.ranks.first else None) as transfer:
            transfer.call(lambda client: client.start_weight_update())
            for index, bucket in enumerate(self.buckets):
                turn = index % len(self.paths)
                transfer.wait_for_load(index - len(self.paths))
                self.ranks.barrier()  # the segment may be written
                with self.shares([spec.name for spec in bucket.tensors], whole=self.whole) as shares:
                    for spec in bucket.as_dicts() if self.segments else ():
                        _write(self.segments[turn], spec, shares.get(spec["name"]))
                self.ranks.barrier()  # it is written
                transfer.load(index, {"path": self.paths[turn], "nbytes": self.nbytes,
                                      "tensors": bucket.as_dicts()})
                if checksums is not None and self.ranks.first:
                    digests |= {spec["name"]: digest(checksums.cut(view(self.segments[turn], spec)))
                                for spec in bucket.as_dicts()}
            transfer.finish(version)
        return digests

    def close(self) -> None:
        """Remove the segments."""
        for path in self.paths if self.ranks.first else ():
            Path(path).unlink(missing_ok=True)
        self.paths, self.segments = [], []
        self.locks.close()


class _Transfer:
    """One transfer of rank 0, and nothing at all on other ranks (client None). Calls are made one after another in a
    thread; the first failure is kept, ends the speaking to the engines, and is raised by `finish`."""

    def __init__(self, client: WeightSyncClient | None) -> None:
        self.client = client
        self.loads: dict[int, Future[None]] = {}  # by bucket
        self.thread = ThreadPoolExecutor(1)
        self.failure: Exception | None = None

    def call(self, step: Callable[[WeightSyncClient], None]) -> Future[None]:
        return self.thread.submit(self._made, step)

    def load(self, index: int, update_info: dict[str, Any]) -> None:
        """Have the engines load a bucket, behind what was called before."""
        self.loads[index] = self.call(lambda client: client.update_weights(update_info))

    def wait_for_load(self, index: int) -> None:
        """Until the engines have read this bucket, or the transfer has failed."""
        if index in self.loads:
            self.loads.pop(index).result()

    def finish(self, version: int) -> None:
        self.call(lambda client: client.finish_weight_update(str(version))).result()
        if self.failure is not None:
            raise self.failure

    def _made(self, step: Callable[[WeightSyncClient], None]) -> None:
        if self.client is None or self.failure is not None:
            return
        try:
            step(self.client)
        except Exception as error:  # boundary: raised by `finish`
            self.failure = error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.thread.shutdown()


def _write(segment: torch.Tensor, spec: Mapping[str, Any], share: Share | None) -> None:
    if share is not None and share.values.numel():
        flat = view(segment, spec).reshape(-1)
        flat[share.start:share.start + share.values.numel()].copy_(share.values)


def _folder() -> Path:
    shared = Path("/dev/shm")
    return shared if shared.is_dir() and os.access(shared, os.W_OK) else Path(tempfile.gettempdir())


def _create_segment(nbytes: int, locks: contextlib.ExitStack) -> str:
    descriptor, name = tempfile.mkstemp(prefix=f"{PREFIX}-", dir=_folder())
    path = Path(name)
    locks.callback(os.close, descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.posix_fallocate(descriptor, 0, nbytes)  # without it a full /dev/shm is a bus error at the first write
    except OSError as error:
        path.unlink(missing_ok=True)
        raise ResourceError(message("no room for the weight transfer's shared memory", got=f"{error} at {path.parent}",
                                    expected=f"{nbytes / 2**20:.0f} MiB free twice",
                                    remedy="enlarge /dev/shm (docker: --shm-size) or lower sync.bucket_mib")) from error
    return str(path)
