"""Prompts in, scored groups out: answers are scored while others are still being sampled."""

from __future__ import annotations

import concurrent.futures
import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from reasongym.config import RunConfig
from reasongym.config.policy_gradient import DynamicSamplingConfig
from reasongym.errors import ScoringError, message
from reasongym.records import Completion, FinishReason, Group, Prompt, Rollout
from reasongym.rollout.pool import EnginePool
from reasongym.rollout.requests import Request, requests_for
from reasongym.scoring import ScoringPool, reward
from reasongym.tasks import RewardPart
from reasongym.verifiers import Status, Verdict

__all__ = [
    "Batch",
    "Collected",
    "Sampling",
    "check_errors",
    "collect",
    "dynamic_sampling",
    "group_metrics",
    "valid_rewards",
]


_Answer = tuple[Completion, concurrent.futures.Future[dict[str, Verdict]]]


class Sampling(NamedTuple):
    """How many answers a prompt, how long, how random, from which seed."""

    samples: int
    max_new_tokens: int
    temperature: float
    seed: int


class Batch(NamedTuple):
    """A step's. groups: all that were sampled for it. chosen: those that are trained on."""

    groups: list[Group]
    chosen: list[Group]
    metrics: dict[str, float]


class Collected(NamedTuple):
    """num_scored_early: answers whose verdict was there before the last answer was sampled. wait_seconds: from the last
    answer to the last verdict. abandoned: places among the prompts of those whose groups were broken off."""

    groups: list[Group]
    num_scored_early: int
    wait_seconds: float
    abandoned: tuple[int, ...] = ()

    @property
    def num_begun(self) -> int:
        """Groups, those broken off included."""
        return len(self.groups) + len(self.abandoned)


def collect(pool: EnginePool, scoring: ScoringPool, parts: Sequence[RewardPart], prompts: Sequence[Prompt],
            sampling: Sampling, *, step: int, watch: Callable[[int, int], None], score_timeout_s: float,
            first_row: int = 0, enough: int | None = None) -> Collected:
    """Groups in the order of the prompts, rollouts in the order of their samples, however they ended.

    watch(sampled, total) is called as each completion ends and may raise to break off. first_row: the first prompt's
    place in the step, of which its seeds are made. enough: as many groups are taken, those whose last answer ends
    first, and the others broken off; None takes all.
    """
    requests = requests_for(prompts, samples=sampling.samples, max_new_tokens=sampling.max_new_tokens,
                            temperature=sampling.temperature, seed=sampling.seed, step=step, first_row=first_row)
    answers, whole = _sampled(pool, scoring, requests, samples=sampling.samples, enough=enough, watch=watch)
    sampled = time.monotonic()
    kept = set(whole)
    answers = {key: answer for key, answer in answers.items() if key[0] in kept}
    early = sum(verdicts.done() for _, verdicts in answers.values())
    deadline = sampled + score_timeout_s * (2 + len(requests))
    rollouts = {key: _scored(prompts[key[0]], answer, parts, deadline) for key, answer in answers.items()}
    groups = [Group(prompt=prompts[row], rollouts=tuple(rollouts[row, sample] for sample in range(sampling.samples)))
              for row in sorted(whole)]
    return Collected(groups, early, time.monotonic() - sampled,
                     tuple(row for row in range(len(prompts)) if row not in kept))


def _sampled(pool: EnginePool, scoring: ScoringPool, requests: Sequence[Request], *, samples: int, enough: int | None,
             watch: Callable[[int, int], None]) -> tuple[dict[tuple[int, int], _Answer], list[int]]:
    """Answers by their requests' keys, and the rows all of whose `samples` ended, in the order in which they did."""
    answers: dict[tuple[int, int], _Answer] = {}
    ended = Counter[int]()
    whole: list[int] = []
    stream = pool.stream(requests, idle=lambda: watch(len(answers), len(requests)))
    with contextlib.closing(stream):  # what is still being sampled is cancelled then
        for request, completion in stream:
            row = request.key[0]
            answers[request.key] = completion, scoring.submit(completion.text, request.prompt.example)
            watch(len(answers), len(requests))
            ended[row] += 1
            if ended[row] == samples:
                whole.append(row)
            if len(whole) == enough:
                break
    return answers, whole


def _scored(prompt: Prompt, answer: _Answer, parts: Sequence[RewardPart], deadline: float) -> Rollout:
    """deadline: of its verdicts, as time.monotonic(). Raises ScoringError."""
    completion, verdicts = answer
    try:
        found = verdicts.result(timeout=max(0.0, deadline - time.monotonic()))
    except concurrent.futures.TimeoutError as error:
        raise ScoringError(message("the scoring pool stands still", got="no verdict before the deadline",
                                   expected="a verdict for every answer", remedy="raise scoring.workers")) from error
    return Rollout(prompt=prompt, completion=completion, verdicts=found, reward=reward(found, parts))


def group_metrics(groups: Sequence[Group], seconds: float, *, prefix: str = "") -> dict[str, float]:
    """What sampling and scoring say of a batch: rewards by part, lengths, truncation, flat groups, statuses."""
    rollouts = [rollout for group in groups for rollout in group.rollouts]
    valid = [rollout for group in groups for rollout in group.valid]
    tokens = sum(len(r.completion.token_ids) for r in rollouts)
    values = {f"{prefix}reward/mean": _mean(r.reward for r in valid if r.reward is not None)}
    for part in rollouts[0].verdicts:
        values[f"{prefix}reward/{part}"] = _mean(r.verdicts[part].score for r in valid)
    place = prefix or "rollout/"
    values |= {f"{place}length_mean": tokens / len(rollouts),
               f"{place}truncated_share": _mean(r.completion.finish_reason is FinishReason.LENGTH for r in rollouts)}
    if prefix:
        return values | {f"{prefix}prompts": float(len(groups))}
    statuses = Counter(r.status for r in rollouts)
    values |= {f"status/{status.value}": statuses[status] / len(rollouts) for status in Status}
    return values | {"rollout/tokens": float(tokens), "rollout/seconds": seconds,
                     "rollout/tokens_per_second": tokens / max(seconds, 1e-9),
                     "rollout/flat_group_share": _mean(group.is_flat for group in groups)}


def valid_rewards(group: Group) -> list[float]:
    """Those that can be trusted."""
    return [rollout.reward for rollout in group.valid if rollout.reward is not None]


def dynamic_sampling(config: RunConfig) -> DynamicSamplingConfig | None:
    """The algorithm's, where it has one that is on."""
    found = getattr(config.algorithm, "dynamic_sampling", None)
    return found if found is not None and found.enabled else None


def check_errors(groups: Sequence[Group], limit: float) -> None:
    """Raise ScoringError when verifiers failed on a larger share of the answers than `limit`."""
    rollouts = [rollout for group in groups for rollout in group.rollouts]
    failed = [rollout for rollout in rollouts if rollout.reward is None]
    if len(failed) <= limit * len(rollouts):
        return
    reason = next(v.reason for v in failed[0].verdicts.values() if v.status is Status.ERROR)
    raise ScoringError(message("verifiers fail too often for the rewards to be trusted",
                               got=f"{len(failed)} of {len(rollouts)} answers without a verdict, the first: {reason}",
                               expected=f"at most a share of scoring.max_error_share={limit}",
                               remedy="correct the verifier (`reasongym verify` runs it alone); the answers are in "
                               "the run's rollouts folder"))


def _mean(values: Iterable[float]) -> float:
    found = [float(v) for v in values]
    return sum(found) / len(found) if found else float("nan")
