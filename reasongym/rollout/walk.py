"""The order in which rows are visited: endless, repeatable, and its whole state is one number."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from reasongym.errors import DataError

__all__ = ["Walk"]

T = TypeVar("T")

ENDLESS_MISSES, MOST_MISSES = 1000, 10_000  # rows of no use in a row after which the next is not hoped for any more


class Walk(ABC, Generic[T]):
    """An endless, repeatable walk over rows.

    Position p of n rows is row `order(p // n)[p % n]`, where each epoch's order is a permutation that `shuffler(epoch)`
    makes; without an end (rows None) the position is the row. So the walk's whole state is `position`, and `again`:
    earlier positions that are visited once more, first.
    """

    def __init__(self, rows: int | None, shuffler: Callable[[int], random.Random]) -> None:
        self.rows, self._shuffler = rows, shuffler
        self.position = 0
        self.again: list[int] = []
        self.too_long = 0
        self._epoch: tuple[int, list[int]] = (-1, [])

    @abstractmethod
    def read(self, row: int) -> T | None:
        """What the row gives, or None where it is passed over; the subclass counts those."""

    @abstractmethod
    def nothing_left(self) -> DataError:
        """The error of a walk on which every row is passed over."""

    def take(self, count: int) -> list[T]:
        """What the next `count` rows give; rows that give nothing are passed over. DataError when all are."""
        # range first: zip takes from the left before it ends, and a row taken is a row gone.
        return [item for _, (item, _) in zip(range(count), self._walk(), strict=False)]

    def take_one(self) -> tuple[T, int]:
        """What the next row gives, and its position."""
        return next(self._walk())

    def _walk(self) -> Iterator[tuple[T, int]]:
        misses = 0
        while True:
            position = self.again.pop(0) if self.again else self.position
            item = self.read(self._row(position))
            self.position = max(self.position, position + 1)
            if item is not None:
                misses = 0
                yield item, position
                continue
            misses += 1
            # A row of use may be an epoch's first and the next one's last: 2 (n - 1) misses lie between them.
            if misses >= (min(2 * self.rows, MOST_MISSES) if self.rows else ENDLESS_MISSES):
                raise self.nothing_left()

    def _row(self, position: int) -> int:
        if self.rows is None:
            return position
        epoch, place = divmod(position, self.rows)
        if self._epoch[0] != epoch:
            order = list(range(self.rows))
            self._shuffler(epoch).shuffle(order)
            self._epoch = (epoch, order)
        return self._epoch[1][place]
