"""Writing rows to a file that is complete or not there."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from reasongym.errors import ConfigError, message
from reasongym.files import cannot_write
from reasongym.training.examples.rows import ANSWERS, ExampleKind

__all__ = ["check_target", "write_rows"]

CHUNK_ROWS = 1000  # of a row group


def check_target(path: Path) -> None:
    """Raises ConfigError for a suffix that says no format, or a folder that is not there."""
    if path.suffix not in {".jsonl", ".parquet"} or path.is_dir():
        raise ConfigError(message(f"{path} does not say how to write it", got=path.suffix or "no suffix",
                                  expected="a name that ends in .jsonl or .parquet", remedy="choose another --output"))
    if not path.absolute().parent.is_dir():
        raise ConfigError(message(f"no folder {path.parent} to write to", got=str(path), expected="an existing folder",
                                  remedy="make it, or choose another --output"))


def write_rows(path: Path, rows: Iterable[dict[str, Any]], kind: ExampleKind) -> int:
    """Replace `path` by the rows, JSONL or Parquet by its suffix, and return their number. Nothing is written where
    there are none, or where `rows` raises. Raises ResourceError on a full disk."""
    write = _write_lines if path.suffix == ".jsonl" else _write_table
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            number = write(file, iter(rows), kind)
            file.flush()
            os.fsync(file.fileno())
        if number:
            os.replace(temporary, path)
    except OSError as error:
        raise cannot_write(path, 0, error) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    return number


def _write_lines(file: BinaryIO, rows: Iterator[dict[str, Any]], kind: ExampleKind) -> int:
    number = 0
    for row in rows:
        line = json.dumps({key: value for key, value in row.items() if value is not None}, ensure_ascii=False)
        file.write(line.encode() + b"\n")
        number += 1
    return number


def _write_table(file: BinaryIO, rows: Iterator[dict[str, Any]], kind: ExampleKind) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema, number = _schema(kind), 0
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        while chunk := list(islice(rows, CHUNK_ROWS)):
            writer.write_table(pa.Table.from_pylist(chunk, schema=schema))
            number += len(chunk)
    return number


def _schema(kind: ExampleKind) -> Any:
    import pyarrow as pa

    ids, text = pa.list_(pa.int32()), pa.string()
    columns = {"prompt": pa.list_(pa.struct([("role", text), ("content", text)]))}
    for answer in ANSWERS[kind]:
        columns |= {answer: text, f"{answer}_token_ids": ids, f"{answer}_ended": pa.bool_(),
                    f"{answer}_mask": pa.list_(pa.bool_())}
    columns |= {"label": pa.bool_()} if kind == "labels" else {}
    rewards = ("chosen_reward", "rejected_reward") if kind == "pairs" else ("reward",)
    columns |= {name: pa.float64() for name in rewards}
    return pa.schema(columns | {"prompt_token_ids": ids, "tokenizer": text, "task": text, "split": text,
                                "index": pa.int64(), "step": pa.int64()})
