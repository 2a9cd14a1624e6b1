"""What else tells results of one model apart, and the step of a training run: of one step there is one result.

`variant` is filled in for results that are there already, from their records. They have no run: a run's record has said
which one it is only since then.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from alembic import op

__all__ = ["branch_labels", "depends_on", "down_revision", "downgrade", "revision", "upgrade"]

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

RESULTS = sa.table("results", *(sa.column(name) for name in ("id", "record", "variant")))
IN_LABELS = frozenset({"max_tokens", "temperature", "seed", "logprobs"})


def upgrade() -> None:
    """Add and fill them."""
    op.add_column("results", sa.Column("variant", sa.Text(), nullable=False, server_default=""))
    op.add_column("results", sa.Column("run", sa.String(64)))
    op.add_column("results", sa.Column("step", sa.BigInteger()))
    op.create_index("results_by_step", "results", ["run", "step", "verifier_version"], unique=True)
    connection = op.get_bind()
    for number in connection.execute(sa.select(RESULTS.c.id)).scalars().all():
        record = connection.execute(sa.select(RESULTS.c.record).where(RESULTS.c.id == number)).scalar_one()
        connection.execute(sa.update(RESULTS).where(RESULTS.c.id == number).values(variant=_variant(
            json.loads(record))))


def downgrade() -> None:
    """Remove them."""
    op.drop_index("results_by_step", "results")
    for name in ("step", "run", "variant"):
        op.drop_column("results", name)


def _variant(record: Mapping[str, Any]) -> str:
    """As `labels.variant` was when this was written."""
    decoding, prompting = record.get("decoding", {}), record.get("prompting", {})
    limit, too_long = decoding.get("max_prompt_tokens"), record.get("task", {}).get("too_long", 0)
    facts = {"engine": record.get("engine", {}).get("kind"), "api": record.get("engine", {}).get("api"),
             "dtype": record.get("model", {}).get("dtype"), "system": _digest("system prompt", prompting.get("system")),
             "template": _digest("template", prompting.get("template")),
             "length": f"prompts to {limit} tokens" if limit is not None and too_long else "",
             **{f"sent.{name}": _told(name, value) for name, value in decoding.get("sent", {}).items()
                if name not in IN_LABELS}}
    return json.dumps({name: text for name, text in facts.items() if text}, sort_keys=True)


def _told(name: str, value: Any) -> str:
    text = f"{name}={value if isinstance(value, str) else json.dumps(value, sort_keys=True)}"
    return text if len(text) <= 60 else f"{text[:48]}... {_sha(text)}"


def _digest(name: str, text: str | None) -> str:
    return "" if text is None else f"{name} {_sha(text)}"


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:8]
