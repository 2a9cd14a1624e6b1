"""A store's address -> a database that several processes may write at once.

`board.db`, `sqlite:///board.db`, `postgresql://user@host/name`. SQLite runs in WAL mode: readers go on while one
writes, and a writer waits its turn, up to BUSY_S. WAL needs a local disk: a store that several machines write is
PostgreSQL's business.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event, make_url
from sqlalchemy import exc as sqlalchemy_errors
from sqlalchemy.engine import Connection
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, OperationalError

from reasongym.errors import DataError, ResourceError, message

__all__ = ["BUSY_S", "DEFAULT_STORE", "STORE_VARIABLE", "connect", "database_errors", "read_url", "shown"]

DEFAULT_STORE = "evals/leaderboard.db"
STORE_VARIABLE = "REASONGYM_STORE"
BUSY_S = 60.0
"""How long a writer waits for its turn, and anyone for PostgreSQL to answer."""
STATEMENT_S = 600.0
"""The longest that one statement may take, the answers of a whole result written included."""
POSTGRES_OPTIONS = (f"-c lock_timeout={int(BUSY_S * 1000)} -c statement_timeout={int(STATEMENT_S * 1000)} "
                    "-c timezone=UTC")
GONE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3,
        "tcp_user_timeout": int(BUSY_S * 1000)}
"""When a server that no longer answers counts as gone, in seconds and, the last, in milliseconds."""
DRIVERS = {"postgres": "postgresql+psycopg", "postgresql": "postgresql+psycopg", "sqlite": "sqlite"}


def read_url(store: str | None) -> URL:
    """The address, of `store`, else of $REASONGYM_STORE, else DEFAULT_STORE. Raises DataError for no such kind."""
    text = store or os.environ.get(STORE_VARIABLE) or DEFAULT_STORE
    if "://" not in text:
        return URL.create("sqlite", database=str(Path(text).expanduser()))
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:
        raise _unknown("an address that cannot be read") from error  # the text itself may hold a password
    name = DRIVERS.get(url.drivername, url.drivername)
    if name not in DRIVERS.values():
        raise _unknown(f"a store of kind {url.drivername!r}")
    if name == "sqlite" and url.database in (None, "", ":memory:"):
        raise _unknown("an SQLite store without a file")
    return url.set(drivername=name)


def connect(url: URL, *, create: bool) -> Engine:
    """The database, made where it is SQLite's, not there yet and to be created. Raises DataError, ResourceError."""
    if url.drivername == "sqlite":
        _prepare_file(url, create)
        engine = create_engine(url, connect_args={"timeout": BUSY_S})
        event.listen(engine, "connect", _open_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    return create_engine(url, pool_pre_ping=True, connect_args={"connect_timeout": int(BUSY_S),
                                                                "options": POSTGRES_OPTIONS, **GONE})


def shown(url: URL) -> str:
    """For people: without the password, nor what follows `?`, which may hold one; a file by its path."""
    return str(url.database) if url.drivername == "sqlite" else url.set(query={}).render_as_string(hide_password=True)


@contextlib.contextmanager
def database_errors(url: URL) -> Iterator[None]:
    """What the database refuses as an error of ours, with its first line."""
    try:
        yield
    except OperationalError as error:
        raise ResourceError(message(f"the store {shown(url)} does not answer", got=_first_line(error),
                                    expected="a database that can be reached, read and written",
                                    remedy="check address, password, rights and the room on its disk")) from error
    except (sqlalchemy_errors.DataError, IntegrityError) as error:
        raise DataError(message(f"the store {shown(url)} does not take the result", got=_first_line(error),
                                expected="values that its columns hold", remedy="evaluate again")) from error
    except DBAPIError as error:
        raise DataError(message(f"{shown(url)} is not a store", got=_first_line(error),
                                expected="a database that `reasongym leaderboard add` made",
                                remedy="name another --store")) from error


def _prepare_file(url: URL, create: bool) -> None:
    path = Path(str(url.database))
    if path.is_file():
        return
    if not create:
        raise DataError(message("there is no store yet", got=str(path), expected="a store with results",
                                remedy="`reasongym leaderboard add FOLDER...` makes one of evaluations"))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResourceError(message(f"cannot make {path.parent}", got=error.strerror or str(error),
                                    expected="a folder for the store", remedy="name another --store")) from error


def _open_sqlite(connection: sqlite3.Connection, _: Any) -> None:
    connection.isolation_level = None  # transactions are begun below; the driver's own begin too late
    deadline = time.monotonic() + BUSY_S
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            # several processes that open a new file at once do not wait for one another here
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA foreign_keys=ON")


def _begin_sqlite(connection: Connection) -> None:
    """A writer takes its turn at once: two that had begun by reading could not both go on to write."""
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _unknown(got: str) -> DataError:
    return DataError(message("no such store", got=got, expected="a file, sqlite:///FILE or postgresql://USER@HOST/NAME",
                             remedy=f"correct --store or ${STORE_VARIABLE}"))


def _first_line(error: DBAPIError) -> str:
    return (str(error.orig).strip().splitlines() or [type(error.orig).__name__])[0][:300]
