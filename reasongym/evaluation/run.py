"""Completions in, scored groups out: answers are scored while others are still being sampled.

Nothing here knows where completions come from: whoever calls passes the stream of an engine pool, or a stand-in.
"""

from __future__ import annotations

import concurrent.futures
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from reasongym.errors import EngineError, ScoringError, message
from reasongym.evaluation.statistics import Interval, wilson_interval
from reasongym.records import Completion, Group, Prompt, Rollout
from reasongym.scoring import ScoringPool, reward
from reasongym.tasks import RewardPart
from reasongym.verifiers import Status, Verdict

__all__ = ["Asked", "Evaluated", "Limits", "Tally", "evaluate"]

Key = tuple[int, int]


class Asked(Protocol):
    """What a completion answers: `key` is (place of the prompt, sample of that prompt), both from 0."""

    @property
    def key(self) -> Key: ...


class Limits(NamedTuple):
    """max_error_share: of all answers asked for. score_timeout_s: longest check of one answer, as the pool has it."""

    max_error_share: float
    score_timeout_s: float


class Evaluated(NamedTuple):
    """groups: one a prompt, in the order of the prompts. sampling_s: from the first request to the last completion."""

    groups: tuple[Group, ...]
    sampling_s: float
    total_s: float


@dataclass
class Tally:
    """What is known so far. `scores` are of the first reward part, answers that a verifier failed on left out."""

    total: int
    sampled: int = 0
    tokens: int = 0
    scores: list[float] = field(default_factory=list)
    errors: int = 0
    prompts: set[int] = field(default_factory=set)
    first_error: str = ""

    @property
    def scored(self) -> int:
        return len(self.scores) + self.errors

    @property
    def mean(self) -> float | None:
        return sum(self.scores) / len(self.scores) if self.scores else None

    @property
    def interval(self) -> Interval | None:
        """Wilson's, a prompt counting as one sample however many of its answers are known: at most too wide."""
        if self.mean is None:
            return None
        return wilson_interval(round(self.mean * len(self.prompts)), len(self.prompts))

    def take(self, key: Key, verdicts: dict[str, Verdict]) -> None:
        """Count one answer's verdicts."""
        failed = [verdict for verdict in verdicts.values() if verdict.status is Status.ERROR]
        if failed:
            self.errors += 1
            self.first_error = self.first_error or failed[0].reason
        else:
            self.scores.append(next(iter(verdicts.values())).score)
            self.prompts.add(key[0])


def evaluate(sampled: Iterable[tuple[Asked, Completion]], prompts: Sequence[Prompt], *, samples: int,
             scoring: ScoringPool, parts: Sequence[RewardPart], limits: Limits,
             watch: Callable[[Tally], None] = lambda tally: None) -> Evaluated:
    """Score `samples` completions of each prompt. `sampled` yields them in any order.

    watch: called after each completion and each verdict. Raises ScoringError as soon as verifiers have failed on more
    than `max_error_share` of all answers or give no verdict at all, EngineError where completions are lacking.
    """
    started = time.monotonic()
    tally = Tally(total=len(prompts) * samples)
    completions: dict[Key, Completion] = {}
    verdicts: dict[Key, dict[str, Verdict]] = {}
    pending: deque[tuple[Key, Future[dict[str, Verdict]]]] = deque()

    def settle(timeout_s: float) -> None:
        key, future = pending.popleft()
        verdicts[key] = _result(future, timeout_s)
        tally.take(key, verdicts[key])
        _check_errors(tally, limits.max_error_share)
        watch(tally)

    for asked, completion in sampled:
        completions[asked.key] = completion
        pending.append((asked.key, scoring.submit(completion.text, prompts[asked.key[0]].example)))
        tally.sampled, tally.tokens = len(completions), tally.tokens + len(completion.token_ids)
        watch(tally)
        while pending and pending[0][1].done():
            settle(0.0)
    sampling_s = time.monotonic() - started
    _check_complete(completions, tally.total)
    while pending:  # workers run side by side, so the answers before this one have their turn at the same time
        settle(limits.score_timeout_s * (2 + len(pending)))
    groups = tuple(_group(row, prompt, samples, completions, verdicts, parts) for row, prompt in enumerate(prompts))
    return Evaluated(groups, sampling_s, time.monotonic() - started)


def _group(row: int, prompt: Prompt, samples: int, completions: dict[Key, Completion],
           verdicts: dict[Key, dict[str, Verdict]], parts: Sequence[RewardPart]) -> Group:
    keys = [(row, sample) for sample in range(samples)]
    return Group(prompt=prompt, rollouts=tuple(
        Rollout(prompt=prompt, completion=completions[key], verdicts=verdicts[key],
                reward=reward(verdicts[key], parts)) for key in keys))


def _result(future: Future[dict[str, Verdict]], timeout_s: float) -> dict[str, Verdict]:
    try:
        return future.result(timeout=timeout_s)
    except concurrent.futures.TimeoutError as error:
        raise ScoringError(message("the scoring pool stands still", got=f"no verdict within {timeout_s:.0f} s",
                                   expected="a verdict for every answer", remedy="raise scoring.workers")) from error


def _check_errors(tally: Tally, limit: float) -> None:
    if tally.errors > limit * tally.total:
        raise ScoringError(message("verifiers fail too often for the score to be trusted",
                                   got=f"{tally.errors} of {tally.scored} answers without a verdict, the first: "
                                       f"{tally.first_error}",
                                   expected=f"at most a share of scoring.max_error_share={limit} of {tally.total}",
                                   remedy="correct the verifier; `reasongym verify` runs it alone"))


def _check_complete(completions: dict[Key, Completion], total: int) -> None:
    if len(completions) != total:
        raise EngineError(message("the engines did not answer everything", got=f"{len(completions)} completions",
                                  expected=f"{total}", remedy="look at Ray's logs; `reasongym doctor`"))
