"""A task over rows that are already read: sizes, bounds, provenance and where the rows are taken from."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Generic, NamedTuple, TypeVar

from reasongym.errors import DataError, message
from reasongym.tasks.base import Example, Task, TaskOptions
from reasongym.tasks.hub import load
from reasongym.tasks.row_files import RowKind, local_source, rows_by_split

__all__ = ["FiniteTask", "Source", "rows_from_source"]

R = TypeVar("R", bound=tuple[object, ...])


class Source(NamedTuple, Generic[R]):
    """Rows by split, and where they come from."""

    rows: Mapping[str, Sequence[R]]
    name: str


class FiniteTask(Task, Generic[R]):
    """Rows of a data set; a subclass says how a row becomes an example."""

    hub_name: ClassVar[str | None] = None
    folder: ClassVar[str]
    """The folder of REASONGYM_DATA that the rows lie in."""

    def __init__(self, source: Source[R]) -> None:
        self.splits = tuple(split for split, rows in source.rows.items() if rows)
        self._rows = {split: tuple(source.rows[split]) for split in self.splits}
        self._source = source.name

    @abstractmethod
    def make_example(self, row: R, split: str, index: int) -> Example:
        """The example of a row that is there."""

    def size(self, split: str) -> int:
        return len(self._split(split))

    def example(self, split: str, index: int, *, seed: int = 0) -> Example:
        rows = self._split(split)
        if not 0 <= index < len(rows):
            raise DataError(message(f"{self.name} has no row {index} in split {split!r}", got=index,
                                    expected=f"0 to {len(rows) - 1}", remedy="ask for fewer rows"))
        return self.make_example(rows[index], split, index)

    @classmethod
    def rows_from(cls, options: TaskOptions) -> str:
        local = local_source(options, cls.folder)
        if local is not None:
            return str(local)
        return f"hub data set {cls.hub_name}" if cls.hub_name else "a file or folder given as data"

    def provenance(self) -> Mapping[str, str]:
        digest = hashlib.sha256()
        for split in self.splits:
            for row in self._rows[split]:
                texts = (part if isinstance(part, str) else json.dumps(part, sort_keys=True) for part in row)
                digest.update("\x1f".join((split, *texts)).encode() + b"\x1e")
        rows = ", ".join(f"{split} {len(self._rows[split])}" for split in self.splits)
        return {"source": self._source, "rows": rows, "fingerprint": digest.hexdigest()}

    def _split(self, split: str) -> tuple[R, ...]:
        if split not in self._rows:
            raise DataError(message(f"{self.name} has no split {split!r}", got=split,
                                    expected=f"one of {', '.join(self.splits)} (from {self._source})",
                                    remedy="name a split that is there, or pass a folder that holds it"))
        return self._rows[split]


def rows_from_source(options: TaskOptions, kind: RowKind[R], hub_name: str | None = None) -> Source[R]:
    """The rows of `options.data`, REASONGYM_DATA or the hub, the first that is there.

    Raises DataError where none is, or where a row is malformed.
    """
    local = local_source(options, kind.name)
    if local is not None:
        if not Path(local).exists():
            raise DataError(message(f"no file or folder {local} to read {kind.title} rows from", got=str(local),
                                    expected="an existing .jsonl or .parquet file, or a folder of them",
                                    remedy="check the path given as data (--data)"))
        return Source(rows_by_split(local, kind), str(local))
    if hub_name is None:
        raise DataError(message(f"the rows of {kind.name} are yours to give", got="no data",
                                expected=f"a .jsonl or .parquet file of rows {kind.form}, or a folder of them",
                                remedy=f"pass --data, or set REASONGYM_DATA to a folder that holds {kind.name}/"))
    loaded = load(kind.name, hub_name)
    return Source({split: [kind.read(dict(value), f"{hub_name} {split} row {number}")
                           for number, value in enumerate(rows, start=1)] for split, rows in loaded.items()
                   if split in ("train", "test")}, f"hub data set {hub_name}")
