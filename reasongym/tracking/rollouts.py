"""Rollouts on disk: a Parquet file a step, flat columns, a row a completion: `load_dataset("parquet")` reads it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from reasongym.errors import DataError, message
from reasongym.records import Group, Rollout
from reasongym.tracking.atomic import make_folder, write_atomic
from reasongym.tracking.folder import RunFolder

__all__ = ["read_rollouts", "rollout_files", "write_groups", "write_rollouts"]

COLUMNS: dict[str, pa.DataType] = {
    "step": pa.int64(), "group": pa.int32(), "task": pa.string(), "split": pa.string(), "index": pa.int64(),
    "prompt": pa.string(), "completion": pa.string(), "reference": pa.string(), "reward": pa.float64(),
    "status": pa.string(), "finish_reason": pa.string(), "seed": pa.int64(), "engine": pa.int32(),
    "seconds": pa.float64(), "num_tokens": pa.int32(), "token_ids": pa.list_(pa.int32()),
    "logprobs": pa.list_(pa.float32()), "versions": pa.list_(pa.int32()), "mask": pa.list_(pa.bool_()),
    "prompt_token_ids": pa.list_(pa.int32()),
}
PART_COLUMNS: dict[str, pa.DataType] = {  # one of each a reward part: `score_<part>` and so on
    "score": pa.float64(), "status": pa.string(), "reason": pa.string(), "extracted": pa.string(),
}


def write_rollouts(folder: RunFolder, step: int, groups: Sequence[Group]) -> Path:
    """rollouts/step-000001.parquet: every rollout of the step. Raises ResourceError on a full disk."""
    return write_groups(make_folder(folder.rollouts) / f"step-{step:06d}.parquet", groups, step=step)


def write_groups(path: Path, groups: Sequence[Group], *, step: int = 0) -> Path:
    """Every rollout of the groups in one file, those without a reward too (their `reward` is null).

    `group` numbers the prompts from 0; `reference` is JSON; `seconds` is the sampling time. Written atomically. Raises
    ResourceError on a full disk.
    """
    parts = list(dict.fromkeys(part for group in groups for rollout in group.rollouts for part in rollout.verdicts))
    rows = [_row(step, number, rollout, parts) for number, group in enumerate(groups) for rollout in group.rollouts]
    schema = pa.schema([*COLUMNS.items(),
                        *((f"{kind}_{part}", data_type) for part in parts for kind, data_type in PART_COLUMNS.items())])
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), sink, compression="zstd")
    return write_atomic(path, sink.getvalue().to_pybytes())


def read_rollouts(path: Path) -> list[dict[str, Any]]:
    """The rows of one file as `write_rollouts` wrote them. Raises DataError where it is missing or damaged."""
    try:
        rows: list[dict[str, Any]] = pq.ParquetFile(path).read().to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise DataError(message(f"cannot read rollouts from {path}", got=str(error).splitlines()[0],
                                expected="a Parquet file that a run wrote",
                                remedy="delete the file, or name another")) from error
    return rows


def rollout_files(folder: Path) -> dict[int, Path]:
    """Step -> file, in the order of the steps."""
    found = {int(path.stem.removeprefix("step-")): path for path in folder.glob("step-*.parquet")
             if path.stem.removeprefix("step-").isdecimal()}
    return dict(sorted(found.items()))


def _row(step: int, group: int, rollout: Rollout, parts: Sequence[str]) -> dict[str, Any]:
    example, completion = rollout.prompt.example, rollout.completion
    return {
        "step": step, "group": group, "task": example.task, "split": example.split, "index": example.index,
        "prompt": _text(rollout.prompt.text), "completion": _text(completion.text),
        "reference": _text(json.dumps(example.reference, ensure_ascii=False, default=str)), "reward": rollout.reward,
        "status": str(rollout.status), "finish_reason": str(completion.finish_reason), "seed": completion.seed,
        "engine": completion.engine, "seconds": completion.seconds, "num_tokens": len(completion.token_ids),
        "token_ids": completion.token_ids, "logprobs": completion.logprobs, "versions": completion.versions,
        "mask": completion.mask, "prompt_token_ids": rollout.prompt.token_ids, **_part_values(rollout, parts),
    }


def _part_values(rollout: Rollout, parts: Sequence[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for part in parts:
        if verdict := rollout.verdicts.get(part):
            values |= {f"score_{part}": verdict.score, f"status_{part}": str(verdict.status),
                       f"reason_{part}": _text(verdict.reason),
                       f"extracted_{part}": None if verdict.extracted is None else _text(verdict.extracted)}
    return values


def _text(text: str) -> str:
    """Lone surrogates, which no UTF-8 file can hold, as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
