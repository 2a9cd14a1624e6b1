"""Every answer of an evaluation, and the Parquet file it is kept in: a row an answer, flat columns.

The file also holds what `reasongym pairs` needs of a run's rollouts (`step`, `mask`), so that it reads either.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from reasongym.errors import DataError, message
from reasongym.records import Prompt
from reasongym.tasks import Example
from reasongym.tracking.answer_rows import write_answers
from reasongym.verifiers import Status, Verdict

__all__ = ["SAMPLES", "Answer", "Sample", "read_samples", "write_samples"]

SAMPLES = "rollouts.parquet"
"""The file's name in a result's folder."""

COLUMNS: dict[str, pa.DataType] = {
    "step": pa.int64(), "group": pa.int32(), "sample": pa.int32(), "task": pa.string(), "split": pa.string(),
    "index": pa.int64(), "prompt": pa.string(), "messages": pa.string(), "reference": pa.string(),
    "fields": pa.string(), "completion": pa.string(), "reasoning": pa.string(), "finish_reason": pa.string(),
    "error": pa.string(), "status": pa.string(), "reward": pa.float64(), "seconds": pa.float64(),
    "attempts": pa.int32(), "seed": pa.int64(), "engine": pa.int32(), "num_tokens": pa.int32(),
    "num_prompt_tokens": pa.int32(), "prompt_token_ids": pa.list_(pa.int32()), "token_ids": pa.list_(pa.int32()),
    "logprobs": pa.list_(pa.float32()), "mask": pa.list_(pa.bool_()),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a model answered, or why there is no answer.

    text: what is verified. reasoning: what an endpoint gave apart from the answer. finish_reason: `stop`, `length`, or
    an endpoint's own word. error: empty where there is an answer. seconds: the request that succeeded. attempts:
    requests sent, that one included. Token ids, log-probabilities and counts are None where they are not known.
    """

    text: str = ""
    reasoning: str = ""
    finish_reason: str = ""
    error: str = ""
    seconds: float = 0.0
    attempts: int = 1
    seed: int | None = None
    engine: int | None = None
    num_tokens: int | None = None
    num_prompt_tokens: int | None = None
    token_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None

    @property
    def truncated(self) -> bool:
        return self.finish_reason == "length"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One answer with its verdicts.

    group: place of the prompt among those asked, from 0. sample: of that prompt, from 0. prompt.token_ids: empty where
    they are not known. verdicts: by reward part, the main part first; empty where there is no answer. reward: the
    weighted sum of the scores, or None where there is no answer or a verifier failed.
    """

    group: int
    sample: int
    prompt: Prompt
    answer: Answer
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    reward: float | None = None

    @property
    def status(self) -> Status | None:
        """The main part's, ERROR where any part failed, None where there is no answer."""
        statuses = [verdict.status for verdict in self.verdicts.values()]
        return None if not statuses else Status.ERROR if Status.ERROR in statuses else statuses[0]

    @property
    def main(self) -> Verdict | None:
        """The main part's verdict, or None where there is no answer."""
        return next(iter(self.verdicts.values()), None)


def write_samples(path: Path, samples: Sequence[Sample]) -> Path:
    """All of them in one file, atomically. Lone surrogates, which no UTF-8 file can hold, become escapes.

    Raises ResourceError on a full disk.
    """
    return write_answers(path, COLUMNS, [(_row(sample), sample.verdicts) for sample in samples])


def read_samples(path: Path) -> tuple[Sample, ...]:
    """What `write_samples` wrote, in its order. Raises DataError where the file is missing, damaged or another."""
    try:
        table = pq.ParquetFile(path).read()
        parts = [name.removeprefix("score_") for name in table.column_names if name.startswith("score_")]
        return tuple(_sample(row, parts) for row in table.to_pylist())
    except (OSError, pa.ArrowException, KeyError, ValueError, TypeError) as error:
        raise DataError(message(f"cannot read the answers in {path}", got=f"{type(error).__name__}: {error}"[:200],
                                expected="a Parquet file that `reasongym eval` wrote",
                                remedy="evaluate again, or name another folder")) from error


def _row(sample: Sample) -> dict[str, Any]:
    example, answer = sample.prompt.example, sample.answer
    return {
        "step": 0, "group": sample.group, "sample": sample.sample, "task": example.task, "split": example.split,
        "index": example.index, "prompt": sample.prompt.text, "messages": _json(example.messages),
        "reference": _json(example.reference), "fields": _json(dict(example.fields)), "completion": answer.text,
        "reasoning": answer.reasoning, "finish_reason": answer.finish_reason, "error": answer.error,
        "status": None if sample.status is None else str(sample.status), "reward": sample.reward,
        "seconds": answer.seconds, "attempts": answer.attempts, "seed": answer.seed, "engine": answer.engine,
        "num_tokens": answer.num_tokens, "num_prompt_tokens": answer.num_prompt_tokens,
        "prompt_token_ids": sample.prompt.token_ids, "token_ids": answer.token_ids, "logprobs": answer.logprobs,
        "mask": [True] * len(answer.token_ids or ()),
    }


def _sample(row: Mapping[str, Any], parts: Sequence[str]) -> Sample:
    example = Example(task=row["task"], split=row["split"], index=row["index"],
                      messages=tuple(json.loads(row["messages"])), reference=json.loads(row["reference"]),
                      fields=json.loads(row["fields"]))
    answer = Answer(**{name: row[name] for name in (
        "reasoning", "finish_reason", "error", "seconds", "attempts", "seed", "engine", "num_tokens",
        "num_prompt_tokens")}, text=row["completion"], token_ids=_ids(row["token_ids"]),
        logprobs=None if row["logprobs"] is None else tuple(row["logprobs"]))
    return Sample(group=row["group"], sample=row["sample"], reward=row["reward"], answer=answer,
                  prompt=Prompt(example=example, token_ids=tuple(row["prompt_token_ids"]), text=row["prompt"]),
                  verdicts={part: _verdict(row, part) for part in parts if row[f"status_{part}"] is not None})


def _verdict(row: Mapping[str, Any], part: str) -> Verdict:
    return Verdict(score=row[f"score_{part}"], status=Status(row[f"status_{part}"]), reason=row[f"reason_{part}"],
                   extracted=row[f"extracted_{part}"], seconds=row[f"check_seconds_{part}"])


def _ids(values: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if values is None else tuple(values)


def _json(value: object) -> str:
    """Lone surrogates stay escapes of JSON, and are the same when they are read."""
    return json.dumps(value, ensure_ascii=True, default=str)
