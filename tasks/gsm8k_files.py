"""Files of GSM8K rows: which of them make up a split, and reading them with errors that name file and line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from reasongym.errors import DataError, message
from reasongym.verifiers.gsm8k import reference_number

__all__ = ["Row", "as_row", "named_split", "read_file", "split_files"]

SPLITS = ("train", "test")


class Row(NamedTuple):
    """A question and its worked answer, whose gold number follows the last `####`."""

    question: str
    answer: str


def split_files(folder: Path) -> dict[str, list[Path]]:
    """Split -> its files, in order, for the splits that the folder holds. The first layout that matches is used."""
    found = {}
    for split in SPLITS:
        for pattern in (f"{split}.jsonl", f"{split}.parquet", f"main-{split}.parquet", f"main-{split}.jsonl",
                        f"main/{split}.jsonl", f"main/{split}-*.parquet", f"{split}-*.parquet"):
            files = sorted(folder.glob(pattern))
            if files:
                found[split] = files
                break
    return found


def named_split(file: Path) -> str | None:
    """The split that a file's name says it is: `train.jsonl`, `main-test.parquet`; None for any other name."""
    words = file.stem.lower().replace("_", "-").split("-")
    named = [split for split in SPLITS if split in words]
    return named[0] if len(named) == 1 else None


def read_file(file: Path) -> list[Row]:
    """All rows of a .jsonl or .parquet file. Raises DataError for a missing, empty or malformed one."""
    if not file.is_file():
        raise DataError(message(f"no file {file}", got=str(file),
                                expected="an existing .jsonl or .parquet file, or a folder", remedy="check the path"))
    readers = {".jsonl": _jsonl, ".json": _jsonl, ".parquet": _parquet}
    if file.suffix not in readers:
        raise DataError(message(f"{file} is of a kind that is not read", got=file.suffix or "no suffix",
                                expected=".jsonl or .parquet", remedy="convert it, one JSON object a line"))
    rows = [as_row(value, place) for place, value in readers[file.suffix](file)]
    if not rows:
        raise DataError(message(f"{file} holds no rows", got="an empty file",
                                expected='{"question": ..., "answer": "... #### n"} a line', remedy="check the file"))
    return rows


def as_row(value: object, place: str) -> Row:
    """A checked row. Raises DataError naming `place` for missing texts or an answer without a gold number."""
    if not isinstance(value, dict) or not all(isinstance(value.get(key), str) for key in Row._fields):
        raise DataError(message(f"{place} is not a GSM8K row", got=repr(value)[:120],
                                expected='an object with the texts "question" and "answer"', remedy="correct the row"))
    answer = value["answer"]
    if "####" not in answer or reference_number(answer) is None:
        raise DataError(message(f"{place} has no gold number", got=repr(answer[-80:]),
                                expected="an answer that ends in `#### <number>`", remedy="correct or remove the row"))
    return Row(value["question"], answer)


def _jsonl(file: Path) -> Iterator[tuple[str, object]]:
    try:
        lines: Iterable[str] = file.read_bytes().decode("utf-8").split("\n")  # splitlines would also cut at U+2028
    except UnicodeDecodeError as error:
        raise DataError(message(f"{file} is not UTF-8", got=f"byte {error.start}: {error.reason}",
                                expected="UTF-8 text", remedy="convert the file")) from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield f"{file}:{number}", json.loads(line)
            except (json.JSONDecodeError, RecursionError) as error:
                raise DataError(message(f"{file}:{number} is not JSON", got=f"{line[:80]!r} ({error})",
                                        expected="one JSON object a line", remedy="correct the line")) from error


def _parquet(file: Path) -> Iterator[tuple[str, object]]:
    import pyarrow
    import pyarrow.parquet

    try:
        rows = pyarrow.parquet.read_table(file).to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(message(f"{file} is not a Parquet file", got=str(error)[:120],
                                expected="columns question and answer", remedy="check the file")) from error
    for number, value in enumerate(rows, start=1):
        yield f"{file}: row {number}", value
