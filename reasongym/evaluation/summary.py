"""Scored samples -> the figures of an evaluation, each with its interval."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from reasongym.errors import DataError, message
from reasongym.evaluation.record import Cost, Estimate, Tokens
from reasongym.evaluation.samples import Sample
from reasongym.evaluation.statistics import avg_at_k, bootstrap_interval, maj_at_k, pass_at_k, wilson_interval
from reasongym.verifiers import Status, Verdict

__all__ = ["Figures", "cost", "estimate", "figures"]

RESAMPLES = 2000
MOST_EXACT_VOTES = 16
"""Samples a prompt up to which the majority of every smaller draw is computed too; it takes long for more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What `record.Result` holds under the same names."""

    metrics: dict[str, Estimate]
    counts: dict[str, int]
    shares: dict[str, float]
    tokens: Tokens


def figures(samples: Sequence[Sample]) -> Figures:
    """The figures of all samples of an evaluation, by prompt. Raises DataError where no answer could be scored.

    Answers that did not come and answers that a verifier failed on are in no mean; a time-out is a wrong answer.
    """
    groups = [[s for s in group if s.reward is not None] for _, group in groupby(samples, lambda s: s.group)]
    scored = [group for group in groups if group]
    if not scored:
        raise DataError(message("no answer could be scored", got=f"{len(samples)} answers", expected="one or more",
                                remedy="look at the errors in the answers' file"))
    most = max(sample.sample for sample in samples) + 1
    return Figures(metrics=dict(_metrics(scored, most)), counts=_counts(samples, len(groups)),
                   shares=_shares(samples), tokens=_tokens(samples))


def _metrics(scored: Sequence[Sequence[Sample]], most: int) -> Iterator[tuple[str, Estimate]]:
    main_PN = [[_main(sample).score for sample in group] for group in scored]
    right_PN = [[float(score == 1.0) for score in scores] for scores in main_PN]
    yield "accuracy", estimate(right_PN)
    if any(score not in (0.0, 1.0) for scores in main_PN for score in scores):
        yield "score", estimate(main_PN)
    if most > 1:
        yield from _of_k(f"avg@{most}", right_PN, most, partial(avg_at_k, k=most))
        for k in _ks(most):
            yield from _of_k(f"pass@{k}", right_PN, k, partial(_pass, k=k))
        yield from _majorities(scored, right_PN, most)
    parts = list(scored[0][0].verdicts)
    if len(parts) > 1:
        yield "reward", estimate([[s.reward for s in group if s.reward is not None] for group in scored])
        for part in parts:
            yield f"part/{part}", estimate([[sample.verdicts[part].score for sample in group] for group in scored])


def _of_k(name: str, values_PN: Sequence[list[float]], k: int,
          figure: Callable[[list[float]], float]) -> Iterator[tuple[str, Estimate]]:
    """Over the prompts that have k scored answers or more."""
    enough = [scores for scores in values_PN if len(scores) >= k]
    if enough:
        found = estimate([[figure(scores)] for scores in enough])
        yield name, found.model_copy(update={"answers": sum(map(len, enough))})


def _pass(scores: list[float], *, k: int) -> float:
    return pass_at_k(len(scores), scores.count(1.0), k)


def _majorities(scored: Sequence[Sequence[Sample]], right_PN: Sequence[list[float]],
                most: int) -> Iterator[tuple[str, Estimate]]:
    """Nothing where a right answer has no extracted text: it could not be voted for."""
    if any(_main(s).status is Status.CORRECT and _main(s).extracted is None for group in scored for s in group):
        return
    for k in [k for k in _ks(most) if k > 1 and (most <= MOST_EXACT_VOTES or k == most)]:
        values = [[maj_at_k([_main(s).extracted for s in group], scores, k)]
                  for group, scores in zip(scored, right_PN, strict=True) if len(group) >= k]
        if values:
            yield f"maj@{k}", estimate(values)


def _ks(most: int) -> list[int]:
    """1, 2, 4, ... and all samples."""
    return sorted({1 << power for power in range(most.bit_length()) if 1 << power <= most} | {most})


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
    return Estimate(mean=sum(means) / len(means), low=low, high=high, method="wilson" if wilson else "bootstrap",
                    prompts=len(means), answers=len(flat))


def cost(tokens: Tokens, price_in: float | None, price_out: float | None) -> Cost | None:
    """Of the tokens that are counted, at prices a million tokens; None without a price."""
    if price_in is None and price_out is None:
        return None
    price_in, price_out = price_in or 0.0, price_out or 0.0
    paid_in, paid_out = tokens.prompt * price_in / 1e6, tokens.completion * price_out / 1e6
    return Cost(prompt=paid_in, completion=paid_out, total=paid_in + paid_out, price_in=price_in, price_out=price_out)


def _counts(samples: Sequence[Sample], num_prompts: int) -> dict[str, int]:
    answered = [sample for sample in samples if not sample.answer.error]
    return {"prompts": num_prompts, "answers": len(samples), "answered": len(answered),
            "scored": sum(sample.reward is not None for sample in samples),
            "missing": len(samples) - len(answered), "truncated": sum(s.answer.truncated for s in answered),
            "timeout": sum(_timed_out(sample) for sample in samples),
            **{f"status_{status}": sum(sample.status is status for sample in samples) for status in Status}}


def _shares(samples: Sequence[Sample]) -> dict[str, float]:
    counts = _counts(samples, 0)
    names = {"truncated": "truncated", "unparsable": "status_unparsable", "timeout": "timeout",
             "error": "status_error", "missing": "missing"}
    return {name: counts[count] / len(samples) for name, count in names.items()}


def _tokens(samples: Sequence[Sample]) -> Tokens:
    counted = [sample.answer for sample in samples if sample.answer.num_tokens is not None]
    sampled = sum(answer.num_tokens or 0 for answer in counted)
    return Tokens(prompt=sum(answer.num_prompt_tokens or 0 for answer in counted), completion=sampled,
                  counted=len(counted), mean=sampled / len(counted) if counted else 0.0)


def _main(sample: Sample) -> Verdict:
    assert sample.main is not None
    return sample.main


def _timed_out(sample: Sample) -> bool:
    return any(verdict.status is Status.TIMEOUT for verdict in sample.verdicts.values())
