"""All ZeRO-3 ranks of a run: started together, called together, each call with a deadline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import ray

from reasongym.errors import TrainerError, message
from reasongym.training.zero_rank import RankSettings, ZeroRank

__all__ = ["Launched", "RankGroup"]


class Launched(NamedTuple):
    """A call that the ranks were given and nobody has waited for yet."""

    method: str
    answers: list[Any]


class RankGroup:
    """`kind`: what each rank is. `placements`: Ray options and environment variables a rank; its length is the world
    size."""

    def __init__(self, kind: type[ZeroRank], settings: RankSettings,
                 placements: Sequence[tuple[dict[str, Any], dict[str, str]]], *, start_timeout_s: float,
                 step_timeout_s: float) -> None:
        self.settings, self.start_timeout_s, self.step_timeout_s = settings, start_timeout_s, step_timeout_s
        self.noun = kind.noun
        common = {"DS_ACCELERATOR": settings.zero.device, "TOKENIZERS_PARALLELISM": "false", "TQDM_DISABLE": "1"}
        remote = ray.remote(kind)
        self.ranks = [remote.options(runtime_env={"env_vars": common | variables}, **options).remote(settings, index)
                      for index, (options, variables) in enumerate(placements)]

    def build(self) -> dict[str, int]:
        """Join and load. Returns what rank 0 counted: parameters, buckets and bytes."""
        address, port = self._wait([self.ranks[0].address.remote()], "start", self.start_timeout_s)[0]
        counts: dict[str, int] = self.call("build", address, port, timeout_s=self.start_timeout_s)[0]
        return counts

    def call(self, method: str, *arguments: Any, timeout_s: float | None = None) -> list[Any]:
        """The same call on every rank; answers in rank order."""
        return self._wait([getattr(rank, method).remote(*arguments) for rank in self.ranks], method, timeout_s)

    def scatter(self, method: str, per_rank: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The same method with each rank's own arguments."""
        return self.collect(self.launch(method, per_rank))

    def launch(self, method: str, per_rank: Sequence[tuple[Any, ...]]) -> Launched:
        """`scatter` without the wait. A rank makes its calls in the order in which they were launched."""
        return Launched(method, [getattr(rank, method).remote(*arguments)
                                 for rank, arguments in zip(self.ranks, per_rank, strict=True)])

    def collect(self, launched: Launched) -> list[Any]:
        """The answers in rank order; the deadline runs from now on."""
        return self._wait(launched.answers, launched.method, None)

    def _wait(self, answers: list[Any], what: str, timeout_s: float | None) -> list[Any]:
        limit = timeout_s or self.step_timeout_s
        try:
            return list(ray.get(answers, timeout=limit))
        except ray.exceptions.GetTimeoutError as error:
            raise TrainerError(message(f"the {self.noun}s did not {what} in time", got=f"no answer in {limit:.0f} s",
                                       expected="an answer from each rank",
                                       remedy="raise trainer.step_timeout_s or start_timeout_s")) from error
        except ray.exceptions.RayTaskError as error:
            cause = error.cause if isinstance(error.cause, Exception) else error
            raise TrainerError(message(f"a {self.noun} failed in {what}", got=f"{type(cause).__name__}: {cause}",
                                       expected="every rank to finish", remedy="see the traceback above; "
                                       "--resume continues from the last checkpoint")) from error
        except ray.exceptions.RayError as error:
            raise TrainerError(message(f"a {self.noun} died in {what}", got=str(error).strip().splitlines()[0],
                                       expected="every rank to finish",
                                       remedy="out of memory is the usual reason: lower trainer.micro_batch_tokens; "
                                       "--resume continues")) from error

    def close(self) -> None:
        """Free what the ranks hold outside themselves, then end them."""
        if self.ranks:
            ray.wait([rank.close.remote() for rank in self.ranks], num_returns=len(self.ranks), timeout=10.0)
            for rank in self.ranks:
                ray.kill(rank)
        self.ranks = []
