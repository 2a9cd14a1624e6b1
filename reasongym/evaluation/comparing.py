"""Two results on the same rows: are the models different, how sure is that, and on which rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from reasongym.errors import DataError, message
from reasongym.evaluation.record import Result
from reasongym.evaluation.samples import Sample
from reasongym.evaluation.statistics import PairedComparison, compare_paired

__all__ = ["Comparison", "Row", "compare", "differing_settings"]


class Row(NamedTuple):
    """One row of the task with both models' scored samples. number: its index in the split."""

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

    Raises DataError where the results are of different data, splits or rows: such a difference says nothing.
    """
    _check_data(first, second)
    ours, theirs = _by_row(first_samples), _by_row(second_samples)
    common = [index for index in ours if index in theirs]
    if not common:
        raise DataError(message("the results share no row", got=f"{len(ours)} and {len(theirs)} scored rows",
                                expected="rows that both were asked", remedy="evaluate both with the same --limit and "
                                "--seed"))
    rows = tuple(Row(index, tuple(ours[index]), tuple(theirs[index])) for index in common)
    _check_rows(rows)
    first_PN, second_PN = [_right(row.first) for row in rows], [_right(row.second) for row in rows]
    single = all(len(scores) == 1 for scores in [*first_PN, *second_PN])
    paired = compare_paired(first_PN, second_PN)
    return Comparison(paired, "McNemar" if single else "sign-flip", _mean([_mean(scores) for scores in first_PN]),
                      _mean([_mean(scores) for scores in second_PN]), rows,
                      len(ours.keys() | theirs.keys()) - len(common))


def differing_settings(first: Result, second: Result) -> dict[str, tuple[object, object]]:
    """What else than the model differs between the two, and may be the reason of a difference."""
    def settings(result: Result) -> Mapping[str, object]:
        decoding, prompting = result.decoding, result.prompting
        return {"decoding": json.dumps(decoding.sent, sort_keys=True), "samples": decoding.samples,
                "system prompt": prompting.system, "shots": prompting.shots, "thinking": prompting.thinking,
                "task settings": json.dumps(result.task.settings, sort_keys=True, default=str),
                "engine": result.engine.kind, "partial": result.partial,
                "verifiers": ", ".join(f"{part.verifier} {part.fingerprint[:12]}" for part in result.task.parts)}

    ours, theirs = settings(first), settings(second)
    return {name: (ours[name], theirs[name]) for name in ours if ours[name] != theirs[name]}


def _check_data(first: Result, second: Result) -> None:
    ours, theirs = first.task, second.task
    for what, one, other in (("data sets", ours.fingerprint, theirs.fingerprint),
                             ("splits", ours.split, theirs.split)):
        if one != other:
            raise DataError(message(f"the results are of different {what}", expected="the same rows for both",
                                    got=f"{one or 'none'} and {other or 'none'}",
                                    remedy="evaluate both on the same --data and --split"))


def _check_rows(rows: Sequence[Row]) -> None:
    """A generator's rows depend on the seed, which its fingerprint does not tell."""
    for row in rows:
        one, other = (samples[0].prompt.example.reference for samples in (row.first, row.second))
        if one != other:
            raise DataError(message(f"row {row.number} is another problem in each result",
                                    got=f"references {one!r:.40} and {other!r:.40}", expected="the same",
                                    remedy="evaluate both with the same --seed and task settings"))


def _by_row(samples: Sequence[Sample]) -> dict[int, list[Sample]]:
    """Row -> samples with a verdict that counts."""
    found: dict[int, list[Sample]] = {}
    for sample in samples:
        if sample.reward is not None:
            found.setdefault(sample.prompt.example.index, []).append(sample)
    return found


def _right(samples: Sequence[Sample]) -> list[float]:
    return [float(sample.main is not None and sample.main.score == 1.0) for sample in samples]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
