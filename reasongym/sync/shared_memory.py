"""Our transport between processes of one host: buckets through a memory-mapped file in /dev/shm.

Two segments take turns, so the trainer gathers the next bucket while the engines load the present one. The sender holds
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
from typing import Any, Protocol, Self

import torch

from reasongym.errors import ResourceError, message
from reasongym.sync.checksums import digest
from reasongym.sync.layout import Bucket

__all__ = ["BACKEND", "SharedMemorySender", "WeightSyncClient", "open_segment", "remove_stale_segments", "view"]

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


class SharedMemorySender:
    """The trainer's half. Every rank calls `send`; rank 0 alone writes and speaks to the engines.

    gather: `gather(names)` is a context manager giving name -> full tensor on every rank (a collective under ZeRO-3).
    """

    def __init__(self, *, buckets: list[Bucket], gather: Callable[[list[str]], contextlib.AbstractContextManager[
            Mapping[str, torch.Tensor]]], client: WeightSyncClient | None, is_sender: bool) -> None:
        self.buckets, self.gather, self.client, self.is_sender = buckets, gather, client, is_sender
        self.segments: list[tuple[str, torch.Tensor]] = []
        self.locks = contextlib.ExitStack()
        if is_sender:
            remove_stale_segments()
            largest = max(b.nbytes for b in buckets)
            self.segments = [_create_segment(largest, self.locks) for _ in range(min(2, len(buckets)))]
            assert client is not None
            client.init_weight_transfer_engine({})

    def send(self, version: int, *, checksums: bool) -> dict[str, str]:
        """Move all weights to the engines as `version`. Returns name -> digest on rank 0 if asked, else nothing.

        Raises what the client raises, after the last bucket: a rank that left early would leave the others waiting for
        it in a collective.
        """
        digests: dict[str, str] = {}
        with _Transfer(self.client if self.is_sender else None, self.segments) as transfer:
            transfer.begin()
            for index, bucket in enumerate(self.buckets):
                with self.gather([t.name for t in bucket.tensors]) as tensors:
                    written = transfer.put(index, bucket, tensors)
                    if checksums and written is not None:
                        digests |= {spec["name"]: digest(view(written, spec)) for spec in bucket.as_dicts()}
            transfer.finish(version)
        return digests

    def close(self) -> None:
        """Remove the segments."""
        for path, _ in self.segments:
            Path(path).unlink(missing_ok=True)
        self.segments = []
        self.locks.close()


class _Transfer:
    """One transfer of rank 0, and nothing at all on other ranks (client None). The first failure is kept, ends the
    speaking to the engines, and is raised by `finish`."""

    def __init__(self, client: WeightSyncClient | None, segments: list[tuple[str, torch.Tensor]]) -> None:
        self.client, self.segments = client, segments
        self.loads: dict[int, Future[None]] = {}  # that the engines are busy with, by bucket
        self.thread = ThreadPoolExecutor(1)
        self.failure: Exception | None = None

    def begin(self) -> None:
        self._try(lambda client: client.start_weight_update())

    def put(self, index: int, bucket: Bucket, tensors: Mapping[str, torch.Tensor]) -> torch.Tensor | None:
        """Write a bucket and have the engines load it; the segment that holds it, or None where nothing was written.

        A segment is written again when its earlier load has ended."""
        written: list[torch.Tensor] = []

        def write(client: WeightSyncClient) -> None:
            earlier = self.loads.pop(index - len(self.segments), None)
            if earlier is not None:
                earlier.result()
            path, segment = self.segments[index % len(self.segments)]
            for spec, plain in zip(bucket.tensors, bucket.as_dicts(), strict=True):
                view(segment, plain).copy_(tensors[spec.name])
            info = {"path": path, "nbytes": segment.numel(), "tensors": bucket.as_dicts()}
            self.loads[index] = self.thread.submit(client.update_weights, info)
            written.append(segment)

        self._try(write)
        return written[0] if written else None

    def finish(self, version: int) -> None:
        def wait(client: WeightSyncClient) -> None:
            for load in self.loads.values():
                load.result()
            client.finish_weight_update(str(version))

        self._try(wait)
        if self.failure is not None:
            raise self.failure

    def _try(self, step: Callable[[WeightSyncClient], None]) -> None:
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


def _folder() -> Path:
    shared = Path("/dev/shm")
    return shared if shared.is_dir() and os.access(shared, os.W_OK) else Path(tempfile.gettempdir())


def _create_segment(nbytes: int, locks: contextlib.ExitStack) -> tuple[str, torch.Tensor]:
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
    return str(path), open_segment(str(path), nbytes)
