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

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from reasongym.errors import DataError, message, nearest
from reasongym.tasks.base import Example, Message, RewardPart, TaskOptions, content_split, describes
from reasongym.tasks.finite import FiniteTask, Source
from reasongym.tasks.row_files import SPLITS, numbered_lines, text_of
from reasongym.tasks.settings import check_names

__all__ = ["JsonSchema", "json_schema"]

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


class JsonSchema(FiniteTask[_Row]):
    """Rows that are already read."""

    name = "json_schema"
    description = "JSON documents by schemas of your own, from a file or folder."
    rewards = (RewardPart(name="correct", verifier="json_schema", weight=1.0),)

    def make_example(self, row: _Row, split: str, index: int) -> Example:
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


@describes(JsonSchema)
def json_schema(options: TaskOptions) -> JsonSchema:
    """The task. Raises DataError for missing or malformed rows, ConfigError for any setting."""
    check_names(JsonSchema.name, options.settings, ())
    if options.data is None:
        raise DataError(message("task json_schema has no rows of its own", got="no data",
                                expected="a .jsonl or .json file of rows, or a folder of .json schemas",
                                remedy="pass --data FILE (task.data); json_extraction makes its own rows"))
    rows: dict[str, list[_Row]] = {split: [] for split in SPLITS}
    for row in _read(Path(options.data).expanduser()):
        rows[content_split(JsonSchema.name, row.content())].append(row)
    return JsonSchema(Source(rows, options.data))


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
    for place, line in numbered_lines(file):
        yield place, _json(line, place)


def _list(file: Path) -> Iterator[tuple[str, object]]:
    rows = _json(text_of(file), str(file))
    if not isinstance(rows, list):
        raise DataError(message(f"{file} is not a list of rows", got=type(rows).__name__, expected=f"[{_ROW}, ...]",
                                remedy="put the rows in a list; a folder may hold bare schemas"))
    for number, value in enumerate(rows, start=1):
        yield f"{file}: row {number}", value


def _folder(folder: Path) -> Iterator[tuple[str, object]]:
    for file in sorted(folder.glob("*.json")):
        yield str(file), {"schema": _json(text_of(file), str(file))}


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
