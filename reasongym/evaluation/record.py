"""The record of a result: `results.json` in a folder of its own, with the answers beside it (`samples`).

A folder with a results.json is whole: the answers are written first. SCHEMA numbers the record's form; a reader takes
its own form only, and passes over fields that a later release has added to it. Every field is described where it is
declared.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
)

from reasongym.errors import DataError, message
from reasongym.evaluation.contamination import Overlap
from reasongym.evaluation.samples import SAMPLES, Sample, read_samples, write_samples
from reasongym.files import make_folder, write_atomic

__all__ = [
    "RESULTS",
    "SCHEMA",
    "Cost",
    "Decoding",
    "EngineRecord",
    "Estimate",
    "ModelRecord",
    "PartRecord",
    "Prompting",
    "Result",
    "TaskRecord",
    "Tokens",
    "is_result",
    "read_record",
    "read_result",
    "read_result_samples",
    "write_result",
]

SCHEMA = 2
RESULTS = "results.json"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, use_attribute_docstrings=True)


class Estimate(_Record):
    """A mean over prompts and its 95 % interval."""

    mean: float
    low: float
    high: float
    method: Literal["wilson", "bootstrap"]
    """`bootstrap` draws whole prompts, with all their answers."""
    prompts: int
    """What it rests on."""
    answers: int


class ModelRecord(_Record):
    """What was evaluated. One of `folder` and `endpoint` is given."""

    path: str
    """As it was named: a folder, a hub id, or the name that an endpoint knows."""
    folder: str | None = None
    """What the loaders got."""
    dtype: str | None = None
    endpoint: str | None = None
    """Address of the endpoint, without credentials and query."""
    served: tuple[str, ...] = ()
    """Names that the endpoint's answers gave themselves: more than one means that it changed under way."""


class PartRecord(_Record):
    """One reward part and the verifier behind it."""

    name: str
    verifier: str
    """Name, or file.py:name."""
    weight: float
    fingerprint: str
    """Digest of the verifier's source and all that it imports of ours: equal ones judge alike."""


class TaskRecord(_Record):
    """What was asked."""

    name: str
    split: str
    data: str | None = None
    """File or folder that was named instead of the default source."""
    settings: dict[str, Any] = Field(default_factory=dict)
    provenance: dict[str, str] = Field(default_factory=dict)
    """source, fingerprint, and what else the task says of its rows."""
    rows: tuple[int, ...]
    """Indices of the rows, in the order of the prompts."""
    rows_digest: str
    """Of questions and references as the task gives them: equal ones are the same problems."""
    too_long: int = 0
    """Rows left out, as their prompt exceeds decoding.max_prompt_tokens."""
    parts: tuple[PartRecord, ...]
    """The main part first."""

    @property
    def fingerprint(self) -> str:
        """Of the data set."""
        return self.provenance.get("fingerprint", "")


class Prompting(_Record):
    """How rows became prompts."""

    template: str | None = None
    """Text of the chat template; None where an endpoint applied its own."""
    template_hash: str | None = None
    """SHA-256 of it."""
    prompts_digest: str
    """SHA-256 of all that was sent, in order: equal ones asked the same thing."""
    system: str | None = None
    """System prompt in place of the task's own."""
    shots: int = 0
    """Solved rows of the train split shown before each question."""
    shot_rows: tuple[int, ...] = ()
    thinking: Literal["auto", "on", "off"] = "auto"
    """`auto`: nothing is said, and the template's default holds."""


class Decoding(_Record):
    """How answers were sampled; temperature 0 is greedy."""

    samples: int
    temperature: float
    max_new_tokens: int
    max_prompt_tokens: int | None = None
    """None: not limited here."""
    seed: int
    """Of the request seeds, and of rows where some are drawn."""
    sent: dict[str, Any] = Field(default_factory=dict)
    """The sampling fields of a request, exactly as they were sent; `seed` differs from answer to answer."""


class EngineRecord(_Record):
    """Who answered."""

    kind: Literal["vllm", "endpoint"]
    api: Literal["chat", "completions"] | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    server: str = ""
    """What an endpoint calls its software (the Server header)."""
    fingerprints: tuple[str, ...] = ()
    """`system_fingerprint` of an endpoint's answers, where it gives one."""


class Tokens(_Record):
    """Sums over the answers whose number of tokens is known."""

    prompt: int
    completion: int
    counted: int
    """Answers that the sums are over."""
    mean: float
    """Of a completion."""


class Cost(_Record):
    """In the currency of the prices, of the tokens that are counted."""

    prompt: float
    completion: float
    total: float
    price_in: float
    """A million tokens."""
    price_out: float


class Result(_Record):
    """One evaluation of one model on one task."""

    schema_version: int = SCHEMA
    created: str
    """UTC, ISO 8601: when the result was written."""
    partial: bool
    """Some prompts have no answer: the means are of those that have one."""
    model: ModelRecord
    task: TaskRecord
    prompting: Prompting
    decoding: Decoding
    engine: EngineRecord
    metrics: dict[str, Estimate]
    """`accuracy`, `score` (mean score of the main part, where an answer can be right in part), `avg@k`, `pass@k`,
    `maj@k`, `reward` (weighted sum of several parts) and `part/<name>`."""
    counts: dict[str, int]
    """prompts, answers (asked for), answered, scored, missing, truncated, timeout, and `status_<status>`."""
    shares: dict[str, float]
    """truncated, unparsable, timeout, error (a verifier failed) and missing (no answer), of the answers asked for."""
    tokens: Tokens
    seconds: dict[str, float]
    """sampling: from the first request to the last answer, over all sessions. total: scoring included."""
    cost: Cost | None = None
    environment: dict[str, Any]
    """commit, versions, hardware, command."""
    scoring: dict[str, Any] = Field(default_factory=dict)
    """Workers and limits of the verifiers."""
    rescored_from: dict[str, Any] | None = None
    """folder, created and verifier fingerprints of the result whose answers were verified again."""
    overlap: Overlap | None = None
    """What the rows share with the training data that was named; None where none was."""

    @model_serializer(mode="wrap")
    def _as_written(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without `overlap` where there is none: the digest of a record from before it had one stays what it was."""
        written: dict[str, Any] = write(self)
        if self.overlap is None:
            written.pop("overlap", None)
        return written

    @classmethod
    def parse(cls, record: Mapping[str, Any], where: str) -> Self:
        """Raises DataError for a record of another form. where: for the message."""
        version = record.get("schema_version", 1)
        if version != SCHEMA:
            raise DataError(message(f"{where} is of another form", got=f"schema_version {version}",
                                    expected=f"schema_version {SCHEMA}",
                                    remedy="evaluate again" if version == 1 else "update reasongym"))
        try:
            return cls.model_validate(record)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise DataError(message(f"{where} is not the record of a result",
                                    got=f"{'.'.join(map(str, first['loc']))}: {first['msg']}"[:200],
                                    expected="what `reasongym eval` writes", remedy="evaluate again")) from error


def write_result(folder: Path, result: Result, samples: Sequence[Sample]) -> Path:
    """The folder, made where it is not there: the answers first, then results.json. Raises ResourceError."""
    write_samples(make_folder(folder) / SAMPLES, samples)
    text = json.dumps(result.model_dump(mode="json"), indent=2, ensure_ascii=False)
    write_atomic(folder / RESULTS, text + "\n")
    return folder


def is_result(folder: Path) -> bool:
    """Whether the folder holds a whole result."""
    return (folder / RESULTS).is_file()


def read_result(folder: Path) -> Result:
    """The record alone, without the answers. Raises DataError where it is missing, damaged or of another form."""
    return Result.parse(read_record(folder), str(folder.expanduser() / RESULTS))


def read_record(folder: Path) -> dict[str, Any]:
    """The same as it was written: with what a later release has added. Raises DataError where there is none."""
    path = folder.expanduser() / RESULTS
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(message(f"no result can be read from {folder}", got=f"{type(error).__name__}: {error}"[:200],
                                expected=f"a folder with {RESULTS}, as `reasongym eval` writes it",
                                remedy="check the path; an evaluation that was cut off goes on with "
                                       f"`reasongym eval --resume {folder}`")) from error
    if not isinstance(record, dict):
        raise DataError(message(f"{path} is not the record of a result", got=type(record).__name__,
                                expected="a JSON object", remedy="evaluate again"))
    return record


def read_result_samples(folder: Path) -> tuple[Sample, ...]:
    """The answers of a result, by prompt and sample. Raises DataError."""
    return read_samples(folder.expanduser() / SAMPLES)
