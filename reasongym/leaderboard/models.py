"""The tables. What is changed here needs a migration in migrations/versions.

    results   one row a result: what boards show, as columns, and its whole record as JSON text
    metrics   its estimates with their intervals
    scores    its mean score of each row, packed: paired tests read it instead of the samples
    samples   its answers

Tables and no mapped classes: SQLAlchemy's ORM takes a tenth of a second to import.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

__all__ = ["METADATA", "METRICS", "RESULTS", "SAMPLES", "SCORES"]

BIG = BigInteger().with_variant(Integer, "sqlite")  # only an INTEGER key numbers itself in SQLite
METADATA = MetaData()


def _texts(*names: str) -> list[Column[str]]:
    return [Column(name, Text(), nullable=False) for name in names]


def _counts(*names: str) -> list[Column[int]]:
    return [Column(name, BigInteger(), nullable=False) for name in names]


def _numbers(*names: str) -> list[Column[float]]:
    return [Column(name, Double(), nullable=False) for name in names]


def _result() -> Column[int]:
    return Column("result_id", BIG, ForeignKey("results.id", ondelete="CASCADE"), primary_key=True,
                  autoincrement=False)


# `Entry`, with its digest and the time of its entry (UTC). answers_digest: None of a result without samples. Of one
# step of a training run, judged by one version of a verifier, there is one result; other results have no run, and NULLs
# are all different.
RESULTS = Table(
    "results", METADATA, Column("id", BIG, primary_key=True), Column("digest", String(64), nullable=False, unique=True),
    Column("added_at", DateTime(), nullable=False),
    *_texts("model", "label", "task", "split", "settings", "data_fingerprint", "verifier", "verifier_version",
            "prompt_hash", "created_at", "engine", "commit_hash"),  # COMMIT is a word of SQL
    *_counts("prompts", "answers", "truncated", "unparsable", "timeouts", "errors", "missing", "tokens"),
    *_numbers("seconds"), Column("cost", Double()), Column("partial", Boolean(), nullable=False),
    *_texts("headline", "substitute_for"), *_counts("num_samples"), *_texts("record"),
    Column("split_rows", BigInteger()), Column("overlap", Double()), Column("answers_digest", String(64)),
    Column("variant", Text(), nullable=False, server_default=""),
    Column("run", String(64)), Column("step", BigInteger()),
    Index("results_by_task", "task", "split"),
    Index("results_by_step", "run", "step", "verifier_version", unique=True))

# `Metric` of a result.
METRICS = Table("metrics", METADATA, _result(), Column("name", Text(), primary_key=True),
                *_numbers("mean", "low", "high"), *_texts("method"), *_counts("prompts", "answers"))

# rows: JSON list of the scored rows, sorted; means: a little-endian double each; rows_digest: of `rows`.
SCORES = Table("scores", METADATA, _result(), Column("rows_digest", String(64), nullable=False), *_texts("rows"),
               Column("means", LargeBinary(), nullable=False))

# `Sample` of a result; place: its position from 0, so that a page of any result is one range of the key.
SAMPLES = Table(
    "samples", METADATA, _result(), Column("place", Integer(), primary_key=True),
    *_texts("data_row"),  # ROW is a word of SQL
    Column("number", Integer(), nullable=False), *_texts("prompt", "reasoning", "completion", "reference"),
    Column("extracted", Text()), *_texts("status"), Column("score", Double()),
    *_texts("reason", "parts", "finish_reason"), Column("tokens", BigInteger()), Column("seconds", Double()))
