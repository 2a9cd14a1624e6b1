"""Prompts that earn by themselves: one that states its reference as the answer, one that is right when repeated.

Both are looked for on all rows that are at hand, not on the few that other answers are tried on: 40 of 500 prompts that
earn are 1 in 12. A row may be such a one by chance (a word problem whose last number is its answer, an instruction with
an example), so it is a failure on more than 1 row in 10, and on fewer a note that names them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from itertools import islice

from reasongym.checking.findings import Report
from reasongym.checking.references import forms, own_rule, prompt_of
from reasongym.checking.twice import Limits
from reasongym.errors import ReasongymError
from reasongym.scoring import ScoringPool
from reasongym.tasks import Example, RewardPart
from reasongym.verifiers import Status

__all__ = ["check_echoes", "check_stated"]

_CHANCE = 0.1
_FEW = 20
"""Of fewer rows 1 in 4 may be so by chance."""

_ECHO_SECONDS = 10.0
_BATCH = 64
_SHOWN = 3
_NEAR = 40
_PLACES = 50
_MARKED = re.compile(
    r"(?:\b(?:answer|solution|result|reference|gold|target|key|label|expected(?: output)?)s?\b[\"'*_]{0,3}\s?"
    r"(?:is|are|would be|should be|=|:)|####|\\boxed\s?\{|<answer>)[\s\"'*_(\[$`]{0,4}\Z", re.IGNORECASE)
_GOES_ON = re.compile(r"[\w^/]|[.,][0-9]|\s?[-+*/=<>]\s?[\w(]")


def check_stated(rows: Sequence[Example], verifier: str, report: Report) -> None:
    """Whether prompts say "(answer: 42)" where 42 is the reference."""
    places = [(row, found) for row in rows if (found := _stated(row, verifier)) is not None]
    # What stands in the prompt of another reference too is part of an instruction: "Answer: 1 for yes, 0 for no".
    stating = [(row, found) for row, found in places
               if not any(found in prompt_of(other) and repr(other.reference) != repr(row.reference) for other in rows)]
    _tell([row for row, _ in stating], len(rows), "stated", "the prompt states its reference as the answer", report,
          stating[0][1] if stating else "")


def check_echoes(rows: Sequence[Example], parts: Sequence[RewardPart], limits: Limits, floor: float,
                 report: Report) -> None:
    """Whether the prompt alone, repeated as the answer, earns more than the floor; as many rows as time allows."""
    asked = [row for row in rows if not own_rule(row.reference, parts[0].verifier) and prompt_of(row)]
    earning, done = [], 0
    until = time.monotonic() + _ECHO_SECONDS
    try:
        with ScoringPool(parts[:1], workers=1, timeout_s=limits.timeout_s, memory_mib=limits.memory_mib) as pool:
            for batch in _batches(asked):
                answers = [pool.submit(prompt_of(row), row) for row in batch]
                earning += [row for row, answer in zip(batch, answers, strict=True)
                            if (verdict := answer.result()[parts[0].name]).score > floor
                            and verdict.status is Status.CORRECT]
                done += len(batch)
                if time.monotonic() > until:
                    break
    except ReasongymError as error:
        report.note(f"prompts were not tried as answers: {' '.join(str(error).split())}")
        return
    if done:
        _tell(earning, done, "echo", "the prompt repeated as the answer earns", report,
              prompt_of(earning[0]) if earning else "")


def _batches(rows: Sequence[Example]) -> Iterator[Sequence[Example]]:
    """The first one small: where each answer takes a second, so much is known in time."""
    if rows:
        yield rows[:8]
    for start in range(8, len(rows), _BATCH):
        yield rows[start:start + _BATCH]


def _tell(rows: Sequence[Example], among: int, check: str, what: str, report: Report, answer: str) -> None:
    shown = ", ".join(row.id for row in islice(rows, _SHOWN)) + (", ..." if len(rows) > _SHOWN else "")
    told = f"{what} on {len(rows)} of {among} rows"
    fails = len(rows) > (_CHANCE if among >= _FEW else 0.25) * among
    report.judge(check, not fails, row=rows[0].id if rows else "", answer=answer, got=f"{told}: {shown}",
                 expected="no more than by chance")
    if rows and not fails:
        report.note(f"{told}, which may be by chance: {shown}")


def _stated(row: Example, verifier: str) -> str | None:
    """The marker and the reference behind it, as they stand in the prompt."""
    if own_rule(row.reference, verifier):
        return None
    prompt = prompt_of(row)
    for form in forms(row.reference, verifier):
        if not form.strip():
            continue
        for place in islice(re.finditer(re.escape(form.strip()), prompt), _PLACES):
            before = prompt[max(0, place.start() - _NEAR):place.start()]
            if _MARKED.search(before) and not _GOES_ON.match(prompt, place.end()):
                return before[-20:] + place[0]
    return None
