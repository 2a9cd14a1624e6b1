"""What a board needs to mark a result: the rows its split has, its overlap with training data, a digest of its answers.

Filled in for results that are there already, from their records and samples.
"""

from __future__ import annotations

import hashlib
import json

import sqlalchemy as sa
from alembic import op

__all__ = ["branch_labels", "depends_on", "down_revision", "downgrade", "revision", "upgrade"]

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

RESULTS = sa.table("results", *(sa.column(name) for name in (
    "id", "record", "split", "split_rows", "overlap", "answers_digest")))
SAMPLES = sa.table("samples", *(sa.column(name) for name in (
    "result_id", "place", "data_row", "number", "completion", "status")))
BATCH = 1000


def upgrade() -> None:
    """Add and fill them."""
    op.add_column("results", sa.Column("split_rows", sa.BigInteger()))
    op.add_column("results", sa.Column("overlap", sa.Double()))
    op.add_column("results", sa.Column("answers_digest", sa.String(64)))
    connection = op.get_bind()
    for number in connection.execute(sa.select(RESULTS.c.id)).scalars().all():
        asked = sa.select(RESULTS.c.record, RESULTS.c.split).where(RESULTS.c.id == number)
        record, split = connection.execute(asked).one()
        connection.execute(sa.update(RESULTS).where(RESULTS.c.id == number).values(
            split_rows=_split_rows(record, split), answers_digest=_answers_digest(connection, number)))


def downgrade() -> None:
    """Remove them."""
    for name in ("answers_digest", "overlap", "split_rows"):
        op.drop_column("results", name)


def _split_rows(record: str, split: str) -> int | None:
    """As `reading.split_rows` was when this was written."""
    told = json.loads(record).get("task", {}).get("provenance", {}).get("rows", "")
    counts = dict(part.rsplit(" ", 1) for part in str(told).split(", ") if " " in part)
    return int(counts[split]) if counts.get(split, "").isdecimal() else None


def _answers_digest(connection: sa.Connection, number: int) -> str | None:
    """As `Submission.answers_digest` was when this was written."""
    hasher, start = hashlib.sha256(), 0
    while True:
        asked = sa.select(SAMPLES.c.data_row, SAMPLES.c.number, SAMPLES.c.completion, SAMPLES.c.status).where(
            SAMPLES.c.result_id == number, SAMPLES.c.place >= start, SAMPLES.c.place < start + BATCH)
        rows = connection.execute(asked.order_by(SAMPLES.c.place)).all()
        if not rows:
            return hasher.hexdigest() if start else None
        for row in rows:
            hasher.update(json.dumps(list(row), separators=(",", ":")).encode("ascii") + b"\n")
        start += BATCH
