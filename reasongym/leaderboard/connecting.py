"""A store's address -> a database that several processes may write at once.

`board.db`, `sqlite:///board.db`, `postgresql://user@host/name`. SQLite runs in WAL mode: readers go on while one
writes, and a writer waits its turn, up to BUSY_S. WAL needs a local disk: a store that several machines write is
PostgreSQL's business. A file is known to be a store, or empty, before anything of it is changed.
"""

from __future__ import annotations

import contextlib
import os
import re
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
from reasongym.leaderboard.migrating import check_ours

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
SECRET = re.compile(r"password|secret|key$", re.IGNORECASE)
"""Parameters of an address whose values are never shown."""
NO_FILE = re.compile(r"postgres\w*(\+\w+)?:|.*\bpassword\s*=", re.IGNORECASE | re.DOTALL)
"""An address of PostgreSQL's without `//`, or in its other form: as the name of a file it would be shown."""
DRIVERS = {"postgres": "postgresql+psycopg", "postgresql": "postgresql+psycopg", "sqlite": "sqlite"}


def read_url(store: str | None) -> URL:
    """The address, of `store`, else of $REASONGYM_STORE, else DEFAULT_STORE. Raises DataError for no such kind."""
    text = store or os.environ.get(STORE_VARIABLE) or DEFAULT_STORE
    if "://" not in text:
        if NO_FILE.match(text):
            raise _unknown("an address that cannot be read")
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
    return create_engine(url, pool_pre_ping=True, connect_args=_arguments(url))


def shown(url: URL) -> str:
    """For people: without the password, nor what follows `?`, which may hold one; a file by its path."""
    return str(url.database) if url.drivername == "sqlite" else url.set(query={}).render_as_string(hide_password=True)


@contextlib.contextmanager
def database_errors(url: URL) -> Iterator[None]:
    """What the database refuses as an error of ours, with its first line."""
    try:
        yield
    except OperationalError as error:
        raise ResourceError(message(f"the store {shown(url)} does not answer", got=_first_line(error, url),
                                    expected="a database that can be reached, read and written",
                                    remedy="check address, password, rights and the room on its disk")) from error
    except sqlalchemy_errors.TimeoutError as error:
        raise ResourceError(message(f"the store {shown(url)} does not answer", got="all its connections are in use",
                                    expected="a connection within half a minute", remedy="try again")) from error
    except (sqlalchemy_errors.DataError, IntegrityError) as error:
        raise DataError(message(f"the store {shown(url)} does not take the result", got=_first_line(error, url),
                                expected="values that its columns hold", remedy="evaluate again")) from error
    except DBAPIError as error:
        raise DataError(message(f"{shown(url)} is not a store", got=_first_line(error, url),
                                expected="a database that `reasongym leaderboard add` made",
                                remedy="name another --store")) from error


def _arguments(url: URL) -> dict[str, Any]:
    """Of PostgreSQL's driver: deadlines for everything. What the address says itself stands above ours."""
    options = url.query.get("options", "")
    given = options if isinstance(options, str) else " ".join(options)
    ours = {"connect_timeout": int(BUSY_S), **GONE}
    return {"options": f"{POSTGRES_OPTIONS} {given}".strip(),
            **{name: value for name, value in ours.items() if name not in url.query}}


def _prepare_file(url: URL, create: bool) -> None:
    path = Path(str(url.database))
    if path.is_file() and (create or path.stat().st_size):
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
    check_ours(name for name, in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND "
                                                    "name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"))
    _to_wal(connection)
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA foreign_keys=ON")


def _to_wal(connection: sqlite3.Connection) -> None:
    """Raises ResourceError where the disk does not have what WAL needs."""
    deadline = time.monotonic() + BUSY_S
    while _journal_mode(connection) != "wal":
        try:
            if _journal_mode(connection, "=WAL") != "wal":
                raise ResourceError(message("the store's disk cannot be shared by several writers",
                                            got="SQLite without WAL, as on a network's disk", expected="a local disk",
                                            remedy="name another --store; for several machines PostgreSQL"))
        except sqlite3.OperationalError as error:
            # several processes that open a new file at once do not wait for one another here
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _journal_mode(connection: sqlite3.Connection, wanted: str = "") -> str:
    return str(connection.execute(f"PRAGMA journal_mode{wanted}").fetchone()[0])


def _begin_sqlite(connection: Connection) -> None:
    """A writer takes its turn at once: two that had begun by reading could not both go on to write."""
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _unknown(got: str) -> DataError:
    return DataError(message("no such store", got=got, expected="a file, sqlite:///FILE or postgresql://USER@HOST/NAME",
                             remedy=f"correct --store or ${STORE_VARIABLE}"))


def _first_line(error: DBAPIError, url: URL) -> str:
    """Without a password, whatever a driver writes into its message."""
    line = (str(error.orig).strip().splitlines() or [type(error.orig).__name__])[0]
    for secret in _secrets(url):
        line = line.replace(secret, "***")
    return line[:300]


def _secrets(url: URL) -> Iterator[str]:
    yield from filter(None, [url.password])
    for name, value in url.query.items():
        if SECRET.search(name):
            yield from filter(None, [value] if isinstance(value, str) else value)
