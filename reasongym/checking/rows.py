"""The rows of a task: can they be had, are they addressed alike, are the splits apart, do prompts fit."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from reasongym.checking.findings import Report, shown
from reasongym.checking.overlap import check_splits
from reasongym.checking.references import prompt_of
from reasongym.errors import DataError
from reasongym.scoring.protocol import encode_answer
from reasongym.tasks import Example, Task

__all__ = ["Fits", "Had", "Length", "check_rows"]

_WIDE_FINITE = 2000
_WIDE_GENERATED = 64
_WIDE_SECONDS = 10.0
"""For the rows of one split; some generators take a second for each."""

_ROLES = frozenset({"system", "user", "assistant"})


class Length(NamedTuple):
    """How long a prompt is and how long it may be, in `unit`."""

    size: int
    limit: int
    unit: str


Fits = Callable[[Example], Length]
"""Measures a prompt. May raise whatever a chat template raises."""

Sample = Mapping[str, Sequence[Example]]
"""Split -> rows of one seed, in the order of their indexes."""


class Had(NamedTuple):
    """Rows that a verifier can be given. wide: many more of each split, of which nothing but their content is known."""

    rows: list[Example]
    wide: list[Example]


def check_rows(task: Task, again: Task, report: Report, *, num_rows: int, seed: int, fits: Fits) -> Had:
    """Check `num_rows` rows of each split, and many more for overlaps.

    again: the same task, made anew.
    """
    try:
        sample = {split: _rows(task, split, num_rows, seed) for split in task.splits}
        _check_variety(sample, report)
        _check_ids(task, sample, report)
        _check_order(task, again, sample, seed, report)
        _check_seed(task, sample, seed, report)
        wide = _wide(task, seed, report)
        check_splits(wide, report)
    except Exception as error:  # boundary: a task is any code, and whatever it raises is its failure
        asked, cause = (str(error), error.__cause__) if isinstance(error, _RowError) else ("", error)
        report.judge("rows", False, row=asked, got=f"{type(cause).__name__}: {cause}", expected="rows")
        return Had([], [])
    rows = [row for split in sample.values() for row in split]
    for row in rows:
        _check_prompt(row, fits, report)
    report.num_rows = len(rows)
    return Had([row for row in rows if _is_carried(row, report)], [row for many in wide.values() for row in many])


class _RowError(Exception):
    """A task raised; the text says which row was asked for."""


def _row(task: Task, split: str, index: int, seed: int) -> Example:
    try:
        return task.example(split, index, seed=seed)
    except Exception as error:  # boundary: raised again with the row's address
        raise _RowError(f"{task.name}/{split}/{index} seed {seed}") from error


def _indexes(task: Task, split: str, count: int) -> Sequence[int]:
    """The first of a generator; of finite rows `count` spread over all of them."""
    size = task.size(split)
    if size is None:
        return range(count)
    return sorted({place * size // count for place in range(count)}) if size else ()


def _rows(task: Task, split: str, count: int, seed: int) -> list[Example]:
    return [_row(task, split, index, seed) for index in _indexes(task, split, count)]


def _wide(task: Task, seed: int, report: Report) -> Sample:
    """Three seeds of a generator; one of finite rows, which ignore it. Fewer rows where they are slow to make."""
    wide: dict[str, list[Example]] = {split: [] for split in task.splits}
    for split, rows in wide.items():
        until = time.monotonic() + _WIDE_SECONDS
        endless = task.size(split) is None
        count, seeds = (_WIDE_GENERATED, range(seed, seed + 3)) if endless else (_WIDE_FINITE, range(seed, seed + 1))
        for index, one in product(_indexes(task, split, count), seeds):
            if time.monotonic() > until:
                report.note(f"rows are slow to make: overlaps were looked for in {len(rows)} of split {split!r}")
                break
            rows.append(_row(task, split, index, one))
    return wide


def _check_variety(sample: Sample, report: Report) -> None:
    for split, rows in sample.items():
        report.judge("rows", bool(rows), got=f"split {split!r} is empty", expected="a row at least")
        different = {str(row.messages) for row in rows}
        report.judge("rows", len(rows) < 4 or len(different) > 1, row=rows[0].id if rows else "",
                     got=f"{len(rows)} rows of split {split!r} have one and the same prompt",
                     expected="rows that follow their index")


def _check_ids(task: Task, sample: Sample, report: Report) -> None:
    seen: dict[str, tuple[str, int]] = {}
    for split, rows in sample.items():
        for index, row in zip(_indexes(task, split, len(rows)), rows, strict=True):
            report.judge("ids", (row.split, row.index) == (split, index), row=row.id, expected=f"{split}/{index}",
                         got=f"a row that says it is {row.split}/{row.index}")
            other = seen.setdefault(row.id, (split, index))
            report.judge("ids", other == (split, index), row=row.id, expected="an id for each row",
                         got=f"the same id at {other[0]}/{other[1]} and {split}/{index}")


def _check_order(task: Task, again: Task, sample: Sample, seed: int, report: Report) -> None:
    """A task made anew and asked backwards, other seeds between, gives the same rows; so does the first asked again."""
    for split, rows in reversed(list(sample.items())):
        for index, row in reversed(list(zip(_indexes(task, split, len(rows)), rows, strict=True))):
            _row(again, split, index, seed + 1)
            for which, asked in (("asked backwards", again), ("asked again", task)):
                other = _row(asked, split, index, seed)
                report.judge("order", _content(other) == _content(row), row=row.id, expected=prompt_of(row)[-60:],
                             got=f"{which}: {prompt_of(other)[-60:]!r}")


def _content(row: Example) -> str:
    return repr((row.messages, row.reference, row.solution, sorted(row.fields.items())))


def _check_seed(task: Task, sample: Sample, seed: int, report: Report) -> None:
    for split, rows in sample.items():
        if not rows:
            continue
        here = [str(row.messages) for row in rows]
        there = [str(row.messages) for row in _rows(task, split, len(rows), seed + 1)]
        if task.size(split) is not None:
            report.judge("seed", here == there, row=rows[0].id, got=f"other rows with seed {seed + 1}",
                         expected="rows of a data set whatever the seed")
            continue
        report.judge("seed", here != there or len(here) < 2, row=rows[0].id, expected="other rows with another seed",
                     got=f"seeds {seed} and {seed + 1} give the same {len(here)} rows")
        # seed + index: row 1 of seed 0 is row 0 of seed 1, so that runs which differ by their seed share their rows.
        shifted = sum(left == right for left, right in zip(here[1:], there, strict=False))
        report.judge("seed", here == there or len(here) < 4 or 2 * shifted < len(here), row=rows[0].id,
                     got=f"seed {seed + 1} gives the rows of seed {seed}, moved by one",
                     expected="rows drawn from a hash of task, split, seed and index")


def _check_prompt(row: Example, fits: Fits, report: Report) -> None:
    report.judge("prompt", bool(row.messages) and all(_is_turn(turn) for turn in row.messages), row=row.id,
                 got=shown(list(row.messages)), expected='turns {"role": ..., "content": text}, one at least')
    if not row.messages or not all(_is_turn(turn) for turn in row.messages):
        return
    report.judge("prompt", row.messages[-1]["role"] == "user" and bool(prompt_of(row).strip()), row=row.id,
                 got=f"last turn {row.messages[-1]['role']}: {shown(prompt_of(row))}", expected="a turn of the user")
    try:
        for turn in row.messages:
            turn["content"].encode()
        length = fits(row)
    except Exception as error:  # boundary: chat templates raise errors of their own making
        report.judge("prompt", False, row=row.id, got=f"{type(error).__name__}: {shown(str(error))}",
                     expected="text that a tokenizer takes")
        return
    report.judge("prompt", length.size <= length.limit, row=row.id, got=f"{length.size} {length.unit}",
                 expected=f"at most {length.limit} {length.unit}")


def _is_turn(turn: Mapping[str, object]) -> bool:
    return set(turn) == {"role", "content"} and turn["role"] in _ROLES and isinstance(turn["content"], str)


def _is_carried(row: Example, report: Report) -> bool:
    try:
        encode_answer("", row)
    except DataError as error:
        report.judge("carried", False, row=row.id, got=" ".join(str(error).split()), expected="plain JSON")
        return False
    report.judge("carried", True, got="", expected="")
    return True
