"""Two results on the same rows: are the models different, how sure is that, and on which rows.

Rows of one data set have their number, and so have those that a generator makes from one seed. Otherwise (of GSM8K one
file was read, or both) rows are the same whose question and reference are, wherever they stand; a question that is
there twice counts twice.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from reasongym.errors import DataError, message
from reasongym.evaluation.fingerprints import digest_of
from reasongym.evaluation.record import Result
from reasongym.evaluation.samples import Sample
from reasongym.evaluation.statistics import PairedComparison, compare_paired
from reasongym.tasks import Example

__all__ = ["Comparison", "Row", "compare", "differing_settings"]

RESAMPLES, RESAMPLES_OF_MANY, MANY = 5000, 1000, 10_000
"""Of the interval, by the number of rows: 5,000 of 100,000 rows take two minutes."""
Key = tuple[str, int]
"""What a row is known by, and which it is of those that are known by the same."""


class Row(NamedTuple):
    """One row of the task with both models' scored samples. number: its index in the split of the first."""

    number: int
    first: tuple[Sample, ...]
    second: tuple[Sample, ...]

    @property
    def difference(self) -> float:
        """First minus second, of the mean shares of right answers."""
        return _mean(_right(self.first)) - _mean(_right(self.second))


class Comparison(NamedTuple):
    """test: `McNemar` of single answers, else `sign-flip`. rows: that both have. left_out: rows that one lacks."""

    paired: PairedComparison
    test: str
    first: float
    second: float
    rows: tuple[Row, ...]
    left_out: int

    @property
    def differing(self) -> list[Row]:
        """Rows on which the two differ, the largest differences first."""
        return sorted((row for row in self.rows if row.difference), key=lambda row: (-abs(row.difference), row.number))


def compare(first: Result, first_samples: Sequence[Sample], second: Result,
            second_samples: Sequence[Sample]) -> Comparison:
    """A paired test of accuracy over the rows that both results have answers to.

    Raises DataError where the results are of different splits, share no row, or have other problems under one number:
    such a difference says nothing.
    """
    _check_split(first, second)
    numbered = _have_one_numbering(first, second)
    ours, theirs = _by_row(first_samples, numbered), _by_row(second_samples, numbered)
    common = [key for key in ours if key in theirs]
    if not common:
        raise _nothing_shared(first, second, numbered, f"{len(ours)} and {len(theirs)} scored rows")
    rows = tuple(Row(ours[key][0].prompt.example.index, tuple(ours[key]), tuple(theirs[key])) for key in common)
    _check_rows(rows)
    first_PN, second_PN = [_right(row.first) for row in rows], [_right(row.second) for row in rows]
    single = all(len(scores) == 1 for scores in [*first_PN, *second_PN])
    paired = compare_paired(first_PN, second_PN, resamples=RESAMPLES if len(rows) <= MANY else RESAMPLES_OF_MANY)
    return Comparison(paired, "McNemar" if single else "sign-flip", _mean([_mean(scores) for scores in first_PN]),
                      _mean([_mean(scores) for scores in second_PN]), rows,
                      len(ours.keys() | theirs.keys()) - len(common))


def differing_settings(first: Result, second: Result) -> dict[str, tuple[object, object]]:
    """What else than the model differs between the two, and may be the reason of a difference."""
    def settings(result: Result) -> Mapping[str, object]:
        decoding, prompting = result.decoding, result.prompting
        return {"data": result.task.fingerprint[:12], "decoding": json.dumps(decoding.sent, sort_keys=True),
                "samples": decoding.samples, "system prompt": prompting.system, "shots": prompting.shots,
                "thinking": prompting.thinking,
                "task settings": json.dumps(result.task.settings, sort_keys=True, default=str),
                "engine": result.engine.kind, "api": result.engine.api, "dtype": result.model.dtype,
                "template": (prompting.template_hash or "")[:12], "partial": result.partial,
                "verifiers": ", ".join(f"{part.verifier} {part.fingerprint[:12]}" for part in result.task.parts)}

    ours, theirs = settings(first), settings(second)
    return {name: (ours[name], theirs[name]) for name in ours if ours[name] != theirs[name]}


def _check_split(first: Result, second: Result) -> None:
    ours, theirs = first.task.split, second.task.split
    if ours != theirs:
        raise DataError(message("the results are of different splits", got=f"{ours} and {theirs}",
                                expected="the same rows for both", remedy="evaluate both on the same --split"))


def _have_one_numbering(first: Result, second: Result) -> bool:
    """Whether a number is the same row for both: a generator's fingerprint does not tell the seed."""
    ours, theirs = first.task, second.task
    drawn = "rows" not in ours.provenance and first.decoding.seed != second.decoding.seed
    return bool(ours.fingerprint) and ours.fingerprint == theirs.fingerprint and not drawn


def _nothing_shared(first: Result, second: Result, numbered: bool, counted: str) -> DataError:
    if numbered:
        return DataError(message("the results share no row", got=counted, expected="rows that both were asked",
                                 remedy="evaluate both with the same --limit and --seed"))
    data = [one.task.fingerprint[:12] or "none" for one in (first, second)]
    return DataError(message("the results are of different data, and share no row",
                             got=f"{counted} of {data[0]} and {data[1]}", expected="rows that both were asked",
                             remedy="evaluate both on the same --data, with the same --seed and --set"))


def _check_rows(rows: Sequence[Row]) -> None:
    """A generator's rows depend on its settings, which its fingerprint does not tell either."""
    for row in rows:
        one, other = (samples[0].prompt.example.reference for samples in (row.first, row.second))
        if one != other:
            raise DataError(message(f"row {row.number} is another problem in each result",
                                    got=f"references {one!r:.40} and {other!r:.40}", expected="the same",
                                    remedy="evaluate both with the same --seed and task settings"))


def _by_row(samples: Sequence[Sample], numbered: bool) -> dict[Key, list[Sample]]:
    """Row -> samples with a verdict that counts. numbered: rows are known by their number, else by what they ask."""
    keys = {sample.prompt.example.index: sample.prompt.example for sample in samples}
    named: dict[int, Key] = {index: (str(index), 0) for index in keys}
    if not numbered:
        seen = Counter[str]()
        for index, example in sorted(keys.items()):
            digest = digest_of([_question(example), example.reference])
            named[index] = (digest, seen[digest])
            seen[digest] += 1
    found: dict[Key, list[Sample]] = {}
    for sample in samples:
        if sample.reward is not None:
            found.setdefault(named[sample.prompt.example.index], []).append(sample)
    return found


def _question(example: Example) -> str:
    """The last turn: before it stand a system prompt and solved rows, which are the evaluation's."""
    return str(example.messages[-1]["content"]) if example.messages else ""


def _right(samples: Sequence[Sample]) -> list[float]:
    return [float(sample.main is not None and sample.main.score == 1.0) for sample in samples]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
