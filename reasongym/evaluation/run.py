"""Answers in, scored samples out: answers are scored while others are still on their way.

Nothing here knows where answers come from: whoever calls passes the stream of an engine pool, of an endpoint, or a
stand-in.
"""

from __future__ import annotations

import concurrent.futures
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import NamedTuple

from reasongym.errors import EngineError, ScoringError, message
from reasongym.evaluation.samples import Answer, Sample
from reasongym.evaluation.statistics import Interval, wilson_interval
from reasongym.records import Prompt
from reasongym.scoring import ScoringPool, reward
from reasongym.tasks import RewardPart
from reasongym.verifiers import Status, Verdict

__all__ = ["Evaluated", "Key", "Limits", "Tally", "evaluate"]

Key = tuple[int, int]
"""(place of the prompt, sample of that prompt), both from 0."""


class Limits(NamedTuple):
    """max_error_share: of all answers asked for. score_timeout_s: longest check of one answer, as the pool has it."""

    max_error_share: float
    score_timeout_s: float


class Evaluated(NamedTuple):
    """samples: by prompt, then by sample, those without an answer too. sampling_s: until the last answer came."""

    samples: tuple[Sample, ...]
    sampling_s: float
    total_s: float

    @property
    def missing(self) -> int:
        return sum(bool(sample.answer.error) for sample in self.samples)


@dataclass
class Tally:
    """What is known so far. `scores` are of the first reward part, answers that a verifier failed on left out.

    known: answers of an earlier session, which are among `sampled` and not among `tokens`. failed: answers that did not
    come.
    """

    total: int
    known: int = 0
    sampled: int = 0
    failed: int = 0
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

    def take(self, key: Key, verdicts: Mapping[str, Verdict]) -> None:
        """Count one answer's verdicts."""
        failed = [verdict for verdict in verdicts.values() if verdict.status is Status.ERROR]
        if failed:
            self.errors += 1
            self.first_error = self.first_error or failed[0].reason
        else:
            self.scores.append(next(iter(verdicts.values())).score)
            self.prompts.add(key[0])


def evaluate(answers: Iterable[tuple[Key, Answer]], prompts: Sequence[Prompt], *, samples: int, scoring: ScoringPool,
             parts: Sequence[RewardPart], limits: Limits, known: Mapping[Key, Answer] | None = None,
             watch: Callable[[Tally], None] = lambda tally: None) -> Evaluated:
    """Score `samples` answers to each prompt. `answers` yields them in any order, and may leave some out.

    known: answers of an earlier session; `answers` leaves those out. watch: called after each answer and each verdict.
    Raises ScoringError as soon as verifiers have failed on more than `max_error_share` of all answers or give no
    verdict at all, EngineError where not one answer came.
    """
    started = time.monotonic()
    known = known or {}
    tally = Tally(total=len(prompts) * samples, known=len(known))
    got: dict[Key, Answer] = {}
    verdicts: dict[Key, Mapping[str, Verdict]] = {}
    pending: deque[tuple[Key, Future[dict[str, Verdict]]]] = deque()

    def settle(timeout_s: float) -> None:
        key, future = pending.popleft()
        verdicts[key] = _result(future, timeout_s)
        tally.take(key, verdicts[key])
        _check_errors(tally, limits.max_error_share)
        watch(tally)

    for key, answer in _chained(known, answers):
        got[key] = answer
        _count(tally, key, answer)
        if not answer.error:
            pending.append((key, scoring.submit(answer.text, prompts[key[0]].example)))
        watch(tally)
        while pending and pending[0][1].done():
            settle(0.0)
    sampling_s = time.monotonic() - started
    if not tally.sampled:
        raise _no_answer(got)
    while pending:  # workers run side by side, so the answers before this one have their turn at the same time
        settle(limits.score_timeout_s * (2 + len(pending)))
    keys = [(row, sample) for row in range(len(prompts)) for sample in range(samples)]
    made = tuple(_sample(key, prompts, got.get(key), verdicts.get(key, {}), parts) for key in keys)
    return Evaluated(made, sampling_s, time.monotonic() - started)


def _chained(known: Mapping[Key, Answer], answers: Iterable[tuple[Key, Answer]]) -> Iterator[tuple[Key, Answer]]:
    yield from known.items()
    yield from answers


def _count(tally: Tally, key: Key, answer: Answer) -> None:
    if answer.error:
        tally.failed += 1
        return
    tally.sampled += 1
    if tally.sampled > tally.known:
        tally.tokens += answer.num_tokens or 0


def _sample(key: Key, prompts: Sequence[Prompt], answer: Answer | None, verdicts: Mapping[str, Verdict],
            parts: Sequence[RewardPart]) -> Sample:
    answer = answer or Answer(error="not asked: the evaluation ended before", attempts=0)
    return Sample(group=key[0], sample=key[1], prompt=prompts[key[0]], answer=answer, verdicts=verdicts,
                  reward=reward(verdicts, parts) if verdicts else None)


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


def _no_answer(got: Mapping[Key, Answer]) -> EngineError:
    why = next((answer.error for answer in got.values() if answer.error), "nothing came before the deadline")
    return EngineError(message("not one answer came", got=why, expected="an answer to each prompt",
                               remedy="look at the engine's or the endpoint's own log"))
