"""Answers with their verdicts in Parquet, of runs and of evaluations: a row an answer, flat columns."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from reasongym.files import write_atomic
from reasongym.verifiers import Verdict

__all__ = ["write_answers"]

PART_COLUMNS: dict[str, tuple[pa.DataType, Callable[[Verdict], Any]]] = {
    "score": (pa.float64(), attrgetter("score")), "status": (pa.string(), attrgetter("status.value")),
    "reason": (pa.string(), attrgetter("reason")), "extracted": (pa.string(), attrgetter("extracted")),
    "check_seconds": (pa.float64(), attrgetter("seconds")),
}
"""One of each a reward part, `score_<part>` and so on: what they hold of its verdict."""
CODES = {pa.int32(): ("i", pa.int32()), pa.float32(): ("f", pa.float32()), pa.bool_(): ("b", pa.int8())}
"""Of the numbers in lists: how an array holds them, and what Arrow calls those bytes."""
VARIED = {"completion", "logprobs", "token_ids"}
"""Columns whose values hardly repeat. A dictionary of them is built and given up again: twice the time, and a larger
file."""


def write_answers(path: Path, columns: Mapping[str, pa.DataType],
                  answers: Sequence[tuple[Mapping[str, Any], Mapping[str, Verdict]]]) -> Path:
    """All answers in one file, atomically: of each the values of `columns`, and its verdicts by reward part.

    Lone surrogates, which no UTF-8 file can hold, become escapes. Raises ResourceError on a full disk.
    """
    parts = dict.fromkeys(part for _, verdicts in answers for part in verdicts)
    rows = [values for values, _ in answers]
    values = {pa.field(name, data_type): [row[name] for row in rows] for name, data_type in columns.items()}
    for part in parts:
        of_part = [verdicts.get(part) for _, verdicts in answers]
        values |= {pa.field(f"{kind}_{part}", data_type): [None if one is None else read(one) for one in of_part]
                   for kind, (data_type, read) in PART_COLUMNS.items()}
    schema = pa.schema(list(values))
    table = pa.table([_column(column, field.type) for field, column in values.items()], schema=schema)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd",
                   use_dictionary=[_leaf(field) for field in schema if field.name not in VARIED])
    return write_atomic(path, memoryview(sink.getvalue()))


def _column(values: Sequence[Any], data_type: pa.DataType) -> pa.Array:
    if pa.types.is_list(data_type):
        return _lists(values, data_type)
    try:
        return pa.array(values, data_type)
    except UnicodeEncodeError:
        return pa.array(map(_storable, values), data_type)


def _lists(values: Sequence[Sequence[float] | None], data_type: pa.ListType) -> pa.Array:
    """Of numbers, joined as bytes: Arrow alone would look at every number of every row."""
    code, stored = CODES[data_type.value_type]
    arrays = [value if isinstance(value, array) and value.typecode == code else array(code, value or ())
              for value in values]
    ends = [0, *itertools.accumulate(map(len, arrays))]
    numbers = pa.Array.from_buffers(stored, ends[-1], [None, pa.py_buffer(b"".join(arrays))])
    missing = pa.array([value is None for value in values], pa.bool_())
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), numbers.cast(data_type.value_type), mask=missing)


def _leaf(field: pa.Field) -> str:
    """The name that Parquet has for the column's values."""
    return f"{field.name}.list.element" if pa.types.is_list(field.type) else str(field.name)


def _storable(text: str | None) -> str | None:
    return None if text is None else text.encode("utf-8", "backslashreplace").decode("utf-8")
