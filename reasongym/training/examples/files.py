"""A file of rows, JSONL or Parquet, held once and decoded a row at a time."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from reasongym.errors import DataError, message

__all__ = ["RowFile", "open_rows"]

BATCH_ROWS = 256  # of Parquet, decoded at one time in a pass over all of them


class RowFile(ABC):
    """Rows by number, from 0. digest: SHA-256 of the file."""

    digest: str

    @abstractmethod
    def __len__(self) -> int:
        """Rows."""

    @abstractmethod
    def row(self, index: int) -> object:
        """A decoded row. Raises DataError where it is malformed."""

    @abstractmethod
    def place(self, index: int) -> str:
        """Where a row stands, for messages: `file:line`, or `file: row number`, from 1."""

    def all(self) -> Iterator[object]:
        """Every row, in order."""
        return (self.row(index) for index in range(len(self)))


def open_rows(path: Path, columns: Sequence[str]) -> RowFile:
    """The rows of a .jsonl or .parquet file; of the latter only `columns` are read.

    Raises DataError for a file that is missing, empty or of another kind.
    """
    if not path.is_file():
        raise DataError(message(f"no file {path}", got=str(path), expected="a .jsonl or .parquet file of rows",
                                remedy="check algorithm.data; `reasongym pairs RUN` makes such a file of a run's "
                                "answers"))
    if path.suffix not in {".jsonl", ".parquet"}:
        raise DataError(message(f"{path} is of a kind that is not read", got=path.suffix or "no suffix",
                                expected=".jsonl or .parquet", remedy="convert it, one JSON object a line"))
    try:
        rows = _Lines(path) if path.suffix == ".jsonl" else _Table(path, columns)
    except OSError as error:
        raise DataError(message(f"{path} cannot be read", got=error.strerror or str(error),
                                expected="a file that may be read", remedy="check its permissions")) from error
    if not len(rows):
        raise DataError(message(f"{path} holds no rows", got="an empty file", expected="at least one row",
                                remedy="check the file"))
    return rows


class _Lines(RowFile):
    """JSONL as bytes, with the bounds of the lines that are not blank."""

    def __init__(self, path: Path) -> None:
        self._path, self._data = path, path.read_bytes()
        self.digest = hashlib.sha256(self._data).hexdigest()
        self._starts, self._ends, self._numbers = array("Q"), array("Q"), array("Q")
        start, number = 3 if self._data.startswith(b"\xef\xbb\xbf") else 0, 0
        while start < len(self._data):
            end = self._data.find(b"\n", start)
            end, number = len(self._data) if end < 0 else end, number + 1
            if self._data[start:end].strip():
                self._starts.append(start)
                self._ends.append(end)
                self._numbers.append(number)
            start = end + 1

    def __len__(self) -> int:
        return len(self._starts)

    def row(self, index: int) -> object:
        line = self._data[self._starts[index]:self._ends[index]]
        try:
            return json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError) as error:  # ValueError: bytes that are not UTF-8, too
            raise DataError(message(f"{self.place(index)} is not JSON", got=f"{line[:80]!r} ({error})",
                                    expected="one JSON object a line, in UTF-8", remedy="correct the line")) from error

    def place(self, index: int) -> str:
        return f"{self._path}:{self._numbers[index]}"


class _Table(RowFile):
    """Parquet as an Arrow table."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        import pyarrow
        import pyarrow.parquet

        self._path = path
        with path.open("rb") as file:
            self.digest = hashlib.file_digest(file, "sha256").hexdigest()
        try:
            with pyarrow.parquet.ParquetFile(path) as parquet:
                names = parquet.schema_arrow.names
                self._table = parquet.read(columns=[name for name in columns if name in names])
                self._rows = parquet.metadata.num_rows
        except (pyarrow.ArrowException, OSError) as error:
            raise DataError(message(f"{path} is not a Parquet file", got=str(error)[:120],
                                    expected="a Parquet file of rows", remedy="check the file")) from error

    def __len__(self) -> int:
        return int(self._rows)

    def row(self, index: int) -> object:
        return next(iter(self._decoded(self._table.slice(index, 1), index)), {})

    def place(self, index: int) -> str:
        return f"{self._path}: row {index + 1}"

    def all(self) -> Iterator[object]:
        for start in range(0, len(self), BATCH_ROWS):
            yield from self._decoded(self._table.slice(start, BATCH_ROWS), start)

    def _decoded(self, table: Any, start: int) -> list[Any]:
        if not table.num_columns:  # none of the columns is there: every row lacks every key
            return [{}] * min(BATCH_ROWS, len(self) - start)
        try:
            return table.to_pylist()  # type: ignore[no-any-return]
        except (ValueError, UnicodeDecodeError) as error:
            raise DataError(message(f"{self.place(start)} or one after it cannot be decoded", got=str(error)[:120],
                                    expected="text in UTF-8", remedy="write the file again")) from error
