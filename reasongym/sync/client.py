"""The control calls of a weight transfer, made to every engine of the pool, each with a deadline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ray

from reasongym.errors import SyncError, message

__all__ = ["EnginesClient"]


class EnginesClient:
    """vLLM's four-call surface over Ray actors. workers: processes of each engine, 1 where they are not given. Raises
    SyncError when an engine fails or misses the deadline."""

    def __init__(self, engines: Sequence[Any], *, timeout_s: float, workers: Sequence[int] = ()) -> None:
        self.engines, self.timeout_s = engines, timeout_s
        self.workers = list(workers) or [1] * len(engines)

    def init_weight_transfer_engine(self, init_info: dict[str, Any]) -> None:
        """vLLM's NCCL transport numbers the workers of all engines in one group: each engine starts where the one
        before it ended (`rank_offset`)."""
        infos = [init_info | ({"rank_offset": 1 + sum(self.workers[:i])} if "rank_offset" in init_info else {})
                 for i in range(len(self.engines))]
        self._wait("open the transfer", [e.init_weight_transfer_engine.remote(i)
                                         for e, i in zip(self.engines, infos, strict=True)])

    def start_weight_update(self) -> None:
        self._wait("start an update", [e.start_weight_update.remote() for e in self.engines])

    def update_weights(self, update_info: Any) -> None:
        self._wait("load weights", [e.update_weights.remote(update_info) for e in self.engines])

    def finish_weight_update(self, weight_version: str | None = None) -> None:
        self._wait("finish an update", [e.finish_weight_update.remote(weight_version) for e in self.engines])

    def _wait(self, what: str, answers: list[Any]) -> None:
        try:
            ray.get(answers, timeout=self.timeout_s)
        except ray.exceptions.GetTimeoutError as error:
            raise SyncError(message(f"an engine did not {what} in time", got=f"no answer in {self.timeout_s:.0f} s",
                                    expected="an answer",
                                    remedy="raise sync.timeout_s, or look at Ray's logs")) from error
        except ray.exceptions.RayError as error:
            raise SyncError(message(f"an engine failed to {what}", got=str(error).strip().splitlines()[-1],
                                    expected="an engine that takes the weights",
                                    remedy="resume with --resume")) from error
