"""Bringing a store's tables up to date, once, however many processes open it at the same moment."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text

from reasongym.errors import DataError, message

__all__ = ["HEAD", "migrate", "version_of"]

HEAD = "0002"
"""The last migration in migrations/versions: known here, so that opening a current store needs no Alembic."""
LOCK = 0x7265_6173_6F6E  # "reason"; any number serves that no other user of the same database takes


def migrate(engine: Engine) -> None:
    """Up to HEAD. Raises DataError for a store of a newer reasongym, or for a database of something else."""
    with engine.begin() as connection:
        if version_of(connection) == HEAD:
            return
    with engine.execution_options(writes=True).begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
        _check(connection)
        if version_of(connection) != HEAD:  # another process may have been first
            _upgrade(connection)


def version_of(connection: Connection) -> str | None:
    """The migration that the tables are at; None for an empty database."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return None if found is None else str(found)


def _check(connection: Connection) -> None:
    version = version_of(connection)
    if version is None and inspect(connection).has_table("results"):
        raise DataError(message("the database has a table `results` that is not ours", got="tables of something else",
                                expected="an empty database, or a store", remedy="name another --store"))
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
