"""The trainer's half of a weight transfer: the embedded model into shared memory, with and without checksums, against a
plain copy of the same bytes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from reasongym.models import EMBEDDED, model_folder
from reasongym.sync.checksums import ALL
from reasongym.sync.layout import bucketize
from reasongym.sync.ranks import Ranks
from reasongym.sync.shared_memory import Share, SharedMemorySender
from reasongym.training.policy import load_policy


class Deaf:
    """Engines that take everything at once, so that only the sender's time is seen."""

    def init_weight_transfer_engine(self, init_info: dict[str, Any]) -> None: ...
    def start_weight_update(self) -> None: ...
    def update_weights(self, update_info: Any) -> None: ...
    def finish_weight_update(self, weight_version: str | None = None) -> None: ...


def measure() -> dict[str, float]:
    """MiB, seconds of each way, and ratios to the plain copy."""
    model = load_policy(model_folder(EMBEDDED), dtype=torch.bfloat16, trust_remote_code=False,
                        gradient_checkpointing=False)
    weights = {name: p.data for name, p in model.named_parameters()}

    @contextlib.contextmanager
    def shares(names: list[str], *, whole: bool) -> Iterator[Mapping[str, Share]]:
        del whole
        yield {name: Share(0, weights[name].reshape(-1)) for name in names}

    shapes = [(n, "bfloat16", tuple(t.shape), t.element_size()) for n, t in weights.items()]
    sender = SharedMemorySender(buckets=bucketize(shapes, 256 * 2**20), shares=shares, client=Deaf(), ranks=Ranks(0, 1))
    try:
        _timed(lambda: sender.send(0, checksums=None))  # the first touches the pages
        plain = _timed(lambda: [t.clone() for t in weights.values()])
        sent = _timed(lambda: sender.send(1, checksums=None))
        checked = _timed(lambda: sender.send(2, checksums=ALL))
    finally:
        sender.close()
    return {"mib": sum(b.nbytes for b in sender.buckets) / 2**20, "copy_seconds": plain, "send_seconds": sent,
            "send_with_checksums_seconds": checked, "send_over_copy": sent / plain,
            "checksums_over_send": checked / sent}


def _timed(work: Any) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
