"""Files of a data set's rows: where a task finds them, which make up a split, and reading them.

A folder holds `train.jsonl` and `test.jsonl`, or the same as Parquet, also as `main-train.parquet`,
`main/train-*.parquet` or `train-*.parquet`. A single file is the split its name says; any other name is split by
content, 1 row in 8 for test, so that a row's split never depends on the rows around it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from reasongym.errors import DataError, message
from reasongym.tasks.base import TaskOptions, content_split

__all__ = ["SPLITS", "RowKind", "local_source", "numbered_lines", "read_rows", "rows_by_split", "text_of"]

SPLITS = ("train", "test")

R = TypeVar("R")


class RowKind(NamedTuple, Generic[R]):
    """What the rows of one data set are.

    name: of the data set's folder, and what its split by content is salted with. title: for messages. form: how a row
    looks. read: a decoded row and its place (`file:line`) -> the checked row, or a DataError that names the place.
    key: the text of a row that decides its split in a file of no split's name. undivided: the split that all rows of
    such a file belong to instead, or None.
    """

    name: str
    title: str
    form: str
    read: Callable[[object, str], R]
    key: Callable[[R], str]
    undivided: str | None = None


def local_source(options: TaskOptions, name: str, *, any_folder: bool = False) -> Path | None:
    """`options.data`, else the folder `name` in REASONGYM_DATA, else REASONGYM_DATA itself, else None.

    REASONGYM_DATA itself counts where its last part is `name`, or with `any_folder`. A folder without row files is
    passed over, except the one that `options.data` asks for.
    """
    if options.data is not None:
        return Path(options.data).expanduser()
    named = os.environ.get("REASONGYM_DATA")
    if not named:
        return None
    base = Path(named).expanduser()
    folders = [base / name, *([base] if any_folder or base.name == name else [])]
    return next((folder for folder in folders if _split_files(folder) or _whole_file(folder, name)), None)


def _whole_file(folder: Path, name: str) -> Path | None:
    """The file of a data set that was published undivided: `svamp.jsonl` in a folder `svamp`, or the only one there."""
    kinds = (".jsonl", ".parquet", ".json")
    held = sorted(file for file in folder.glob("*") if file.suffix in kinds and file.is_file())
    named = [file for file in held if file.stem == name]
    return named[0] if named else held[0] if len(held) == 1 else None


def _split_files(folder: Path) -> dict[str, list[Path]]:
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


def _named_split(file: Path) -> str | None:
    """The split that a file's name says it is: `train.jsonl`, `main-test.parquet`; None for any other name."""
    words = file.stem.lower().replace("_", "-").split("-")
    named = [split for split in SPLITS if split in words]
    return named[0] if len(named) == 1 else None


def rows_by_split(path: Path, kind: RowKind[R]) -> dict[str, list[R]]:
    """The rows of a file or folder by split. Raises DataError where there are none, or where a row is malformed."""
    files = _split_files(path) if path.is_dir() else {}
    whole = (_whole_file(path, kind.name) if path.is_dir() else path) if not files else None
    if whole is not None:
        rows = read_rows(whole, kind)
        split = _named_split(whole) or kind.undivided
        if split is not None:
            return {split: rows}
        return {split: [row for row in rows if content_split(kind.name, kind.key(row)) == split] for split in SPLITS}
    if not files:
        held = ", ".join(sorted(entry.name for entry in path.iterdir())[:8])
        raise DataError(message(f"{path} holds no {kind.title} rows", got=held or "an empty folder",
                                expected="train.jsonl and test.jsonl, or the same as .parquet",
                                remedy="check the folder given as data"))
    return {split: [row for file in listed for row in read_rows(file, kind)] for split, listed in files.items()}


def read_rows(file: Path, kind: RowKind[R]) -> list[R]:
    """All rows of a .jsonl, .json or .parquet file. Raises DataError for a missing, empty or malformed one.

    A .json file holds a list of rows, or is read as .jsonl.
    """
    if not file.is_file():
        raise DataError(message(f"no file {file}", got=str(file),
                                expected="an existing .jsonl or .parquet file, or a folder", remedy="check the path"))
    readers = {".jsonl": _jsonl, ".json": _json, ".parquet": _parquet}
    if file.suffix not in readers:
        raise DataError(message(f"{file} is of a kind that is not read", got=file.suffix or "no suffix",
                                expected=".jsonl or .parquet", remedy="convert it, one JSON object a line"))
    rows = [kind.read(value, place) for place, value in readers[file.suffix](file)]
    if not rows:
        raise DataError(message(f"{file} holds no rows", got="an empty file", expected=f"{kind.form} a line",
                                remedy="check the file"))
    return rows


def text_of(file: Path) -> str:
    """A file's text, without a byte order mark. Raises DataError where it cannot be read or is not UTF-8."""
    try:
        return file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DataError(message(f"{file} cannot be read", got=error.strerror, expected="a file that may be read",
                                remedy="check its permissions")) from error
    except UnicodeDecodeError as error:
        raise DataError(message(f"{file} is not UTF-8", got=f"byte {error.start}: {error.reason}",
                                expected="UTF-8 text", remedy="convert the file")) from error


def numbered_lines(file: Path) -> Iterator[tuple[str, str]]:
    """Place (`file:line`) and text of each line that is not blank. Raises DataError where it is not UTF-8."""
    for number, line in enumerate(text_of(file).split("\n"), start=1):  # splitlines would also cut at U+2028
        if line.strip():
            yield f"{file}:{number}", line


def _jsonl(file: Path) -> Iterator[tuple[str, object]]:
    for place, line in numbered_lines(file):
        yield place, _decoded(line, place)


def _json(file: Path) -> Iterator[tuple[str, object]]:
    text = text_of(file)
    if not text.lstrip().startswith("["):
        yield from _jsonl(file)
        return
    listed = _decoded(text, str(file))
    assert isinstance(listed, list)  # JSON that begins with a bracket
    for number, value in enumerate(listed, start=1):
        yield f"{file}: row {number}", value


def _decoded(text: str, place: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: an integer of more digits than Python reads, too
        raise DataError(message(f"{place} is not JSON", got=f"{text[:80]!r} ({error})",
                                expected="one JSON object a line", remedy="correct the line")) from error


def _parquet(file: Path) -> Iterator[tuple[str, object]]:
    import pyarrow
    import pyarrow.parquet

    try:
        rows = pyarrow.parquet.read_table(file).to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(message(f"{file} is not a Parquet file", got=str(error)[:120],
                                expected="a Parquet file of rows", remedy="check the file")) from error
    for number, value in enumerate(rows, start=1):
        yield f"{file}: row {number}", value
