"""The answers of a run, step by step, for the browser of answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from reasongym.pages.answers import FIELDS, answers_file, call
from reasongym.printable import shorten

__all__ = ["CHUNK", "answers_index", "answers_of_step", "file_of_step", "files_of_step"]

CHUNK = 200
"""Answers to a file."""
CHARACTERS = 20_000
"""Of one text; the middle of a longer one is left out."""
COLUMNS = ("group", "task", "split", "index", "prompt", "completion", "reference", "reward", "status", "finish_reason",
           "num_tokens", "seconds")
BATCH = 512

Row = Mapping[str, Any]


def answers_index(steps: Sequence[int]) -> str:
    """index.js of a run: the files of its steps, the oldest first."""
    return call("answersIndex", {"files": [f"{step}-0" for step in steps], "over": "step"})


def file_of_step(path: Path, step: int, chunk: int) -> str:
    """The answers of one file of a step, as a script; empty where it has none. One that is damaged says so in place of
    an answer."""
    rows, total = _answers(path, chunk * CHUNK, (chunk + 1) * CHUNK)
    if not rows and chunk:
        return ""
    more = max(0, -(-total // CHUNK) - 1) if chunk == 0 else 0
    return answers_file(f"{step}-{chunk}", rows, more=more)


def files_of_step(path: Path, step: int, limit: int) -> Iterator[tuple[str, str]]:
    """(name, script) of at most `limit` files of a step."""
    for chunk in range(limit):
        text = file_of_step(path, step, chunk)
        if not text:
            return
        yield f"{step}-{chunk}", text


def answers_of_step(path: Path) -> list[dict[str, Any]]:
    """Every answer of a step, by the names of answers.FIELDS; of a damaged file one that says so."""
    return [dict(zip(FIELDS, row, strict=True)) for row in _answers(path, 0, sys.maxsize)[0]]


def _answers(path: Path, start: int, end: int) -> tuple[list[list[object]], int]:
    try:
        return _rows(path, start, end)
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        lost = ["", 0, "", "", "", "", None, "error", None, f"{path.name} cannot be read: {error}", "", "", 0, None]
        return ([], 0) if start else ([lost], 1)


def _rows(path: Path, start: int, end: int) -> tuple[list[list[object]], int]:
    """Rows start to end, and how many there are. Token ids and logprobs, most of the file, are not read."""
    with pq.ParquetFile(path) as file:
        kinds = [name for name in file.schema_arrow.names if name.partition("_")[0] in ("score", "status", "reason",
                                                                                         "extracted")]
        wanted = list(dict.fromkeys([*(name for name in COLUMNS if name in file.schema_arrow.names), *kinds]))
        rows: list[list[object]] = []
        seen, numbers = 0, dict[int, int]()
        for batch in file.iter_batches(batch_size=BATCH, columns=wanted):
            if seen >= end:
                break
            for row in batch.to_pylist():
                numbers[row["group"]] = numbers.get(row["group"], -1) + 1
                if start <= seen < end:
                    rows.append(_row(row, numbers[row["group"]]))
                seen += 1
        return rows, file.metadata.num_rows


def _row(row: Row, number: int) -> list[object]:
    """In the order of answers.FIELDS."""
    parts = [name.removeprefix("score_") for name in row if name.startswith("score_") and row[name] is not None]
    main = next((part for part in parts if row.get(f"status_{part}") == row["status"]), parts[0] if parts else "")
    extracted = row.get(f"extracted_{main}")
    verdicts = {part: {kind: row.get(f"{kind}_{part}") for kind in ("score", "status", "extracted", "reason")}
                for part in parts}
    return [f"{row['task']}/{row['split']}/{row['index']}", number, _short(row["prompt"]), "",
            _short(row["completion"]), _short(_bare(row["reference"])),
            None if extracted is None else _short(extracted), row["status"], row["reward"],
            _short(row.get(f"reason_{main}") or ""),
            _short(json.dumps(verdicts, indent=1, ensure_ascii=False)) if len(parts) > 1 else "", row["finish_reason"],
            row["num_tokens"], row["seconds"]]


def _bare(reference: str | None) -> str:
    """A reference that is a text or a number without the marks of JSON."""
    try:
        value = json.loads(reference or "")
    except ValueError:
        return reference or ""
    return value if isinstance(value, str) else reference or ""


def _short(text: str | None) -> str:
    return shorten(text or "", CHARACTERS)
