"""Rows of GSM8K, checked with errors that name file and line."""

from __future__ import annotations

from typing import NamedTuple

from reasongym.errors import DataError, message
from reasongym.tasks.row_files import RowKind
from reasongym.verifiers.gsm8k import reference_number

__all__ = ["KIND", "Row", "as_row"]


class Row(NamedTuple):
    """A question and its worked answer, whose gold number follows the last `####`."""

    question: str
    answer: str


def as_row(value: object, place: str) -> Row:
    """A checked row. Raises DataError naming `place` for missing texts or an answer without a gold number."""
    if not isinstance(value, dict) or not all(isinstance(value.get(key), str) for key in Row._fields):
        raise DataError(message(f"{place} is not a GSM8K row", got=repr(value)[:120],
                                expected='an object with the texts "question" and "answer"', remedy="correct the row"))
    answer = value["answer"]
    if "####" not in answer or reference_number(answer) is None:
        raise DataError(message(f"{place} has no gold number", got=repr(answer[-80:]),
                                expected="an answer that ends in `#### <number>`", remedy="correct or remove the row"))
    return Row(value["question"], answer)


KIND = RowKind(name="gsm8k", title="GSM8K", form='{"question": ..., "answer": "... #### n"}', read=as_row,
               key=lambda row: row.question)
