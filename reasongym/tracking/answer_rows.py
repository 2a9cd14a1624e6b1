"""Answers with their verdicts in Parquet, of runs and of evaluations: a row an answer, flat columns."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from reasongym.files import write_atomic
from reasongym.verifiers import Verdict

__all__ = ["write_answers"]

PART_COLUMNS: dict[str, pa.DataType] = {  # one of each a reward part: `score_<part>` and so on
    "score": pa.float64(), "status": pa.string(), "reason": pa.string(), "extracted": pa.string(),
    "check_seconds": pa.float64(),
}
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
    schema = pa.schema([*columns.items(), *((f"{kind}_{part}", data_type) for part in parts
                                            for kind, data_type in PART_COLUMNS.items())])
    rows = [{**values, **_of_parts(verdicts)} for values, verdicts in answers]
    table = pa.table([_column(rows, field) for field in schema], schema=schema)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd",
                   use_dictionary=[_leaf(field) for field in schema if field.name not in VARIED])
    return write_atomic(path, sink.getvalue().to_pybytes())


def _column(rows: Sequence[Mapping[str, Any]], field: pa.Field) -> pa.Array:
    values = [row.get(field.name) for row in rows]
    if pa.types.is_list(field.type):
        return _lists(values, field.type)
    try:
        return pa.array(values, field.type)
    except UnicodeEncodeError:
        return pa.array(map(_storable, values), field.type)


def _lists(values: Sequence[Sequence[float] | None], data_type: pa.ListType) -> pa.Array:
    """Of numbers, joined as bytes: Arrow alone would look at every number of every row."""
    code, stored = CODES[data_type.value_type]
    joined: array[float] = array(code)
    ends = [0]
    for value in values:
        joined.extend(value if isinstance(value, array) else array(code, value or ()))
        ends.append(len(joined))
    numbers = pa.Array.from_buffers(stored, len(joined), [None, pa.py_buffer(joined)])
    missing = pa.array([value is None for value in values], pa.bool_())
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), numbers.cast(data_type.value_type), mask=missing)


def _leaf(field: pa.Field) -> str:
    """The name that Parquet has for the column's values."""
    return f"{field.name}.list.element" if pa.types.is_list(field.type) else str(field.name)


def _of_parts(verdicts: Mapping[str, Verdict]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for part, verdict in verdicts.items():
        values |= {f"score_{part}": verdict.score, f"status_{part}": str(verdict.status),
                   f"reason_{part}": verdict.reason, f"extracted_{part}": verdict.extracted,
                   f"check_seconds_{part}": verdict.seconds}
    return values


def _storable(text: str | None) -> str | None:
    return None if text is None else text.encode("utf-8", "backslashreplace").decode("utf-8")
