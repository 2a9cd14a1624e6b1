"""A record held against its own answers: a figure that was edited in one of the two files shows here.

All figures of the record are made anew of the answers, as the evaluation made them: means and intervals, a bootstrap's
too, whose draws are the same on every machine; counts, shares and tokens.

Not covered: who made a result, and whether the model gave these answers. Whoever writes both files in agreement is
believed, except for the verdicts, which `leaderboard add --verify` judges anew. Of the record alone stand times, costs
and the tokens of prompts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence

from reasongym.errors import DataError, message
from reasongym.evaluation.prompting import prompts_digest
from reasongym.evaluation.record import Estimate, Result
from reasongym.evaluation.samples import Answer
from reasongym.evaluation.samples import Sample as Answered
from reasongym.evaluation.summary import Figures, figures
from reasongym.leaderboard.entry import Sample, Submission
from reasongym.leaderboard.storable import one_line
from reasongym.records import Prompt
from reasongym.scoring import reward
from reasongym.tasks import Example, RewardPart
from reasongym.verifiers import Status, Verdict

__all__ = ["check_agrees", "check_prompts"]

TOLERANCE = 1e-6
NO_PROMPT = Prompt(example=Example(task="", split="", index=0, messages=(), reference=None), token_ids=(), text="")


def check_agrees(result: Result, made: Submission, rows: Sequence[str]) -> None:
    """rows: keys of the rows that the record says were asked. Raises DataError at the first contradiction.

    Nothing is checked of a result that came without its answers: a board marks it.
    """
    if not made.samples:
        return
    by_row: dict[str, list[Sample]] = {}
    for sample in made.samples:
        by_row.setdefault(sample.row, []).append(sample)
    found = figures(list(_judged_again(result, made, by_row)))
    counted = {"rows": (len(set(rows)), len(by_row.keys() & set(rows))),
               "answers to a row": (result.decoding.samples, len(made.samples) / max(1, len(set(rows)))),
               "partial": (result.partial, found.counts["missing"] > 0),
               **_counts(result, found)}
    for what, (told, given) in counted.items():
        if told != given:
            raise _contradiction(made, what, told, given)
    _check_shares(result, made, found)
    for name, estimate in result.metrics.items():
        _check_estimate(made, name, estimate, found.metrics)


def check_prompts(result: Result, answered: Sequence[Answered]) -> None:
    """Whether the answers are to the prompts of the record, and not another result's. Raises DataError."""
    prompts = {sample.group: sample.prompt for sample in answered}
    if prompts_digest([prompts[group] for group in sorted(prompts)]) != result.prompting.prompts_digest:
        raise DataError(message(f"the answers in a result of {one_line(result.model.path[:200])} are to other prompts",
                                got="prompts whose digest is not the record's", expected="the answers of this result",
                                remedy="evaluate again, or name the folder as it was written"))


def _counts(result: Result, found: Figures) -> dict[str, tuple[object, object]]:
    """What the record tells and what the answers give; a status that it does not name is told to be of no answer."""
    told = {name: (result.counts.get(name, 0), count) for name, count in found.counts.items()}
    return {**{f"counts.{name}": pair for name, pair in told.items()},
            "tokens.completion": (result.tokens.completion, found.tokens.completion),
            "tokens.counted": (result.tokens.counted, found.tokens.counted)}


def _check_shares(result: Result, made: Submission, found: Figures) -> None:
    for name, share in result.shares.items():
        if not _near(share, found.shares.get(name, math.nan)):
            raise _contradiction(made, f"share {one_line(name[:80])}", share, found.shares.get(name))
    if not _near(result.tokens.mean, found.tokens.mean):
        raise _contradiction(made, "tokens.mean", result.tokens.mean, found.tokens.mean)


def _check_estimate(made: Submission, name: str, told: Estimate, found: Mapping[str, Estimate]) -> None:
    """Raises DataError for a metric that is not what the answers give, and for one that this release cannot make."""
    given = found.get(name)
    if given is None:
        raise DataError(message(f"{one_line(name[:80])} of {made.entry.named} cannot be made of its answers",
                                got="a metric of another release, or an edited record",
                                expected=f"some of {', '.join(found)}",
                                remedy="update reasongym, or evaluate again"))
    same = (told.method, told.prompts, told.answers) == (given.method, given.prompts, given.answers)
    if not same or not all(map(_near, (told.mean, told.low, told.high), (given.mean, given.low, given.high))):
        raise _contradiction(made, f"mean and interval of {name}", _in_words(told), _in_words(given))


def _judged_again(result: Result, made: Submission, by_row: Mapping[str, Sequence[Sample]]) -> Iterator[Answered]:
    """The answers as the evaluation had them, by prompt, without their texts: what figures are made of."""
    parts = [RewardPart(name=part.name, verifier=part.verifier, weight=part.weight) for part in result.task.parts]
    for group, samples in enumerate(by_row.values()):
        for sample in samples:
            try:
                verdicts = _verdicts(parts, sample)
                earned = reward(verdicts, parts) if verdicts else None
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise _contradiction(made, f"verdicts of row {one_line(sample.row[:80])}", str(error)[:80],
                                     "a verdict of each part") from error
            answer = Answer(error="missing" if sample.status == "missing" else "", finish_reason=sample.finish_reason,
                            num_tokens=sample.tokens)
            yield Answered(group=group, sample=sample.number, prompt=NO_PROMPT, answer=answer, verdicts=verdicts,
                           reward=earned)


def _verdicts(parts: Sequence[RewardPart], sample: Sample) -> dict[str, Verdict]:
    """Of each part, the main part first. Raises ValueError where the sample says otherwise of the main part."""
    if sample.status == "missing":
        return {}
    if len(parts) == 1:
        return {parts[0].name: Verdict(score=sample.score or 0.0, status=Status(sample.status),
                                       extracted=sample.extracted)}
    told = json.loads(sample.parts)
    verdicts = {part.name: Verdict(score=told[part.name]["score"], status=Status(told[part.name]["status"]),
                                   extracted=told[part.name]["extracted"]) for part in parts}
    main, failed = verdicts[parts[0].name], any(one.status is Status.ERROR for one in verdicts.values())
    if failed != (sample.status == Status.ERROR) or (not failed and (main.status, main.score) != (
            sample.status, sample.score)):
        raise ValueError(f"{sample.status}, and {main.status} of its main part")
    return verdicts


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= TOLERANCE


def _in_words(estimate: Estimate) -> str:
    return (f"{estimate.mean:.6f} [{estimate.low:.6f}, {estimate.high:.6f}] by {estimate.method} over "
            f"{estimate.prompts} prompts with {estimate.answers} answers")


def _contradiction(made: Submission, what: str, told: object, found: object) -> DataError:
    return DataError(message(f"the record of a result of {made.entry.named} contradicts its answers",
                             got=f"{what}: {told}", expected=f"{found}, as its answers give it",
                             remedy="`reasongym rescore` its folder, and add what that writes"))
