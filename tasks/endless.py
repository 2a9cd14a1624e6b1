"""A task that makes its rows: bounds, and that it has no end."""

from __future__ import annotations

from abc import abstractmethod

from reasongym.errors import DataError, message
from reasongym.tasks.base import Example, Task

__all__ = ["EndlessTask"]


class EndlessTask(Task):
    """A generator; a subclass says how a row is made. Raises DataError for an unknown split or an index below 0."""

    @abstractmethod
    def make_example(self, split: str, index: int, seed: int) -> Example:
        """The row at an index of a split that is there. The same whatever was asked before: draw from `row_random`."""

    def size(self, split: str) -> None:
        self._check(split, 0)

    def example(self, split: str, index: int, *, seed: int = 0) -> Example:
        self._check(split, index)
        return self.make_example(split, index, seed)

    def _check(self, split: str, index: int) -> None:
        if split not in self.splits or index < 0:
            raise DataError(message(f"task {self.name} has no such row", got=f"split {split!r}, index {index}",
                                    expected=f"a split of {', '.join(self.splits)}, an index from 0",
                                    remedy="correct the split or the index"))
