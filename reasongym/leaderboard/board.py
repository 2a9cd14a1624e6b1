"""Results -> boards: what is ranked together, what is only shown beside it and why, and the mean over tasks.

Two results are ranked together when they are of one series: the same task, split and settings, the same data, judged by
the same verifier. A board ranks one series, its reference, and shows the others marked. The reference is the series of
known data, else the one with most results, else the newest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from reasongym.leaderboard.entry import Entry, Metric
from reasongym.leaderboard.store import RowMeans, Store, Stored
from reasongym.leaderboard.ties import Rank, rank

__all__ = ["PUBLISHED", "Board", "Boards", "Line", "Overall", "Series", "boards_of", "read_boards"]

PUBLISHED = "published"
KNOWN_DATA: Mapping[tuple[str, str], frozenset[str]] = {
    ("gsm8k", "test"): frozenset({
        "17fc3c60c3cf9537fbce038ecf2ea1536041cc57e0066e2e9c76367c05eac8f4",  # both files of the data set
        "4a044686ff458394052c17b7e820e568a380cfab438d529b166521427706afcc",  # test.jsonl alone
    }),
}
"""(Task, split) -> fingerprints under which its published rows are known. Other data is marked, however many results it
has: a file of easy problems given as --data must not become the board of a name that everybody knows."""


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
        data = PUBLISHED if _is_published(entry) else entry.data_fingerprint
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
    """Of results in the order of their entry."""
    by_task: dict[tuple[str, str], list[Stored]] = {}
    for result in results:
        by_task.setdefault((result.entry.task, result.entry.split), []).append(result)
    boards = tuple(_board(task, split, found, means) for (task, split), found in sorted(by_task.items()))
    return Boards(boards, _overall(boards))


def _board(task: str, split: str, results: Sequence[Stored], means: Mapping[int, RowMeans]) -> Board:
    reference = _reference(results)
    most = max(result.entry.prompts for result in results if Series.of(result) == reference)
    ranked = [result for result in results if Series.of(result) == reference and not result.entry.partial]
    ranks = rank(ranked, means)
    lines = [Line(result, ranks.get(result.id), tuple(_marks(result, reference, most))) for result in results]
    lines.sort(key=lambda line: (line.rank is None, -line.result.main.mean, line.result.id))
    return Board(task=task, split=split, reference=reference, lines=tuple(lines))


def _reference(results: Sequence[Stored]) -> Series:
    counts: dict[Series, tuple[bool, int, int]] = {}
    for result in results:
        series = Series.of(result)
        _, count, _ = counts.get(series, (False, 0, 0))
        counts[series] = (series.data_fingerprint == PUBLISHED, count + 1, result.id)
    return max(counts, key=counts.__getitem__)


def _is_published(entry: Entry) -> bool:
    return entry.data_fingerprint in KNOWN_DATA.get((entry.task, entry.split), ())


def _marks(result: Stored, reference: Series, most_prompts: int) -> Iterable[str]:
    series, entry = Series.of(result), result.entry
    if series.data_fingerprint != reference.data_fingerprint:
        yield "other data"
    if (entry.task, entry.split) in KNOWN_DATA and not _is_published(entry):
        yield f"not known to be the published {entry.task}"
    if series.settings != reference.settings:
        yield "other settings of the task"
    if (series.verifier, series.verifier_version) != (reference.verifier, reference.verifier_version):
        yield "other verifier"
    if series.headline != reference.headline:
        yield f"{series.headline} instead of {reference.headline}"
    if entry.partial:
        yield f"partial: {entry.missing:,} of {entry.answers:,} answers are missing"
    if series == reference and entry.prompts < most_prompts:
        yield f"{entry.prompts:,} of {most_prompts:,} rows"
    if not result.num_samples:
        yield "no samples"


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
