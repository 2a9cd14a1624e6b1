"""All ZeRO-3 ranks of a run: started together, called together, each call with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import ray

from reasongym.errors import TrainerError, message
from reasongym.training.zero_rank import RankSettings, ZeroRank

__all__ = ["Launched", "RankGroup"]

WATCH_EVERY_S = 1.0


class Launched(NamedTuple):
    """A call that the ranks were given and nobody has waited for yet."""

    method: str
    answers: list[Any]


class RankGroup:
    """`kind`: what each rank is. `placements`: Ray options and environment variables a rank; its length is the world
    size. watch: called every second of a wait; raises where no answer can come any more.

    Ranks that read every row together are a team (`RankSettings.team_size`): it is given work as one.
    """

    def __init__(self, kind: type[ZeroRank], settings: RankSettings,
                 placements: Sequence[tuple[dict[str, Any], dict[str, str]]], *, start_timeout_s: float,
                 step_timeout_s: float, watch: Callable[[], None] = lambda: None) -> None:
        self.settings, self.start_timeout_s, self.step_timeout_s = settings, start_timeout_s, step_timeout_s
        self.noun, self._watch = kind.noun, watch
        self._lost = ""
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

    def scatter(self, method: str, per_team: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The same method with each team's own arguments, and its first rank's answer."""
        return self.collect(self.launch(method, per_team))

    def launch(self, method: str, per_team: Sequence[tuple[Any, ...]]) -> Launched:
        """`scatter` without the wait. A rank makes its calls in the order in which they were launched."""
        size = self.settings.team_size
        per_rank = [arguments for arguments in per_team for _ in range(size)]
        return Launched(method, [getattr(rank, method).remote(*arguments)
                                 for rank, arguments in zip(self.ranks, per_rank, strict=True)])

    def collect(self, launched: Launched) -> list[Any]:
        """The answers in the order of the teams; the deadline runs from now on."""
        return self._wait(launched.answers, launched.method, None)[::self.settings.team_size]

    def _wait(self, answers: list[Any], what: str, timeout_s: float | None) -> list[Any]:
        limit = timeout_s or self.step_timeout_s
        if self._lost:  # the deadline of one call is enough: what is asked next, such as a checkpoint, cannot be done
            raise TrainerError(self._lost)
        try:
            return self._answered(answers, limit)
        except ray.exceptions.GetTimeoutError as error:
            self._lost = message(f"the {self.noun}s did not {what} in time", got=f"no answer in {limit:.0f} s",
                                 expected="an answer from each rank",
                                 remedy="raise trainer.step_timeout_s or start_timeout_s")
            raise TrainerError(self._lost) from error
        except ray.exceptions.RayTaskError as error:
            cause = error.cause if isinstance(error.cause, Exception) else error
            raise TrainerError(message(f"a {self.noun} failed in {what}", got=f"{type(cause).__name__}: {cause}",
                                       expected="every rank to finish", remedy="see the traceback above; "
                                       "--resume continues from the last checkpoint")) from error
        except ray.exceptions.RayError as error:
            self._lost = message(f"a {self.noun} died in {what}", got=str(error).strip().splitlines()[0],
                                 expected="every rank to finish",
                                 remedy="out of memory is the usual reason: lower trainer.micro_batch_tokens; "
                                 "--resume continues")
            raise TrainerError(self._lost) from error

    def _answered(self, answers: list[Any], limit_s: float) -> list[Any]:
        """All answers, or the first failure, which does not wait for the others. Raises GetTimeoutError."""
        deadline = time.monotonic() + limit_s
        while True:
            left = max(0.0, deadline - time.monotonic())
            try:
                return list(ray.get(answers, timeout=min(left, WATCH_EVERY_S)))
            except ray.exceptions.GetTimeoutError:
                if left <= WATCH_EVERY_S:
                    raise
            self._watch()

    def close(self) -> None:
        """Free what the ranks hold outside themselves, then end them."""
        if self.ranks:
            ray.wait([rank.close.remote() for rank in self.ranks], num_returns=len(self.ranks), timeout=10.0)
            for rank in self.ranks:
                ray.kill(rank)
        self.ranks = []
