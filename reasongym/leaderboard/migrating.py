"""Bringing a store's tables up to date, once, however many processes open it at the same moment."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text

from reasongym.errors import DataError, message
from reasongym.leaderboard.storable import one_line

__all__ = ["HEAD", "check_ours", "migrate", "version_of"]

HEAD = "0003"
"""The last migration in migrations/versions: known here, so that opening a current store needs no Alembic."""
TABLES = frozenset({"alembic_version", "results", "metrics", "scores", "samples"})
"""That every store has had since the first release."""
LOCK = 0x7265_6173_6F6E  # "reason"; any number serves that no other user of the same database takes


def migrate(engine: Engine) -> None:
    """Up to HEAD. Raises DataError for a store of a newer reasongym, or for a database of something else."""
    with engine.begin() as connection:
        check_ours(inspect(connection).get_table_names())
        if version_of(connection) == HEAD:
            return
    with engine.execution_options(writes=True).begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
        check_ours(inspect(connection).get_table_names())
        _check(connection)
        if version_of(connection) != HEAD:  # another process may have been first
            _upgrade(connection)


def check_ours(tables: Iterable[str]) -> None:
    """Whether a database of these tables is a store, or may become one. Raises DataError.

    A table `alembic_version` alone says nothing: other programs have one, of the same version even.
    """
    found = set(tables)
    if found and not found >= TABLES:
        named = one_line(", ".join(sorted(found))[:120])
        raise DataError(message("the database is not a store", got=f"a database with the tables {named}",
                                expected="an empty one, or one that `reasongym leaderboard add` made",
                                remedy="name another --store"))


def version_of(connection: Connection) -> str | None:
    """The migration that the tables are at; None for an empty database."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return None if found is None else str(found)


def _check(connection: Connection) -> None:
    version = version_of(connection)
    known = {path.name[1:5] for path in (Path(__file__).parent / "migrations" / "versions").glob("v[0-9]*.py")}
    if version is not None and version not in known:
        raise DataError(message("the store was made by another release of reasongym",
                                got=f"tables of version {version}", expected=f"at most {HEAD}",
                                remedy="update reasongym"))


def _upgrade(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, HEAD)
