"""The tables, as SQLAlchemy models. What is changed here needs a migration in migrations/versions.

    results   one row a result: what boards show, as columns, and its whole record as JSON text
    metrics   its estimates with their intervals
    scores    its mean score of each row, packed: paired tests read it instead of the samples
    samples   its answers
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, DateTime, ForeignKey, Index, Integer, LargeBinary, String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

__all__ = ["Base", "MetricRow", "ResultRow", "SampleRow", "ScoresRow"]

BIG = BigInteger().with_variant(Integer, "sqlite")  # only an INTEGER key numbers itself in SQLite


class Base(DeclarativeBase):
    """All tables of the store."""


class ResultRow(Base):
    """`Entry`, with its digest and the time of its entry (UTC)."""

    __tablename__ = "results"
    __table_args__ = (Index("results_by_task", "task", "split"),)

    id: Mapped[int] = mapped_column(BIG, primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    added_at: Mapped[datetime] = mapped_column(DateTime())
    model: Mapped[str] = mapped_column(Text())
    label: Mapped[str] = mapped_column(Text())
    task: Mapped[str] = mapped_column(Text())
    split: Mapped[str] = mapped_column(Text())
    settings: Mapped[str] = mapped_column(Text())
    data_fingerprint: Mapped[str] = mapped_column(Text())
    verifier: Mapped[str] = mapped_column(Text())
    verifier_version: Mapped[str] = mapped_column(Text())
    prompt_hash: Mapped[str] = mapped_column(Text())
    created_at: Mapped[str] = mapped_column(Text())
    engine: Mapped[str] = mapped_column(Text())
    commit: Mapped[str] = mapped_column("commit_hash", Text())  # COMMIT is a word of SQL
    prompts: Mapped[int] = mapped_column(BigInteger())
    answers: Mapped[int] = mapped_column(BigInteger())
    truncated: Mapped[int] = mapped_column(BigInteger())
    unparsable: Mapped[int] = mapped_column(BigInteger())
    timeouts: Mapped[int] = mapped_column(BigInteger())
    errors: Mapped[int] = mapped_column(BigInteger())
    missing: Mapped[int] = mapped_column(BigInteger())
    tokens: Mapped[int] = mapped_column(BigInteger())
    seconds: Mapped[float]
    cost: Mapped[float | None]
    partial: Mapped[bool]
    headline: Mapped[str] = mapped_column(Text())
    substitute_for: Mapped[str] = mapped_column(Text())
    num_samples: Mapped[int] = mapped_column(BigInteger())
    record: Mapped[str] = mapped_column(Text())


class MetricRow(Base):
    """`Metric` of a result."""

    __tablename__ = "metrics"

    result_id: Mapped[int] = mapped_column(ForeignKey("results.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(Text(), primary_key=True)
    mean: Mapped[float]
    low: Mapped[float]
    high: Mapped[float]
    method: Mapped[str] = mapped_column(Text())
    prompts: Mapped[int] = mapped_column(BigInteger())
    answers: Mapped[int] = mapped_column(BigInteger())


class ScoresRow(Base):
    """rows: JSON list of the scored rows, sorted; means: a little-endian double each; rows_digest: of `rows`."""

    __tablename__ = "scores"

    result_id: Mapped[int] = mapped_column(ForeignKey("results.id", ondelete="CASCADE"), primary_key=True)
    rows_digest: Mapped[str] = mapped_column(String(64))
    rows: Mapped[str] = mapped_column(Text())
    means: Mapped[bytes] = mapped_column(LargeBinary())


class SampleRow(Base):
    """`Sample` of a result; place: its position from 0, so that a page of any result is one range of the key."""

    __tablename__ = "samples"

    result_id: Mapped[int] = mapped_column(ForeignKey("results.id", ondelete="CASCADE"), primary_key=True)
    place: Mapped[int] = mapped_column(Integer(), primary_key=True)
    row: Mapped[str] = mapped_column("data_row", Text())  # ROW is a word of SQL
    number: Mapped[int] = mapped_column(Integer())
    prompt: Mapped[str] = mapped_column(Text())
    reasoning: Mapped[str] = mapped_column(Text())
    completion: Mapped[str] = mapped_column(Text())
    reference: Mapped[str] = mapped_column(Text())
    extracted: Mapped[str | None] = mapped_column(Text())
    status: Mapped[str] = mapped_column(Text())
    score: Mapped[float | None]
    reason: Mapped[str] = mapped_column(Text())
    parts: Mapped[str] = mapped_column(Text())
    finish_reason: Mapped[str] = mapped_column(Text())
    tokens: Mapped[int | None] = mapped_column(BigInteger())
    seconds: Mapped[float | None]
