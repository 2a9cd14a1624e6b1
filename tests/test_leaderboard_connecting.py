"""A store's address: another program's database is left as it is, no password is shown, no wait is endless."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner
from leaderboard_samples import made_up, write_folder
from sqlalchemy.exc import OperationalError
from test_leaderboard_store import postgres

from reasongym.cli.leaderboard import command
from reasongym.errors import DataError, ResourceError
from reasongym.leaderboard import Store
from reasongym.leaderboard.connecting import connect, database_errors, read_url

__all__ = ["postgres"]  # a fixture


def other_program(path: Path, *tables: str) -> bytes:
    """A database of something else; its bytes."""
    with sqlite3.connect(path) as connection:
        for table in tables:
            connection.execute(f"CREATE TABLE {table} (version_num TEXT)")
            connection.execute(f"INSERT INTO {table} VALUES ('0003')")
    connection.close()
    return path.read_bytes()


@pytest.mark.parametrize("tables", [("notes",), ("alembic_version",), ("alembic_version", "results", "notes")])
def test_another_program_s_database_is_not_changed(tmp_path: Path, tables: tuple[str, ...]) -> None:
    path = tmp_path / "other.db"
    before = other_program(path, *tables)
    for create in (False, True):
        with pytest.raises(DataError, match=f"not a store(.|\n)*{tables[0]}"):
            Store(str(path), create=create)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["other.db"]


def test_a_store_may_have_tables_of_others_beside_its_own(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with Store(str(path), create=True) as store:
        store.add(made_up())
    other_program(path, "notes")
    with Store(str(path)) as store:
        assert store.count() == 1


def test_reading_makes_no_store_of_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    path.touch()
    with pytest.raises(DataError, match="no store yet"):
        Store(str(path))
    assert path.read_bytes() == b""
    with Store(str(path), create=True) as store:
        assert store.count() == 0


def test_a_disk_without_wal_is_named_and_not_tried_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reasongym.leaderboard.connecting._journal_mode", lambda *_: "delete")
    with pytest.raises(ResourceError, match="local disk"):
        Store(str(tmp_path / "s.db"), create=True)


@pytest.mark.parametrize("address", ["postgresql:/u:hunter2@h/d", "postgres:u:hunter2@h", "host=h password=hunter2"])
def test_an_address_that_was_mistyped_is_not_shown_as_a_file(address: str) -> None:
    with pytest.raises(DataError, match="no such store") as caught:
        Store(address, create=True)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("address", ["postgresql://u:hunter2@h/d", "postgresql://u@h/d?password=hunter2"])
def test_a_driver_s_message_is_shown_without_the_password(address: str) -> None:
    url = read_url(address)
    with pytest.raises(ResourceError) as caught, database_errors(url):
        raise OperationalError("", {}, Exception("connection to 'u:hunter2@h' failed"))
    assert "hunter2" not in str(caught.value)
    assert "u:***@h" in str(caught.value)


def test_two_stores_in_one_command_are_refused_without_their_passwords(tmp_path: Path) -> None:
    folder = str(write_folder(tmp_path / "r", right=[True]))
    done = CliRunner().invoke(command, ["--store", "postgresql://u:hunter2@h/d", "add", folder, "--store", "x.db"])
    assert (done.exit_code, "given twice" in done.output, "hunter2" in done.output) == (2, True, False)


def test_every_wait_of_postgresql_has_an_end(postgres: str) -> None:
    engine = connect(read_url(f"{postgres}&options=-csearch_path%3Dpublic"), create=False)
    with engine.begin() as connection:
        shown = [connection.exec_driver_sql(f"SHOW {name}").scalar()
                 for name in ("lock_timeout", "statement_timeout", "search_path")]
    engine.dispose()
    assert shown == ["1min", "10min", "public"]


def test_a_lock_that_another_holds_is_waited_for_and_then_named(postgres: str) -> None:
    with Store(f"{postgres}&options=-clock_timeout%3D50", create=True) as store:
        holder = connect(read_url(postgres), create=False)
        with holder.begin() as connection:
            connection.exec_driver_sql("LOCK TABLE results IN ACCESS EXCLUSIVE MODE")
            with pytest.raises(ResourceError, match="lock timeout"):
                store.add(made_up())
        holder.dispose()
        assert store.add(made_up()).new
