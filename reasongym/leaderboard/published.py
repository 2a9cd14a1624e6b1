"""Data sets that everybody knows by name: which rows bear it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from reasongym.errors import DataError, message
from reasongym.leaderboard.entry import Entry, Submission

__all__ = ["KNOWN_DATA", "check_published", "is_published"]

KNOWN_DATA: Mapping[tuple[str, str], frozenset[str]] = {
    ("gsm8k", "test"): frozenset({
        "17fc3c60c3cf9537fbce038ecf2ea1536041cc57e0066e2e9c76367c05eac8f4",  # both files of the data set
        "4a044686ff458394052c17b7e820e568a380cfab438d529b166521427706afcc",  # test.jsonl alone
    }),
}
"""(Task, split) -> fingerprints under which its published rows are known. Other data is marked, however many results it
has: a file of easy problems given as --data must not become the board of a name that everybody knows."""

REFERENCES: Mapping[tuple[str, str], tuple[int, str]] = {
    ("gsm8k", "test"): (1319, "e9e14feba3f2274f7dd2280ec64afe3ed48b7cd3c819defd50f6d20e1cb317d8"),
}
"""(Task, split) -> number of rows, and SHA-256 of their references in order, with a line break between them."""


def is_published(entry: Entry) -> bool:
    """Whether the record says so; `check_published` holds the answers to it."""
    return entry.data_fingerprint in KNOWN_DATA.get((entry.task, entry.split), ())


def check_published(made: Submission) -> None:
    """A fingerprint is a line of text that can be written into any record. Raises DataError for a result on the whole
    of a published data set whose references are others; a part of it cannot be held to the digest of the whole."""
    entry = made.entry
    if not is_published(entry):
        return
    num_rows, digest = REFERENCES[entry.task, entry.split]
    references = {int(sample.row): sample.reference for sample in made.samples if sample.row.isdecimal()}
    whole = sorted(references) == list(range(num_rows))
    if whole and hashlib.sha256("\n".join(references[row] for row in range(num_rows)).encode()).hexdigest() == digest:
        return
    beyond = max(references, default=0) >= num_rows
    if whole or beyond:
        raise DataError(message(f"a result of {entry.named} is not on the published {entry.task}",
                                got="rows with other references" if whole else f"a row {max(references)}",
                                expected=f"the references of its {num_rows:,} rows",
                                remedy="evaluate anew on the data set itself"))
