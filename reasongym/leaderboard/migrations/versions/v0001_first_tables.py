"""The first tables: results, metrics, scores, samples."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

__all__ = ["branch_labels", "depends_on", "down_revision", "downgrade", "revision", "upgrade"]

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXTS = ("model", "label", "task", "split", "settings", "data_fingerprint", "verifier", "verifier_version",
         "prompt_hash", "created_at", "engine", "commit_hash")
COUNTS = ("prompts", "answers", "truncated", "unparsable", "timeouts", "errors", "missing", "tokens")


def upgrade() -> None:
    """Make them."""
    op.create_table(
        "results", sa.Column("id", BIG, primary_key=True), sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("added_at", sa.DateTime(), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in TEXTS),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in COUNTS),
        sa.Column("seconds", sa.Double(), nullable=False), sa.Column("cost", sa.Double()),
        sa.Column("partial", sa.Boolean(), nullable=False), sa.Column("headline", sa.Text(), nullable=False),
        sa.Column("substitute_for", sa.Text(), nullable=False),
        sa.Column("num_samples", sa.BigInteger(), nullable=False),
        sa.Column("record", sa.Text(), nullable=False), sa.UniqueConstraint("digest", name="results_digest_key"))
    op.create_index("results_by_task", "results", ["task", "split"])
    op.create_table(
        "metrics", _result(), sa.Column("name", sa.Text(), primary_key=True),
        *(sa.Column(name, sa.Double(), nullable=False) for name in ("mean", "low", "high")),
        sa.Column("method", sa.Text(), nullable=False), sa.Column("prompts", sa.BigInteger(), nullable=False),
        sa.Column("answers", sa.BigInteger(), nullable=False))
    op.create_table("scores", _result(), sa.Column("rows_digest", sa.String(64), nullable=False),
                    sa.Column("rows", sa.Text(), nullable=False), sa.Column("means", sa.LargeBinary(), nullable=False))
    op.create_table(
        "samples", _result(), sa.Column("place", sa.Integer(), primary_key=True),
        sa.Column("data_row", sa.Text(), nullable=False), sa.Column("number", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("prompt", "reasoning", "completion", "reference")),
        sa.Column("extracted", sa.Text()), sa.Column("status", sa.Text(), nullable=False),
        sa.Column("score", sa.Double()),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("reason", "parts", "finish_reason")),
        sa.Column("tokens", sa.BigInteger()), sa.Column("seconds", sa.Double()))


def downgrade() -> None:
    """Remove them, and all that they hold."""
    for table in ("samples", "scores", "metrics", "results"):
        op.drop_table(table)


def _result() -> sa.Column[int]:
    return sa.Column("result_id", BIG, sa.ForeignKey("results.id", ondelete="CASCADE"), primary_key=True,
                     autoincrement=False)
