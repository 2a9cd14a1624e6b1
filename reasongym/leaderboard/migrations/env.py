"""Run by Alembic: the steps go through the connection, and the transaction, of whoever migrates."""

from __future__ import annotations

from alembic import context

from reasongym.leaderboard.models import METADATA

__all__: list[str] = []

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
with context.begin_transaction():
    context.run_migrations()
