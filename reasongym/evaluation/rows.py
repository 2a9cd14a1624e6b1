"""Which rows of a task are evaluated: the same ones for every model."""

from __future__ import annotations

from reasongym.errors import DataError, message
from reasongym.tasks import Example, Task, row_random

__all__ = ["ENDLESS_ROWS", "choose_rows", "refuse_substitute"]

ENDLESS_ROWS = 200
"""Rows of a generator where no number is asked for: the 95 % interval of a share is then at most 14 points wide."""
DRAWS_WITHOUT_A_NEW_ROW = 500


def choose_rows(task: Task, split: str, count: int | None, *, seed: int) -> list[Example]:
    """`count` rows of a split, or all of it; for a generator the first different ones, ENDLESS_ROWS by default.

    Fewer than all are drawn by (task, split, seed), the same for every model, in the order of their indices. A
    generator whose problems run out gives fewer than asked: a problem asked twice is no second measurement. Raises
    DataError for an unknown or empty split, and for more rows than a data set has.
    """
    size = task.size(split)
    if size is None:
        return _different(task, split, count or ENDLESS_ROWS, seed)
    if size == 0 or (count or 0) > size:
        raise DataError(message(f"{task.name}/{split} does not have the rows", got=f"{size} rows",
                                expected=f"at least {count or 1}", remedy="lower --limit, or leave it out for all"))
    chosen = list(range(size))
    if count is not None and count < size:
        row_random(task.name, split, seed, 0, salt="order").shuffle(chosen)  # training's held-out rows of that seed
        chosen = sorted(chosen[:count])
    return [task.example(split, index, seed=seed) for index in chosen]


def _different(task: Task, split: str, count: int, seed: int) -> list[Example]:
    found: dict[str, Example] = {}
    index = last_new = 0
    while len(found) < count and index - last_new < DRAWS_WITHOUT_A_NEW_ROW + 10 * len(found):
        example = task.example(split, index, seed=seed)
        text = repr(example.messages)
        if text not in found:
            found[text], last_new = example, index
        index += 1
    return list(found.values())


def refuse_substitute(task: Task) -> None:
    """Raises DataError where the rows stand in for a data set that was not found: such scores would bear its name."""
    source = task.provenance()
    missing = source.get("substitute_for")
    if missing:
        raise DataError(message(f"{missing} was not found, and no other rows are evaluated in its place",
                                got=source.get("source", "a substitute"), expected=f"rows of {missing}",
                                remedy="pass --data, or set REASONGYM_DATA to a folder that holds them"))
