"""Rollouts on disk: a Parquet file a step, flat columns, a row a completion: `load_dataset("parquet")` reads it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from reasongym.errors import DataError, message
from reasongym.files import make_folder
from reasongym.records import Group, Rollout
from reasongym.tracking.answer_rows import write_answers
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


def write_rollouts(folder: RunFolder, step: int, groups: Sequence[Group]) -> Path:
    """rollouts/step-000001.parquet: every rollout of the step. Raises ResourceError on a full disk."""
    return write_groups(make_folder(folder.rollouts) / f"step-{step:06d}.parquet", groups, step=step)


def write_groups(path: Path, groups: Sequence[Group], *, step: int = 0) -> Path:
    """Every rollout of the groups in one file, those without a reward too (their `reward` is null).

    `group` numbers the prompts from 0; `reference` is JSON; `seconds` is the sampling time. Written atomically. Raises
    ResourceError on a full disk.
    """
    return write_answers(path, COLUMNS, [(_row(step, number, rollout), rollout.verdicts)
                                         for number, group in enumerate(groups) for rollout in group.rollouts])


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


def _row(step: int, group: int, rollout: Rollout) -> dict[str, Any]:
    example, completion = rollout.prompt.example, rollout.completion
    return {
        "step": step, "group": group, "task": example.task, "split": example.split, "index": example.index,
        "prompt": rollout.prompt.text, "completion": completion.text,
        "reference": json.dumps(example.reference, ensure_ascii=False, default=str), "reward": rollout.reward,
        "status": str(rollout.status), "finish_reason": str(completion.finish_reason), "seed": completion.seed,
        "engine": completion.engine, "seconds": completion.seconds, "num_tokens": len(completion.token_ids),
        "token_ids": completion.token_ids, "logprobs": completion.logprobs, "versions": completion.versions,
        "mask": completion.mask, "prompt_token_ids": rollout.prompt.token_ids,
    }
