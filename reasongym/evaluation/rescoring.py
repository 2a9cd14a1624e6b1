"""Answers that were kept, verified again with today's verifiers, and what that changed."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from reasongym.config.sections import ScoringConfig
from reasongym.errors import DataError, message
from reasongym.evaluation.judging import open_judges
from reasongym.evaluation.record import Result
from reasongym.evaluation.run import Evaluated, Limits, Tally, evaluate
from reasongym.evaluation.samples import Answer, Sample
from reasongym.evaluation.summary import cost, figures
from reasongym.records import Prompt
from reasongym.scoring import ScoringPool
from reasongym.tasks import RewardPart
from reasongym.verifiers import Verdict

__all__ = ["Change", "Rescored", "changes", "rescore", "rescored_parts", "scoring_limits", "transitions"]


class Rescored(NamedTuple):
    """result: with today's figures and verifier fingerprints."""

    result: Result
    samples: tuple[Sample, ...]


class Change(NamedTuple):
    """One answer whose main verdict is another one now."""

    sample: Sample
    before: Verdict
    after: Verdict


def rescored_parts(result: Result, verifiers: Sequence[str]) -> tuple[RewardPart, ...]:
    """The result's own, or one for each verifier that is named.

    Raises DataError where the result's own is a file's: a result may be somebody else's, and would run code here.
    """
    if verifiers:
        return tuple(RewardPart(name=name.rpartition(":")[2], verifier=name, weight=1.0) for name in verifiers)
    files = [part.verifier for part in result.task.parts if part.verifier.rpartition(":")[0].endswith(".py")]
    if files:
        raise DataError(message("the result was judged by a verifier in a file, which would be run", got=files[0],
                                expected="a verifier of reasongym or of an installed package",
                                remedy=f"`reasongym rescore RESULT --verifier {files[0]}` where you trust that file"))
    return tuple(RewardPart(name=part.name, verifier=part.verifier, weight=part.weight) for part in result.task.parts)


def scoring_limits(result: Result, workers: int | None = None) -> ScoringConfig:
    """Time, memory and share of errors as the result had them; how many processes is this machine's own affair."""
    kept = {key: result.scoring[key] for key in ("timeout_s", "memory_mib", "max_error_share") if key in result.scoring}
    return ScoringConfig(**kept, **({"workers": workers} if workers else {}))


def rescore(result: Result, samples: Sequence[Sample], *, parts: Sequence[RewardPart], limits: ScoringConfig,
            folder: str, watch: Callable[[Tally], None] = lambda tally: None) -> Rescored:
    """Verify every answer that came. folder: of `result`, for the record.

    Raises ScoringError as `evaluate` does and where a verifier changes meanwhile, DataError where the prompts of
    `samples` are not numbered without a gap.
    """
    with open_judges(parts, limits) as judges:
        evaluated = _verified(samples, parts, judges.pool, Limits(limits.max_error_share, limits.timeout_s), watch)
        judges.check_unchanged()
    found = figures(evaluated.samples)
    changed: dict[str, Any] = {
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "task": result.task.model_copy(update={"parts": judges.records}),
        "metrics": found.metrics, "counts": found.counts, "shares": found.shares, "tokens": found.tokens,
        "cost": cost(found.tokens, result.cost.price_in, result.cost.price_out) if result.cost else None,
        "rescored_from": {"folder": folder, "created": result.created,
                          "verifiers": {part.name: part.fingerprint for part in result.task.parts}},
    }
    return Rescored(result.model_copy(update=changed), evaluated.samples)


def changes(before: Sequence[Sample], after: Sequence[Sample]) -> list[Change]:
    """Answers whose status or score of the main part differs; both in the same order."""
    found = []
    for old, new in zip(before, after, strict=True):
        if old.main and new.main and (old.status, old.main.score) != (new.status, new.main.score):
            found.append(Change(new, old.main, new.main))
    return found


def transitions(found: Sequence[Change]) -> Counter[tuple[str, str]]:
    """(status before, status after) -> answers."""
    return Counter((str(change.before.status), str(change.after.status)) for change in found)


def _verified(samples: Sequence[Sample], parts: Sequence[RewardPart], scoring: ScoringPool, limits: Limits,
              watch: Callable[[Tally], None]) -> Evaluated:
    prompts: dict[int, Prompt] = {}
    answers: dict[tuple[int, int], Answer] = {}
    for sample in samples:
        prompts.setdefault(sample.group, sample.prompt)
        answers[sample.group, sample.sample] = sample.answer
    most = max((sample.sample for sample in samples), default=-1) + 1
    keys = [(group, number) for group in range(len(prompts)) for number in range(most)]
    if not samples or list(answers) != keys or len(samples) != len(keys):
        raise DataError(message("the answers of a result are not whole", got=f"{len(samples)} answers",
                                expected=f"{most} of each of {len(prompts)} prompts, in order",
                                remedy="evaluate again"))
    evaluated = evaluate(answers.items(), [prompts[group] for group in range(len(prompts))], samples=most,
                         scoring=scoring, parts=parts, limits=limits, watch=watch)
    # Reasons why there is no answer are kept as they were, and so is each sample's own prompt.
    return evaluated._replace(samples=tuple(replace(new, prompt=old.prompt)
                                            for old, new in zip(samples, evaluated.samples, strict=True)))
