"""Schemas of a user's own: write a document that is valid against each, or the one document that a prompt asks for.

`TaskOptions.data` is one of
- a .jsonl file, a row a line, or a .json file with a list of rows: {"schema": ..., "prompt": ..., "value": ...}
- a folder of .json files, each a schema (JSON Schema, any draft from 3 to 2020-12)
`prompt` is optional and says what the document is to contain. `value` is optional: the one right document; it needs a
prompt that leads to it. Without a value any valid document is right. There are no settings.

A row's split is decided by a hash of its content, 1 row in 8 for test, so equal rows are never in both; a split without
rows is not there. Every row is checked when the task is made: the schema against its metaschema, the value against it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from reasongym.errors import DataError, message, nearest
from reasongym.tasks.base import Example, Message, RewardPart, Task, TaskOptions, content_split
from reasongym.tasks.settings import check_names

__all__ = ["JsonSchema"]

_KEYS = ("prompt", "schema", "value")
_ROW = '{"schema": {"type": "object"}, "prompt": "...", "value": {}}, prompt and value optional'
_ANY = "Write one JSON document that is valid against the schema. Fill it with plausible content."
_PROMPT = "{asked}\n\nSchema:\n{schema}\n\nReply with the JSON only, in a ```json fence."


class _Row(NamedTuple):
    """A checked row. reference: as the verifier takes it."""

    asked: str
    reference: Mapping[str, object]

    def content(self) -> str:
        """What decides the split."""
        return json.dumps([self.asked, self.reference], sort_keys=True)


class JsonSchema(Task):
    """A JSON document by a schema from a file of yours."""

    name = "json_schema"
    description = "JSON documents by schemas of your own, from a file or folder."
    rewards = (RewardPart(name="correct", verifier="json_schema", weight=1.0),)

    def __init__(self, options: TaskOptions) -> None:
        """Raises DataError for missing or malformed rows, ConfigError for any setting."""
        check_names(self.name, options.settings, ())
        if options.data is None:
            raise DataError(message("task json_schema has no rows of its own", got="no data",
                                    expected="a .jsonl or .json file of rows, or a folder of .json schemas",
                                    remedy="pass --data FILE (task.data); json_extraction makes its own rows"))
        self._source = Path(options.data).expanduser()
        self._rows: dict[str, list[_Row]] = {"train": [], "test": []}
        for row in _read(self._source):
            self._rows[content_split(self.name, row.content())].append(row)
        self.splits = tuple(split for split, rows in self._rows.items() if rows)

    def size(self, split: str) -> int:
        return len(self._split(split))

    def example(self, split: str, index: int, *, seed: int = 0) -> Example:
        rows = self._split(split)
        if not 0 <= index < len(rows):
            raise DataError(message(f"json_schema has no row {index} in split {split!r}", got=index,
                                    expected=f"0 to {len(rows) - 1}", remedy="ask for fewer rows"))
        row = rows[index]
        schema = json.dumps(row.reference["schema"], separators=(",", ":"), ensure_ascii=False)
        prompt: Message = {"role": "user", "content": _PROMPT.format(asked=row.asked, schema=schema)}
        solution = None
        if "value" in row.reference:
            solution = f"```json\n{json.dumps(row.reference['value'], indent=2, ensure_ascii=False)}\n```"
        return Example(task=self.name, split=split, index=index, messages=(prompt,), reference=row.reference,
                       solution=solution)

    @classmethod
    def rows_from(cls, options: TaskOptions) -> str:
        return options.data if options.data is not None else "a file of yours (--data)"

    def provenance(self) -> Mapping[str, str]:
        digest = hashlib.sha256()
        for split in self.splits:
            for row in self._rows[split]:
                digest.update(f"{split}\x1f{row.content()}\x1e".encode())
        rows = ", ".join(f"{split} {len(self._rows[split])}" for split in self.splits)
        return {"source": str(self._source), "rows": rows, "fingerprint": digest.hexdigest()}

    def _split(self, split: str) -> Sequence[_Row]:
        if split not in self.splits:
            raise DataError(message(f"json_schema has no split {split!r}", got=split,
                                    expected=f"one of {', '.join(self.splits)} (from {self._source})",
                                    remedy="name a split that is there; about 1 row in 8 is for test, by content"))
        return self._rows[split]


def _read(source: Path) -> list[_Row]:
    readers = {".jsonl": _lines, ".json": _list}
    if source.is_dir():
        values = _folder(source)
    elif source.is_file() and source.suffix in readers:
        values = readers[source.suffix](source)
    else:
        raise DataError(message(f"{source} cannot be read", got="a file of another kind" if source.is_file()
                                else "no such file or folder",
                                expected="a .jsonl or .json file of rows, or a folder of .json schemas",
                                remedy="check the path given as data"))
    rows = [_checked(value, place) for place, value in values]
    if not rows:
        raise DataError(message(f"{source} holds no rows", got="nothing", expected=_ROW, remedy="add rows"))
    return rows


def _lines(file: Path) -> Iterator[tuple[str, object]]:
    for number, line in enumerate(_text(file).split("\n"), start=1):  # splitlines would also cut at U+2028
        if line.strip():
            yield f"{file}:{number}", _json(line, f"{file}:{number}")


def _list(file: Path) -> Iterator[tuple[str, object]]:
    rows = _json(_text(file), str(file))
    if not isinstance(rows, list):
        raise DataError(message(f"{file} is not a list of rows", got=type(rows).__name__, expected=f"[{_ROW}, ...]",
                                remedy="put the rows in a list; a folder may hold bare schemas"))
    for number, value in enumerate(rows, start=1):
        yield f"{file}: row {number}", value


def _folder(folder: Path) -> Iterator[tuple[str, object]]:
    for file in sorted(folder.glob("*.json")):
        yield str(file), {"schema": _json(_text(file), str(file))}


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(message(f"{file} cannot be read as text", got=str(error), expected="a file in UTF-8",
                                remedy="check or convert the file")) from error


def _json(text: str, place: str) -> object:
    from reasongym.verifiers.json_schema.strict_json import JsonProblem, parse

    try:
        return parse(text)
    except JsonProblem as problem:
        raise DataError(message(f"{place} is not JSON: {problem}", got=repr(text.strip()[:80]), expected=_ROW,
                                remedy="correct it; keys that stand twice and NaN are refused too")) from problem


def _checked(value: object, place: str) -> _Row:
    """Raises DataError, naming the place, for what cannot be scored."""
    from reasongym.verifiers.json_schema import read_reference
    from reasongym.verifiers.json_schema.validation import SchemaProblem

    if not isinstance(value, dict) or "schema" not in value:
        raise DataError(message(f"{place} has no schema", got=repr(value)[:120], expected=_ROW, remedy="correct it"))
    unknown = [key for key in value if key not in _KEYS]
    if unknown:
        raise DataError(message(f"{place} has an unknown key {unknown[0]!r}.{nearest(unknown[0], _KEYS)}",
                                got=", ".join(value), expected=f"keys of {', '.join(_KEYS)}", remedy="remove it"))
    asked = value.get("prompt", _ANY)
    if not isinstance(asked, str) or not asked.strip() or ("value" in value and "prompt" not in value):
        raise DataError(message(f"{place} has no usable prompt", got=repr(asked)[:80] if "prompt" in value else "none",
                                expected="a text, and one wherever there is a value", remedy="say what is asked for"))
    reference = {key: value[key] for key in ("schema", "value") if key in value}
    try:
        read_reference(reference)
    except SchemaProblem as problem:
        raise DataError(message(f"{place} cannot be scored", got=str(problem),
                                expected="a valid schema, and a value that is valid against it",
                                remedy="correct the schema or the value")) from problem
    return _Row(asked.strip(), reference)
