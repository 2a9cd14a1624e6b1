"""The results store: what enters once stays once, whoever else writes at the same moment.

A result is one transaction, samples included: it is there whole or not at all. `digest` is its identity, so entering it
again changes nothing.
"""

from __future__ import annotations

import array
import contextlib
import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, NamedTuple, Self

from sqlalchemy import Connection, func, select

from reasongym.errors import UnknownNameError, message
from reasongym.leaderboard.connecting import connect, database_errors, read_url, shown
from reasongym.leaderboard.entry import Entry, Metric, Sample, Submission
from reasongym.leaderboard.migrating import migrate
from reasongym.leaderboard.models import METRICS, RESULTS, SAMPLES, SCORES

__all__ = ["Added", "RowMeans", "Store", "Stored"]

BATCH = 500  # samples to one statement
SHORT_DIGEST = 16


class Added(NamedTuple):
    """new: False where the same result had been entered before."""

    digest: str
    new: bool


class RowMeans(NamedTuple):
    """Mean headline score of each scored row, in the order of `rows`. digest: equal ones are of the same rows."""

    digest: str
    rows: Sequence[str]
    means: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A result in the store, without record and samples. metrics: by name. added_at: UTC. answers_digest: equal ones
    hold the same answers with the same verdicts."""

    id: int
    digest: str
    added_at: datetime
    entry: Entry
    metrics: dict[str, Metric]
    num_samples: int
    answers_digest: str | None

    @property
    def main(self) -> Metric:
        """The metric that ranks."""
        return self.metrics[self.entry.headline]

    @property
    def name(self) -> str:
        """The start of the digest: what a page's address and a person call it."""
        return self.digest[:SHORT_DIGEST]


class Store:
    """Open until `close`, or the end of its `with` block. Safe to share between threads."""

    def __init__(self, store: str | None = None, *, create: bool = False) -> None:
        """store: a file or an address, see `connecting`. create: make it where it is not there.

        Raises DataError where there is none or where it is something else, ResourceError where it does not answer.
        """
        self.url = read_url(store)
        with database_errors(self.url), contextlib.ExitStack() as opened:
            self._engine = connect(self.url, create=create)
            opened.callback(self._engine.dispose)
            migrate(self._engine)
            opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Give its connections back."""
        self._engine.dispose()

    @property
    def address(self) -> str:
        """For people: without a password."""
        return shown(self.url)

    def add(self, made: Submission) -> Added:
        """Enter a result with all its samples. Raises ResourceError; nothing of it is then in the store."""
        digest = made.digest
        with database_errors(self.url), self._engine.execution_options(writes=True).begin() as connection:
            number = _insert_result(connection, digest, made)
            if number is not None:
                _insert_rest(connection, number, made)
        return Added(digest, number is not None)

    def results(self, task: str | None = None) -> list[Stored]:
        """All of them, or those of a task, in the order of their entry. Records and samples are not read."""
        columns = [column for column in RESULTS.c if column.name != "record"]
        asked = select(*columns).order_by(RESULTS.c.id)
        measured = select(METRICS)
        if task is not None:
            asked = asked.where(RESULTS.c.task == task)
            measured = measured.join(RESULTS, RESULTS.c.id == METRICS.c.result_id).where(RESULTS.c.task == task)
        with database_errors(self.url), self._engine.begin() as connection:
            rows = connection.execute(asked).all()
            metrics: dict[int, dict[str, Metric]] = {}
            for number, *values in connection.execute(measured):
                metrics.setdefault(number, {})[values[0]] = Metric(*values)
        # a result entered between the two reads, where the database lets it be seen, has metrics only
        return [_stored(row._mapping, metrics[row.id]) for row in rows if row.id in metrics]

    def find(self, name: str) -> Stored:
        """The result whose digest begins with `name`. Raises UnknownNameError where there is not exactly one."""
        found = [result for result in self.results() if name and result.digest.startswith(name)]
        if len(found) != 1:
            raise UnknownNameError(message(f"no single result {name!r}", got=f"{len(found)} that begin so",
                                           expected="the first digits of one digest", remedy="give more of them"))
        return found[0]

    def record(self, result_id: int) -> str:
        """The whole record of a result, JSON."""
        with database_errors(self.url), self._engine.begin() as connection:
            return str(connection.execute(select(RESULTS.c.record).where(RESULTS.c.id == result_id)).scalar_one())

    def row_means(self, result_ids: Sequence[int]) -> dict[int, RowMeans]:
        """By result; those that came without samples are left out."""
        asked = select(SCORES.c.result_id, SCORES.c.rows_digest, SCORES.c.means)
        with database_errors(self.url), self._engine.begin() as connection:
            rows = connection.execute(asked.where(SCORES.c.result_id.in_(result_ids))).all()
            first = {row.rows_digest: row.result_id for row in rows}  # read once for all results of the same rows
            keys = select(SCORES.c.rows_digest, SCORES.c.rows).where(SCORES.c.result_id.in_(first.values()))
            parsed = {digest: json.loads(text) for digest, text in connection.execute(keys)}
        return {row.result_id: RowMeans(row.rows_digest, parsed[row.rows_digest], _unpacked(row.means))
                for row in rows}

    def samples(self, result_id: int, start: int = 0, count: int | None = None) -> list[Sample]:
        """`count` samples of a result from place `start`, or all from there on."""
        columns = [SAMPLES.c[_column(name)] for name in Sample._fields]
        asked = select(*columns).where(SAMPLES.c.result_id == result_id, SAMPLES.c.place >= start)
        if count is not None:
            asked = asked.where(SAMPLES.c.place < start + count)
        with database_errors(self.url), self._engine.begin() as connection:
            return [Sample(*row) for row in connection.execute(asked.order_by(SAMPLES.c.place))]

    def statuses(self, result_id: int) -> list[str]:
        """Of each sample, in order; the samples themselves are not read."""
        asked = select(SAMPLES.c.status).where(SAMPLES.c.result_id == result_id).order_by(SAMPLES.c.place)
        with database_errors(self.url), self._engine.begin() as connection:
            return list(connection.execute(asked).scalars())

    def count(self) -> int:
        """Results in the store."""
        with database_errors(self.url), self._engine.begin() as connection:
            return connection.execute(select(func.count()).select_from(RESULTS)).scalar_one()


def _insert_result(connection: Connection, digest: str, made: Submission) -> int | None:
    """The new row's key, or None where the digest is there: on PostgreSQL, once a rival's transaction is decided."""
    values = {_column(name): value for name, value in asdict(made.entry).items()}
    from sqlalchemy.dialects import postgresql, sqlite  # both take time to import, and a reader needs neither

    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    added: int | None = connection.execute(
        insert(RESULTS).values(**values, digest=digest, num_samples=len(made.samples),
                               answers_digest=made.answers_digest, added_at=datetime.now(UTC).replace(tzinfo=None))
        .on_conflict_do_nothing(index_elements=["digest"]).returning(RESULTS.c.id)).scalar()
    return added


def _insert_rest(connection: Connection, number: int, made: Submission) -> None:
    connection.execute(METRICS.insert(), [{"result_id": number, **metric._asdict()}
                                                    for metric in made.metrics])
    if means := made.row_means():
        keys = json.dumps(list(means))
        connection.execute(SCORES.insert(), {
            "result_id": number, "rows": keys, "rows_digest": hashlib.sha256(keys.encode()).hexdigest(),
            "means": _packed(list(means.values()))})
    for start in range(0, len(made.samples), BATCH):
        connection.execute(SAMPLES.insert(), [
            {"result_id": number, "place": place, **{_column(name): value for name, value in sample._asdict().items()}}
            for place, sample in enumerate(made.samples[start:start + BATCH], start)])


def _stored(row: Any, metrics: dict[str, Metric]) -> Stored:
    values = {field.name: row[_column(field.name)] for field in fields(Entry) if field.name != "record"}
    return Stored(id=row["id"], digest=row["digest"], added_at=row["added_at"], entry=Entry(**values, record=""),
                  metrics=metrics, num_samples=row["num_samples"], answers_digest=row["answers_digest"])


def _column(name: str) -> str:
    """A field's column: two of them would be words of SQL."""
    return {"commit": "commit_hash", "row": "data_row"}.get(name, name)


def _packed(means: Sequence[float]) -> bytes:
    packed = array.array("d", means)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _unpacked(data: bytes) -> array.array[float]:
    unpacked = array.array("d")
    unpacked.frombytes(data)
    if sys.byteorder == "big":
        unpacked.byteswap()
    return unpacked

