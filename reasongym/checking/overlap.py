"""Rows that stand in two splits, by their prompt's text and by their content.

Content is the worked solution and the reference's answer, where they are long enough to be of one problem alone and no
two prompts of a split share them: splits may well share a small number, a schema, or a field such as a template's name.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

from reasongym.checking.findings import Report, shown
from reasongym.checking.references import forms, prompt_of
from reasongym.tasks import Example

__all__ = ["check_splits"]

_LONG = 40
"""Characters: a shorter solution ("42", "x = 5") is that of many problems."""


def check_splits(sample: Mapping[str, Sequence[Example]], report: Report) -> None:
    """One judgement a pair of splits and way of comparing; a failure shows one row of each."""
    ways = {"prompt": _prompt, "question": _question, "solution": _solution, "reference": _reference}
    for compared, key in ways.items():
        places = {split: _places(rows, key) for split, rows in sample.items()}
        for left, right in combinations(places, 2):
            shared = [text for text in places[left] if text in places[right]]
            example = shared[0] if shared else ""
            report.judge("splits", not shared, row=places[left].get(example, ""),
                         got=f"{len(shared)} of {len(places[left])} rows of {left!r} share their {compared} with rows "
                             f"of {right!r}: {shown(example)} is {places[right].get(example, '')} too",
                         expected="no row in two splits")


def _places(rows: Sequence[Example], key: Callable[[Example], str]) -> dict[str, str]:
    """Key -> a row's id, for the keys that tell rows apart."""
    prompts: dict[str, set[str]] = {}
    ids: dict[str, str] = {}
    for row in rows:
        if text := key(row):
            prompts.setdefault(text, set()).add(_prompt(row))
            ids.setdefault(text, row.id)
    return {text: ids[text] for text, of in prompts.items() if len(of) == 1}


def _prompt(row: Example) -> str:
    return _normal("\n".join(str(turn["content"]) for turn in row.messages))


def _question(row: Example) -> str:
    """The last turn alone: what stands before it may differ without making another problem of it."""
    return _normal(prompt_of(row))


def _solution(row: Example) -> str:
    text = _normal(row.solution or "")
    return text if len(text) >= _LONG else ""


def _reference(row: Example) -> str:
    return next((text for text in map(_normal, forms(row.reference)) if len(text) >= _LONG), "")


def _normal(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
