"""The results store: what enters once stays once, whoever else writes at the same moment.

A result is one transaction, samples included: it is there whole or not at all. `digest` is its identity, so entering it
again changes nothing. Only a result of a training run's step gives way: to a later one of the same step.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from types import TracebackType
from typing import Any, NamedTuple, Self

from sqlalchemy import func, select

from reasongym.errors import UnknownNameError, message
from reasongym.leaderboard.connecting import connect, database_errors, read_url, shown
from reasongym.leaderboard.entry import Entry, Metric, Sample, Submission
from reasongym.leaderboard.migrating import migrate
from reasongym.leaderboard.models import METRICS, RESULTS, SAMPLES, SCORES
from reasongym.leaderboard.writing import Added, column_of, enter, unpacked, withdraw

__all__ = ["Added", "RowMeans", "Store", "Stored"]

SHORT_DIGEST = 16


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

    def add(self, made: Submission, *, replace: bool = True) -> Added:
        """Enter a result with all its samples. Raises ResourceError; nothing of it is then in the store.

        replace: one of the same step of the same training run gives way to it, unless that was made later.
        """
        with database_errors(self.url), self._engine.execution_options(writes=True).begin() as connection:
            return enter(connection, made, replace=replace)

    def withdraw(self, run: str, *, after: int) -> int:
        """Take out the results of a training run's steps after `after`, which it makes anew; how many there were.

        run: `reading.run_key`. Raises ResourceError; all of them are then still there.
        """
        with database_errors(self.url), self._engine.execution_options(writes=True).begin() as connection:
            return withdraw(connection, run, after)

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
        """The whole record of a result, JSON. Raises UnknownNameError where it is not there any more."""
        with database_errors(self.url), self._engine.begin() as connection:
            found = connection.execute(select(RESULTS.c.record).where(RESULTS.c.id == result_id)).scalar()
        if found is None:
            raise UnknownNameError(message(f"result {result_id} is not in {self.address} any more",
                                           got="a result that another took the place of", expected="one that is there",
                                           remedy="try again"))
        return str(found)

    def row_means(self, result_ids: Sequence[int]) -> dict[int, RowMeans]:
        """By result; those that came without samples are left out."""
        asked = select(SCORES.c.result_id, SCORES.c.rows_digest, SCORES.c.means)
        with database_errors(self.url), self._engine.begin() as connection:
            rows = connection.execute(asked.where(SCORES.c.result_id.in_(result_ids))).all()
            first = {row.rows_digest: row.result_id for row in rows}  # read once for all results of the same rows
            keys = select(SCORES.c.rows_digest, SCORES.c.rows).where(SCORES.c.result_id.in_(first.values()))
            parsed = {digest: json.loads(text) for digest, text in connection.execute(keys)}
        return {row.result_id: RowMeans(row.rows_digest, parsed[row.rows_digest], unpacked(row.means))
                for row in rows if row.rows_digest in parsed}  # else it was replaced between the two reads

    def samples(self, result_id: int, start: int = 0, count: int | None = None) -> list[Sample]:
        """`count` samples of a result from place `start`, or all from there on."""
        columns = [SAMPLES.c[column_of(name)] for name in Sample._fields]
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

    def digests(self) -> tuple[str, ...]:
        """Of all results, in the order of their entry: equal ones are of the same store."""
        with database_errors(self.url), self._engine.begin() as connection:
            return tuple(connection.execute(select(RESULTS.c.digest).order_by(RESULTS.c.id)).scalars())

    def count(self) -> int:
        """Results in the store."""
        with database_errors(self.url), self._engine.begin() as connection:
            return connection.execute(select(func.count()).select_from(RESULTS)).scalar_one()


def _stored(row: Any, metrics: dict[str, Metric]) -> Stored:
    values = {field.name: row[column_of(field.name)] for field in fields(Entry) if field.name != "record"}
    return Stored(id=row["id"], digest=row["digest"], added_at=row["added_at"], entry=Entry(**values, record=""),
                  metrics=metrics, num_samples=row["num_samples"], answers_digest=row["answers_digest"])
