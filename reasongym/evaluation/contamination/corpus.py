"""Training data as a stream of documents: files of rows or text, folders of them, and tasks.

Every text of a row counts, whatever its field is called: a problem that stands in a conversation, in an answer or in a
book is seen as much as one in a field `question`. Not covered: an n-gram across two texts of a row, or across the place
where a text file's paragraph of more than MOST_CHARS is cut.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TextIO

from reasongym.errors import DataError, message

__all__ = ["KINDS", "Document", "files_of", "read_file"]

KINDS = (".jsonl", ".json", ".parquet", ".txt")
MOST_CHARS = 1 << 20
BATCH = 1024  # Parquet rows in memory together
_MOST_DEPTH = 16


class Document(NamedTuple):
    """A training row. place: `file:line`, or a task's row. texts: (field, text) of all its strings."""

    place: str
    texts: tuple[tuple[str, str], ...]


def files_of(path: Path) -> list[Path]:
    """The file, or all files of known kinds below the folder, by name. Raises DataError where there is none."""
    found = [path] if path.is_file() else sorted(file for kind in KINDS for file in path.rglob(f"*{kind}"))
    wrong = next((file for file in found if file.suffix not in KINDS), None)
    if not found or wrong:
        raise DataError(message(f"{wrong or path} holds no training rows that can be read",
                                got=wrong.suffix or "no suffix" if wrong else "no file of these kinds",
                                expected=", ".join(KINDS), remedy="convert it, one JSON object a line"))
    return found


def read_file(file: Path) -> Iterator[Document]:
    """One after the other; no more than a batch of them is in memory (a .json file that is one list is, whole).

    Raises DataError for what cannot be read, with the place.
    """
    readers: dict[str, Callable[[Path], Iterator[Document]]] = {
        ".jsonl": _lines, ".json": _json, ".parquet": _parquet, ".txt": _paragraphs}
    try:
        yield from readers[file.suffix](file)
    except (OSError, UnicodeDecodeError) as error:
        got = error.strerror if isinstance(error, OSError) else f"byte {error.start}: {error.reason}"
        raise DataError(message(f"{file} cannot be read", got=got or str(error), expected="a file of UTF-8 text",
                                remedy="check its permissions and its encoding")) from error


def _lines(file: Path) -> Iterator[Document]:
    with file.open(encoding="utf-8-sig", newline="\n") as source:
        for number, line in enumerate(source, start=1):
            if line.strip():
                place = f"{file}:{number}"
                yield Document(place, tuple(_texts(_decoded(line, place))))


def _json(file: Path) -> Iterator[Document]:
    with file.open(encoding="utf-8-sig") as source:
        if source.read(1024).lstrip()[:1] != "[":
            yield from _lines(file)
            return
        source.seek(0)
        listed = _decoded(source.read(), str(file))
    for number, value in enumerate(listed if isinstance(listed, list) else [listed], start=1):
        place = f"{file}: row {number}"
        yield Document(place, tuple(_texts(value)))


def _parquet(file: Path) -> Iterator[Document]:
    import pyarrow
    import pyarrow.parquet

    numbers = itertools.count(1)
    try:
        with pyarrow.parquet.ParquetFile(file) as source:
            for batch in source.iter_batches(batch_size=BATCH):
                for value in batch.to_pylist():
                    yield Document(f"{file}: row {next(numbers)}", tuple(_texts(value)))
    except pyarrow.ArrowException as error:
        raise DataError(message(f"{file} is not a Parquet file", got=str(error)[:120],
                                expected="a Parquet file of rows", remedy="check the file")) from error


def _paragraphs(file: Path) -> Iterator[Document]:
    """What blank lines part."""
    with file.open(encoding="utf-8-sig", newline="\n") as source:
        number, start, held = 0, 1, list[str]()
        for line, ends in _pieces(source):
            blank = not line.strip()
            if blank or sum(map(len, held[-1:])) + len(line) > MOST_CHARS:
                if held:
                    yield Document(f"{file}:{start}", (("text", "".join(held)),))
                held, start = [], number + 1 + blank
            if not blank:
                held = ["".join(held) + line]
            number += ends
        if held:
            yield Document(f"{file}:{start}", (("text", "".join(held)),))


def _pieces(source: TextIO) -> Iterator[tuple[str, bool]]:
    """Lines, those without an end in sight in pieces; and whether a line ends here."""
    while piece := source.readline(MOST_CHARS):
        yield piece, piece.endswith("\n")


def _decoded(text: str, place: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(message(f"{place} is not JSON", got=f"{text[:80]!r} ({error})"[:200],
                                expected="one JSON object a line", remedy="correct the line")) from error


def _texts(value: object, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """All strings in a decoded row, with the names that lead to each."""
    if isinstance(value, str):
        yield path, value
    elif depth < _MOST_DEPTH and isinstance(value, dict):
        for name, held in value.items():
            yield from _texts(held, f"{path}.{name}" if path else str(name), depth + 1)
    elif depth < _MOST_DEPTH and isinstance(value, list):
        for number, held in enumerate(value):
            yield from _texts(held, f"{path}[{number}]", depth + 1)
