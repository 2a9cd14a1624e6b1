"""Results on their way between groups: a folder with results.json, and the samples as Parquet beside it.

results.json: {"format": FORMAT, "results": [{"digest", "record"}]}; a record is what results.json of an evaluation
holds. samples.parquet: one row an answer, with the digest of its result. Nothing is taken on trust: columns are made
from the record anew, the samples must give the figures, and all of it the digest. The digest is over the record as it
was written, so that what a later release adds to a record changes nothing here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from reasongym.errors import DataError, message
from reasongym.evaluation.record import Result
from reasongym.files import cannot_write, make_folder, refuse_used, write_atomic
from reasongym.leaderboard.entry import Sample
from reasongym.leaderboard.reading import submission
from reasongym.leaderboard.storable import one_line
from reasongym.leaderboard.store import Added, Store

__all__ = ["FORMAT", "export_results", "import_results"]

FORMAT = "reasongym results 1"
RESULTS, SAMPLES = "results.json", "samples.parquet"
ROWS = 2000  # samples in memory together while they are written
OPTIONAL = frozenset({"extracted", "score", "tokens", "seconds"})
SCHEMA = pa.schema([
    ("digest", pa.string()), ("row", pa.string()), ("number", pa.int32()), ("prompt", pa.string()),
    ("reasoning", pa.string()), ("completion", pa.string()), ("reference", pa.string()), ("extracted", pa.string()),
    ("status", pa.string()), ("score", pa.float64()), ("reason", pa.string()), ("parts", pa.string()),
    ("finish_reason", pa.string()), ("tokens", pa.int64()), ("seconds", pa.float64())])


def export_results(store: Store, folder: Path, *, task: str | None = None) -> int:
    """Write all results, or those of a task; how many. results.json comes last: with it the folder is whole.

    Raises ConfigError for a folder that is not empty, ResourceError where it cannot be written.
    """
    refuse_used(folder)
    make_folder(folder)
    results = store.results(task)
    path = folder / SAMPLES
    try:
        with pq.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
            for result in results:
                for start in range(0, result.num_samples, ROWS):
                    rows = [{"digest": result.digest, **sample._asdict()}
                            for sample in store.samples(result.id, start, ROWS)]
                    writer.write_table(pa.Table.from_pylist(rows, schema=SCHEMA))
    except OSError as error:
        raise cannot_write(path, 0, error) from error
    listed = [{"digest": result.digest, "record": json.loads(store.record(result.id))} for result in results]
    write_atomic(folder / RESULTS, json.dumps({"format": FORMAT, "results": listed}, indent=1) + "\n")
    return len(results)


def import_results(store: Store, folder: Path) -> list[Added]:
    """Enter all results of an exported folder, each whole or not at all; those that are there already stay as they are.

    Nothing in the store gives way to an import: a run's id stands in every export, and anyone could write it into a
    record. Raises DataError where the folder is no export, or was changed since.
    """
    listed = _listed(folder / RESULTS)
    added = []
    for digest, samples in _by_result(folder / SAMPLES, list(listed)):
        written = listed[digest]
        made = submission(Result.parse(written, f"result {digest[:12]} of {folder}"), samples, written)
        if made.digest != digest:
            raise DataError(message(f"a result of {made.entry.named} in {folder} was changed after its export",
                                    got=f"digest {made.digest[:12]}", expected=digest[:12],
                                    remedy="ask for the export again"))
        added.append(store.add(made, replace=False))
    return added


def _listed(path: Path) -> dict[str, Mapping[str, Any]]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if "schema_version" in found:
            raise DataError(message(f"{path.parent} is a result, and no export", got="what `reasongym eval` wrote",
                                    expected="what `reasongym leaderboard export` wrote",
                                    remedy=f"reasongym leaderboard add {path.parent}"))
        if found["format"] != FORMAT:
            raise ValueError(f"format {found['format']!r}")
        listed: dict[str, Mapping[str, Any]] = {
            str(one["digest"]): dict(one["record"]) for one in found["results"]}
        if strange := [digest for digest in listed if not re.fullmatch("[0-9a-f]{64}", digest)]:
            raise ValueError(f"digest {strange[0]!r}")
        return listed
    except DataError:
        raise
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise _unreadable(path, error) from error


def _by_result(path: Path, digests: Sequence[str]) -> Iterator[tuple[str, list[Sample]]]:
    """Each listed result with its samples: those of one stand together in the file, in the order of the list."""
    left = list(digests)
    current: list[Sample] = []
    for digest, sample in _read(path):
        while left and left[0] != digest:
            yield left.pop(0), current
            current = []
        if not left:
            raise _unreadable(path, ValueError(f"samples of {digest[:12]!r}, out of order or of no listed result"))
        current.append(sample)
    for digest in left:
        yield digest, current
        current = []


def _read(path: Path) -> Iterable[tuple[str, Sample]]:
    try:
        with pq.ParquetFile(path) as file:
            if later := sorted({*file.schema_arrow.names} - {*SCHEMA.names}):
                raise ValueError(f"the column {one_line(later[0][:80])!r} of a later release: update reasongym")
            for batch in file.iter_batches(batch_size=ROWS, columns=SCHEMA.names):
                for row in batch.cast(SCHEMA).to_pylist():
                    if any(row[name] is None for name in SCHEMA.names if name not in OPTIONAL):
                        raise ValueError("a text, a row or a number that is null")
                    yield row.pop("digest"), Sample(**row)
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> DataError:
    return DataError(message(f"cannot read {path}", got=f"{type(error).__name__}: {error}".splitlines()[0][:200],
                             expected="a folder that `reasongym leaderboard export` wrote",
                             remedy="check the path, or ask for the export again"))
