"""One result into the tables, within its caller's transaction; and what makes room for it.

Of one step of a training run, judged by one version of a verifier, there is one result: a run that went back to a
checkpoint evaluates later steps again, and what it finds then takes the place of what stood there.
"""

from __future__ import annotations

import array
import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, select, update

from reasongym.leaderboard.entry import Sample, Submission
from reasongym.leaderboard.models import METRICS, RESULTS, SAMPLES, SCORES

__all__ = ["Added", "column_of", "enter", "unpacked", "withdraw"]

BATCH = 500  # samples to one statement


class Added(NamedTuple):
    """new: False where the same result was there, or another of the same step of its run that stays.

    replaced: digest of the result of that step that this one took the place of. kept: of the one that stays instead of
    this. Both are empty where there is none.
    """

    digest: str
    new: bool
    replaced: str = ""
    kept: str = ""


def enter(connection: Connection, made: Submission, *, replace: bool) -> Added:
    """With all its samples. replace: a result of the same step of the same run gives way unless it was made later."""
    digest, rival = made.digest, _rival(connection, made)
    if rival is None or rival.digest == digest:
        return _inserted(connection, made, digest, replace)
    if not replace or rival.created_at > made.entry.created_at:
        return Added(digest, new=False, kept=rival.digest)
    # Deleted last: SQLite would give the number of a last row, which a reader may hold, to the next.
    connection.execute(update(RESULTS).where(RESULTS.c.id == rival.id).values(run=None))
    added = _inserted(connection, made, digest, replace)
    connection.execute(delete(RESULTS).where(RESULTS.c.id == rival.id))
    return added._replace(replaced=rival.digest)


def withdraw(connection: Connection, run: str, after: int) -> int:
    """Delete the results of a run's later steps, with all that belongs to them; how many there were."""
    return connection.execute(delete(RESULTS).where(RESULTS.c.run == run, RESULTS.c.step > after)).rowcount


def _rival(connection: Connection, made: Submission) -> Any:
    """id, digest and created_at of the result of the same step of the same run; None where there is none."""
    entry = made.entry
    if entry.run is None:
        return None
    asked = select(RESULTS.c.id, RESULTS.c.digest, RESULTS.c.created_at).where(
        RESULTS.c.run == entry.run, RESULTS.c.step == entry.step, RESULTS.c.verifier_version == entry.verifier_version)
    return connection.execute(asked).one_or_none()


def _inserted(connection: Connection, made: Submission, digest: str, replace: bool) -> Added:
    number = _insert_result(connection, digest, made)
    if number is not None:
        _insert_rest(connection, number, made)
        return Added(digest, new=True)
    if connection.execute(select(RESULTS.c.id).where(RESULTS.c.digest == digest)).first() is None:
        return enter(connection, made, replace=replace)  # another process was first with another result of the step
    return Added(digest, new=False)


def _insert_result(connection: Connection, digest: str, made: Submission) -> int | None:
    """The new row's key, or None where its digest or its step is there: on PostgreSQL, once a rival's transaction is
    decided."""
    values = {column_of(name): value for name, value in asdict(made.entry).items()}
    from sqlalchemy.dialects import postgresql, sqlite  # both take time to import, and a reader needs neither

    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    added: int | None = connection.execute(
        insert(RESULTS).values(**values, digest=digest, num_samples=len(made.samples),
                               answers_digest=made.answers_digest, added_at=datetime.now(UTC).replace(tzinfo=None))
        .on_conflict_do_nothing().returning(RESULTS.c.id)).scalar()
    return added


def _insert_rest(connection: Connection, number: int, made: Submission) -> None:
    connection.execute(METRICS.insert(), [{"result_id": number, **metric._asdict()} for metric in made.metrics])
    if means := made.row_means():
        keys = json.dumps(list(means))
        connection.execute(SCORES.insert(), {
            "result_id": number, "rows": keys, "rows_digest": hashlib.sha256(keys.encode()).hexdigest(),
            "means": _packed(list(means.values()))})
    columns = [column_of(name) for name in Sample._fields]
    for start in range(0, len(made.samples), BATCH):
        connection.execute(SAMPLES.insert(), [
            {"result_id": number, "place": place, **dict(zip(columns, sample, strict=True))}
            for place, sample in enumerate(made.samples[start:start + BATCH], start)])


def column_of(name: str) -> str:
    """A field's column: two of them would be words of SQL."""
    return {"commit": "commit_hash", "row": "data_row"}.get(name, name)


def _packed(means: Sequence[float]) -> bytes:
    packed = array.array("d", means)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def unpacked(data: bytes) -> array.array[float]:
    """Means as they were packed."""
    unpacked = array.array("d")
    unpacked.frombytes(data)
    if sys.byteorder == "big":
        unpacked.byteswap()
    return unpacked
