"""Every answer is scored twice, in two processes that see them in opposite order, without remembering any."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from reasongym.checking.answers import Asked
from reasongym.scoring import ScoringPool
from reasongym.tasks import RewardPart
from reasongym.verifiers import Status, Verdict

__all__ = ["Limits", "Scored", "score_twice"]

_BATCH = 8
_MOST_FAILURES = 5
"""After so many killed or crashed verdicts no further batch is asked: each answer may cost the whole time limit."""


class Limits(NamedTuple):
    """Of a scoring pool: seconds one answer may take, MiB a worker may take beyond its verifiers."""

    timeout_s: float
    memory_mib: int


class Scored(NamedTuple):
    """One answer with the verdicts of both processes, by part."""

    asked: Asked
    verdicts: dict[str, Verdict]
    again: dict[str, Verdict]


def score_twice(parts: Sequence[RewardPart], asked: Sequence[Asked], limits: Limits,
                watch: Callable[[int], None]) -> Iterator[Scored]:
    """Scored answers, in order; stops early where the verifier keeps failing. watch: told how many are done.

    Raises what ScoringPool raises where a worker cannot start.
    """
    done, failures = 0, 0
    with ExitStack() as stack:
        pools = [stack.enter_context(ScoringPool(parts, workers=1, timeout_s=limits.timeout_s, cache_size=0,
                                                 memory_mib=limits.memory_mib)) for _ in range(2)]
        while done < len(asked) and failures < _MOST_FAILURES:
            batch = asked[done:done + _BATCH]
            for scored in _score(pools, batch):
                failures += any(_failed(verdicts) for verdicts in scored[1:])
                yield scored
            done += len(batch)
            watch(done)


def _score(pools: Sequence[ScoringPool], batch: Sequence[Asked]) -> list[Scored]:
    first = [pools[0].submit(asked.response, asked.row) for asked in batch]
    second = [pools[1].submit(asked.response, asked.row) for asked in reversed(batch)]
    return [Scored(asked, one.result(), two.result())
            for asked, one, two in zip(batch, first, reversed(second), strict=True)]


def _failed(verdicts: dict[str, Verdict]) -> bool:
    return any(verdict.status in (Status.ERROR, Status.TIMEOUT) for verdict in verdicts.values())
