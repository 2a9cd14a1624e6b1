"""What the store holds of a result: frozen records without a database, and the digest that tells two results apart."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

from reasongym.errors import DataError, message
from reasongym.leaderboard.storable import one_line, storable
from reasongym.verifiers import Status

__all__ = ["Entry", "Metric", "Sample", "Submission"]


TOLERANCE = 1e-6
MOST = 2**63 - 1
"""The largest count a database's column takes."""
MOST_NUMBER = 2**31 - 1
"""The same of an answer's number."""
STATUSES = frozenset({*Status, "missing"})
UNSCORED = frozenset({Status.ERROR, "missing"})


class Metric(NamedTuple):
    """A mean over prompts and its 95 % interval. method: how the interval was made. answers: what it rests on."""

    name: str
    mean: float
    low: float
    high: float
    method: str
    prompts: int
    answers: int


class Sample(NamedTuple):
    """One answer. row: which row of the data, as text. number: which answer to it, from 0.

    status: of the main part, `error` where any part failed, `missing` where no answer came; score: None for these two.
    extracted: None where nothing was found. parts: JSON of the verdicts of all parts, empty where there is only one.
    tokens: sampled. seconds: of sampling.
    """

    row: str
    number: int
    prompt: str
    reasoning: str
    completion: str
    reference: str
    extracted: str | None
    status: str
    score: float | None
    reason: str
    parts: str
    finish_reason: str
    tokens: int | None
    seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A result without its samples: what a board shows, as columns, and `record`, the whole of it as JSON text.

    label: what tells this from other results of the same model (decoding, shots). variant: JSON of what else may tell
    it from them; a board shows of it what differs. settings: of the task, JSON.
    verifier_version: fingerprint of the main part's verifier. created_at: ISO 8601, UTC. headline: the metric that
    ranks. truncated, unparsable, timeouts, errors, missing: answers, of `answers` asked for. seconds: of the
    evaluation. cost: in the currency of its prices, where known. partial: not every answer came. substitute_for: the
    data set that other rows stood in for, or empty. split_rows: of the data's split, None of a generator. overlap:
    share of the rows that stand in training data, None where none was compared. run, step: of an evaluation within a
    training run, see `reading.run_key`; None of any other.
    """

    model: str
    label: str
    task: str
    split: str
    settings: str
    data_fingerprint: str
    verifier: str
    verifier_version: str
    prompt_hash: str
    created_at: str
    engine: str
    commit: str
    prompts: int
    answers: int
    truncated: int
    unparsable: int
    timeouts: int
    errors: int
    missing: int
    tokens: int
    seconds: float
    cost: float | None
    partial: bool
    headline: str
    substitute_for: str
    record: str
    split_rows: int | None = None
    overlap: float | None = None
    variant: str = ""
    run: str | None = None
    step: int | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, str):
                object.__setattr__(self, field.name, storable(value))

    @property
    def named(self) -> str:
        """The model in a message: on one line, and not endless."""
        return one_line(self.model[:200])


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A result as it enters the store or leaves it: the entry, its metrics, its samples (none where not shared)."""

    entry: Entry
    metrics: tuple[Metric, ...]
    samples: tuple[Sample, ...]

    @classmethod
    def checked(cls, entry: Entry, metrics: Sequence[Metric], samples: Iterable[Sample]) -> Self:
        """With all text storable. Raises DataError for rows that stand in for a data set, for a metric that is no
        estimate, for a headline that is missing or is not what the samples give, and for an answer given twice."""
        made = cls(entry=entry, metrics=tuple(metric._replace(name=storable(metric.name)) for metric in metrics),
                   samples=tuple(map(_storable, samples)))
        for check in (_check_rows, _check_counts, _check_metrics, _check_samples, _check_numbers, _check_headline):
            check(made)
        return made

    @property
    def main(self) -> Metric:
        """The metric that ranks."""
        return next(metric for metric in self.metrics if metric.name == self.entry.headline)

    @property
    def digest(self) -> str:
        """SHA-256 of record and samples, as 64 hexadecimal digits: the same result has the same one in every store."""
        hasher = hashlib.sha256(self.entry.record.encode("utf-8") + b"\n")
        for sample in self.samples:
            hasher.update(json.dumps(sample, separators=(",", ":")).encode("ascii") + b"\n")
        return hasher.hexdigest()

    @property
    def answers_digest(self) -> str | None:
        """SHA-256 of the answers and their verdicts, whoever gave them and however; None without samples."""
        hasher = hashlib.sha256()
        for sample in self.samples:
            told = [sample.row, sample.number, sample.completion, sample.status]
            hasher.update(json.dumps(told, separators=(",", ":")).encode("ascii") + b"\n")
        return hasher.hexdigest() if self.samples else None

    def row_means(self) -> dict[str, float]:
        """Row -> mean of what the headline is the mean of: the share of right answers, or the score. Rows without a
        scored answer are left out; the order is that of the keys."""
        scores: dict[str, list[float]] = {}
        for sample in self.samples:
            if sample.score is not None:
                right = float(sample.status == "correct") if self.entry.headline == "accuracy" else sample.score
                scores.setdefault(sample.row, []).append(right)
        return {row: math.fsum(values) / len(values) for row, values in sorted(scores.items())}


def _storable(sample: Sample) -> Sample:
    values: list[Any] = [storable(value) if isinstance(value, str) else value for value in sample]
    return Sample(*values)


def _check_rows(made: Submission) -> None:
    entry = made.entry
    if entry.substitute_for:
        raise DataError(message(f"a result of {entry.named} is not one on {entry.substitute_for}",
                                got=f"rows that stood in for {entry.substitute_for}", expected="rows of the data set",
                                remedy="evaluate with --data, or under the name of the task that made the rows"))


def _check_counts(made: Submission) -> None:
    counts = {field.name: getattr(made.entry, field.name) for field in fields(Entry)}
    counts |= {f"{metric.name}.{name}": value for metric in made.metrics for name, value in metric._asdict().items()}
    impossible = {name: value for name, value in counts.items()
                  if type(value) is int and not 0 <= value <= MOST}
    if impossible:
        raise DataError(message(f"a result of {made.entry.named} counts what cannot be", got=one_line(str(impossible)),
                                expected=f"0 to {MOST}", remedy="evaluate again"))


def _check_metrics(made: Submission) -> None:
    names = [metric.name for metric in made.metrics]
    if made.entry.headline not in names or len(set(names)) != len(names):
        raise DataError(message(f"a result of {made.entry.named} has no single headline",
                                got=one_line(str(sorted(names))),
                                expected=f"each metric once, {made.entry.headline!r} among them",
                                remedy="evaluate again"))
    for metric in made.metrics:
        numbers = (metric.low, metric.mean, metric.high)
        if not all(map(math.isfinite, numbers)) or not metric.low <= metric.high:
            raise DataError(message(f"{metric.name} of {made.entry.named} is no estimate", got=numbers,
                                    expected="finite numbers, the low bound not above the high one",
                                    remedy="evaluate again"))


def _check_samples(made: Submission) -> None:
    keys = {(sample.row, sample.number) for sample in made.samples}
    if len(keys) != len(made.samples):
        raise DataError(message(f"a result of {made.entry.named} holds an answer twice",
                                got=f"{len(made.samples)} samples of {len(keys)} answers",
                                expected="each (row, number) once", remedy="evaluate again"))
    wrong = next((sample for sample in made.samples if not _is_sound(sample)), None)
    if wrong is not None:
        raise DataError(message(f"a verdict in a result of {made.entry.named} contradicts itself",
                                got=f"row {wrong.row}: {wrong.status} with score {wrong.score}",
                                expected="1 if correct, between 0 and 1 if partial, none if error or missing, else 0",
                                remedy="`reasongym rescore`, and add what that writes"))
    strange = {sample.status for sample in made.samples} - STATUSES
    if strange:
        raise DataError(message(f"a result of {made.entry.named} holds an unknown verdict", got=sorted(strange),
                                expected=f"one of {', '.join(sorted(STATUSES))}", remedy="update reasongym"))


def _check_numbers(made: Submission) -> None:
    """What a column does not hold, or gives back as something else: SQLite keeps NaN as nothing."""
    wrong = next((sample for sample in made.samples if not _is_countable(sample)), None)
    if wrong is not None:
        raise DataError(message(f"an answer in a result of {made.entry.named} counts what cannot be",
                                got=f"row {one_line(wrong.row[:80])}: number {wrong.number}, {wrong.tokens} tokens, "
                                    f"{wrong.seconds} s", expected=f"numbers from 0, of an answer up to {MOST_NUMBER}",
                                remedy="evaluate again"))


def _is_countable(sample: Sample) -> bool:
    return (0 <= sample.number <= MOST_NUMBER and (sample.tokens is None or 0 <= sample.tokens <= MOST)
            and (sample.seconds is None or 0 <= sample.seconds < math.inf))


def _is_sound(sample: Sample) -> bool:
    if sample.status in UNSCORED:
        return sample.score is None
    if sample.score is None:
        return False
    return 0 < sample.score < 1 if sample.status == "partial" else sample.score == float(sample.status == "correct")


def _check_headline(made: Submission) -> None:
    """A board sorted by numbers that their own samples contradict would rank whoever edits a file."""
    means = made.row_means()
    if not means:
        return
    given = math.fsum(means.values()) / len(means)
    if abs(given - made.main.mean) > TOLERANCE:
        raise DataError(message(f"{made.entry.headline} of {made.entry.named} is not what its samples give",
                                got=f"{made.main.mean:.6f}", expected=f"{given:.6f} over {len(means)} rows",
                                remedy="`reasongym rescore`, and add what that writes"))
