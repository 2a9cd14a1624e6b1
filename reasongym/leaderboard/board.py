"""Results -> boards: what is ranked together, what is only shown beside it and why, and the mean over tasks.

Two results are ranked together when they are of one series: the same task, split and settings, the same data, judged by
the same verifier, on as many rows. A board ranks one series, its reference, and shows the others marked. The reference
is the series of known data, else the one with most results, else the newest.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from reasongym.leaderboard.entry import Metric
from reasongym.leaderboard.labels import told_apart
from reasongym.leaderboard.published import KNOWN_DATA, is_published
from reasongym.leaderboard.store import RowMeans, Store, Stored
from reasongym.leaderboard.ties import Rank, rank

__all__ = ["PUBLISHED", "Board", "Boards", "Line", "Overall", "Series", "boards_of", "read_boards"]

PUBLISHED = "published"
LEAST_SHARE = 0.99
"""Of the rows that the others were asked: a result on fewer is not ranked, for five right answers to five easy rows
would lead any board. An honest result may lack some: prompts too long for its tokenizer."""
LEAST_ALIKE = 20
"""Answers below which two models may well give the same."""


class Series(NamedTuple):
    """What two results must have in common to be ranked together."""

    settings: str
    data_fingerprint: str
    verifier: str
    verifier_version: str
    headline: str

    @classmethod
    def of(cls, result: Stored) -> Series:
        entry = result.entry
        data = PUBLISHED if is_published(entry) else entry.data_fingerprint
        return cls(entry.settings, data, entry.verifier, entry.verifier_version, entry.headline)


class Line(NamedTuple):
    """A result on a board. rank: None where it is not ranked; marks say why, or what to mind."""

    result: Stored
    rank: Rank | None
    marks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One task and split. lines: the ranked ones, best first, then the others."""

    task: str
    split: str
    reference: Series
    lines: tuple[Line, ...]

    @property
    def name(self) -> str:
        """`gsm8k`; with its split where that is not test."""
        return self.task if self.split == "test" else f"{self.task}/{self.split}"

    @property
    def scale(self) -> tuple[float, float]:
        """From the lowest bound of a ranked result to the highest: one of two rows beside them does not stretch it."""
        mains = [line.result.main for line in self.lines if line.rank] or [line.result.main for line in self.lines]
        return min(main.low for main in mains), max(main.high for main in mains)


class Overall(NamedTuple):
    """A model with one label, across boards. by_board: its latest ranked result of each, by the board's name.

    macro: mean over all boards, each counting alike, and its interval; None where a board is lacking.
    """

    model: str
    label: str
    by_board: Mapping[str, Stored]
    macro: Metric | None


class Boards(NamedTuple):
    """All boards, by task and split; overall: best macro mean first, then those without."""

    boards: tuple[Board, ...]
    overall: tuple[Overall, ...]


def read_boards(store: Store, task: str | None = None) -> Boards:
    """Of a store, or of one task in it. Neither samples nor records are read."""
    results = store.results(task)
    return boards_of(results, store.row_means([result.id for result in results]))


def boards_of(results: Iterable[Stored], means: Mapping[int, RowMeans]) -> Boards:
    """Of results in the order of their entry; each label tells what the results of its model differ in."""
    by_task: dict[tuple[str, str], list[Stored]] = {}
    for result in told_apart(results):
        by_task.setdefault((result.entry.task, result.entry.split), []).append(result)
    boards = tuple(_board(task, split, found, means) for (task, split), found in sorted(by_task.items()))
    return Boards(boards, _overall(boards))


def _board(task: str, split: str, results: Sequence[Stored], means: Mapping[int, RowMeans]) -> Board:
    reference = _reference(results)
    whole = [result for result in results if Series.of(result) == reference and not result.entry.partial]
    asked = _asked(whole)
    ranked = [result for result in whole if result.main.prompts >= LEAST_SHARE * asked]
    ranks, alike = rank(ranked, means), _Alike.of(results)
    lines = [Line(result, ranks.get(result.id), (*_marks(result, reference), *_rows(result, reference, asked),
                                                 *alike.marks(result))) for result in results]
    lines.sort(key=lambda line: (line.rank is None, -line.result.main.mean, line.result.id))
    return Board(task=task, split=split, reference=reference, lines=tuple(lines))


def _reference(results: Sequence[Stored]) -> Series:
    counts: dict[Series, tuple[bool, int, int]] = {}
    for result in results:
        series = Series.of(result)
        _, count, _ = counts.get(series, (False, 0, 0))
        counts[series] = (series.data_fingerprint == PUBLISHED, count + 1, result.id)
    return max(counts, key=counts.__getitem__)


def _asked(results: Sequence[Stored]) -> int:
    """Rows that a result must have to be ranked: of a data set the most that any was asked; of a generator, which has
    no end, what most results were asked, so that one long result does not displace all others."""
    counts = Counter(result.entry.prompts for result in results if result.num_samples or not _any_samples(results))
    if any(result.entry.split_rows is not None for result in results):
        return max(counts, default=0)
    return max(counts, key=lambda count: (counts[count], count), default=0)


def _any_samples(results: Sequence[Stored]) -> bool:
    return any(result.num_samples for result in results)


def _marks(result: Stored, reference: Series) -> Iterator[str]:
    series, entry = Series.of(result), result.entry
    if series.data_fingerprint != reference.data_fingerprint:
        yield "other data"
    if (entry.task, entry.split) in KNOWN_DATA and not is_published(entry):
        yield f"not known to be the published {entry.task}"
    if series.settings != reference.settings:
        yield "other settings of the task"
    if (series.verifier, series.verifier_version) != (reference.verifier, reference.verifier_version):
        yield "other verifier"
    if series.headline != reference.headline:
        yield f"{series.headline} instead of {reference.headline}"
    if entry.overlap:
        yield f"overlap {100 * entry.overlap:.1f} %" if entry.overlap >= 0.0005 else "overlap below 0.1 %"


def _rows(result: Stored, reference: Series, asked: int) -> Iterator[str]:
    """What it has too little of."""
    entry = result.entry
    if entry.partial:
        yield f"partial: {entry.missing:,} of {entry.answers:,} answers are missing"
    if entry.errors:
        yield f"{entry.errors:,} answers that the verifier failed on are left out"
    if Series.of(result) == reference and result.main.prompts < asked:
        yield f"{result.main.prompts:,} of {asked:,} rows"
    if not result.num_samples:
        yield "no samples"


class _Alike(NamedTuple):
    """by_model: results of each model and label. by_answers: the first result with these answers."""

    by_model: Mapping[tuple[str, str], int]
    by_answers: Mapping[str, Stored]

    @classmethod
    def of(cls, results: Sequence[Stored]) -> _Alike:
        first: dict[str, Stored] = {}
        for result in results:
            if result.answers_digest is not None and result.num_samples >= LEAST_ALIKE:
                first.setdefault(result.answers_digest, result)
        return cls(Counter((result.entry.model, result.entry.label) for result in results), first)

    def marks(self, result: Stored) -> Iterator[str]:
        """The best of several tries is no measurement; two models that answer every row alike are one."""
        count = self.by_model[result.entry.model, result.entry.label]
        if count > 1:
            yield f"one of {count} results of this model and these settings"
        first = self.by_answers.get(result.answers_digest or "", result)
        if first.entry.model != result.entry.model:
            yield f"the same answers as {first.entry.model}"


def _overall(boards: Sequence[Board]) -> tuple[Overall, ...]:
    found: dict[tuple[str, str], dict[str, Stored]] = {}
    for board in boards:
        for result in sorted((line.result for line in board.lines if line.rank), key=lambda result: result.id):
            found.setdefault((result.entry.model, result.entry.label), {})[board.name] = result
    names = [board.name for board in boards]
    overall = [Overall(model, label, by_board, _macro(by_board, names)) for (model, label), by_board in found.items()]
    overall.sort(key=lambda one: (one.macro is None, -one.macro.mean if one.macro else 0.0, one.model, one.label))
    return tuple(overall)


def _macro(by_board: Mapping[str, Stored], names: Sequence[str]) -> Metric | None:
    """Boards are independent, so the squares of their half-widths add up."""
    if set(by_board) != set(names):
        return None
    mains = [by_board[name].main for name in names]
    mean = math.fsum(main.mean for main in mains) / len(mains)
    half = math.hypot(*((main.high - main.low) / 2 for main in mains)) / len(mains)
    return Metric("macro", mean, max(mean - half, 0.0), min(mean + half, 1.0), "of independent tasks",
                  sum(main.prompts for main in mains), sum(main.answers for main in mains))
