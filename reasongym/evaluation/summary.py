"""Scored groups -> the figures of an evaluation, each with its interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from reasongym.evaluation.statistics import bootstrap_interval, pass_at_k, wilson_interval
from reasongym.records import FinishReason, Group, Rollout
from reasongym.verifiers import Status

__all__ = ["Estimate", "Summary", "estimate", "summarize"]

RESAMPLES = 2000


class Estimate(NamedTuple):
    """A mean over prompts and its 95 % interval. prompts, answers: what it rests on."""

    mean: float
    low: float
    high: float
    method: Literal["wilson", "bootstrap"]
    prompts: int
    answers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """parts: by reward part. reward: the weighted sum. pass_at_k: by k, of the first part, empty for one sample.

    Answers that a verifier failed on are in none of these. The counts are of all answers: `statuses` of the first part
    (`error` where any failed), `truncated` of those cut off at the token limit, `timeouts` of those with any part
    killed. tokens: sampled by the model.
    """

    parts: dict[str, Estimate]
    reward: Estimate
    pass_at_k: dict[int, Estimate]
    prompts: int
    answers: int
    statuses: dict[Status, int]
    truncated: int
    timeouts: int
    tokens: int

    @property
    def shares(self) -> dict[str, float]:
        """Of all answers: truncated, unparsable, timeout, error."""
        counts = {"truncated": self.truncated, "unparsable": self.statuses[Status.UNPARSABLE],
                  "timeout": self.timeouts, "error": self.statuses[Status.ERROR]}
        return {name: count / self.answers for name, count in counts.items()}

    @property
    def mean_tokens(self) -> float:
        """Length of a completion, in tokens."""
        return self.tokens / self.answers


def summarize(groups: Sequence[Group]) -> Summary:
    """The figures of the groups. Raises DataError where no answer could be scored."""
    rollouts = [rollout for group in groups for rollout in group.rollouts]
    parts = list(rollouts[0].verdicts)
    scores = {part: _scores(groups, part) for part in parts}
    return Summary(
        parts={part: estimate(scores_PN) for part, scores_PN in scores.items()},
        reward=estimate([[r.reward for r in group.valid if r.reward is not None] for group in groups if group.valid]),
        pass_at_k=_pass_at_k(scores[parts[0]], max(len(group.rollouts) for group in groups)),
        prompts=len(groups), answers=len(rollouts),
        statuses={status: sum(rollout.status is status for rollout in rollouts) for status in Status},
        truncated=sum(rollout.completion.finish_reason is FinishReason.LENGTH for rollout in rollouts),
        timeouts=sum(_timed_out(rollout) for rollout in rollouts),
        tokens=sum(len(rollout.completion.token_ids) for rollout in rollouts))


def estimate(scores_PN: Sequence[Sequence[float]]) -> Estimate:
    """Mean over prompts of each prompt's mean score, with its interval.

    Wilson's for one 0/1 score a prompt; otherwise the bootstrap over prompts. Where all scores are 0, or all 1, every
    resample is alike and the bootstrap's interval has no width at all: Wilson's over prompts stands in, which takes the
    samples of a prompt for one. Raises DataError without prompts.
    """
    flat = [score for scores in scores_PN for score in scores]
    means = [sum(scores) / len(scores) for scores in scores_PN]
    single = len(flat) == len(means) and all(score in (0.0, 1.0) for score in flat)
    wilson = single or set(flat) in ({0.0}, {1.0})
    low, high = (wilson_interval(round(sum(means)), len(means)) if wilson
                 else bootstrap_interval(scores_PN, resamples=RESAMPLES))
    return Estimate(sum(means) / len(means), low, high, "wilson" if wilson else "bootstrap", len(means), len(flat))


def _scores(groups: Iterable[Group], part: str) -> list[list[float]]:
    """Prompts by samples, without those that a verifier failed on; a prompt that loses all is left out."""
    return [[rollout.verdicts[part].score for rollout in group.valid] for group in groups if group.valid]


def _pass_at_k(main_PN: Sequence[Sequence[float]], samples: int) -> dict[int, Estimate]:
    """k = 1, 2, 4, ... and all samples. A prompt that lost samples to errors is left out where fewer than k remain."""
    ks = sorted({1 << power for power in range(samples.bit_length()) if 1 << power <= samples} | {samples})
    found = {}
    for k in ks if samples > 1 else ():
        values = [[pass_at_k(len(scores), scores.count(1.0), k)] for scores in main_PN if len(scores) >= k]
        if values:
            found[k] = estimate(values)
    return found


def _timed_out(rollout: Rollout) -> bool:
    return any(verdict.status is Status.TIMEOUT for verdict in rollout.verdicts.values())
