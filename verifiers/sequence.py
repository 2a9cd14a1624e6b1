r"""An ordered sequence or a grid, compared cell by cell: [3, 1, 2], "cat, dog", "1 0\n0 1", [["a", "b"], ["c", "d"]].

The reference is a list, a list of lists, a text read like an answer, or {"rows": one of these, "partial": true}: then
the share of right cells is the score of an answer of the right shape. An answer of another shape is wrong.
Numbers are compared as exact rationals (1.0 = 1, 1/2 = 0.5), anything else as words without quotes, in small letters.
A sequence equals one row, one column or one line a cell; a grid equals a grid of its rows. A grid of single characters
is also read from lines without spaces ("#.#"). Which text is the answer, the first of these that the response has:
1. the last <answer>...</answer>, `\boxed{}` or `####` line, with those joined to it by nothing but punctuation, "and"
   or "or"; several that differ are wrong
2. the lines after the last "answer is", "answer:", "result:", "sequence is", ..., up to an empty line or a sentence,
   unless the words before it deny it ("I doubt that the answer is")
3. what a JSON object holds under "answer", "result" or the like, be it the response or the last ``` block
4. the last ``` block, the brackets that the response ends in, its last paragraph, behind a line that ends in a colon.
   Brackets count behind nothing, a colon, an equals sign or a verb: `-[3, 1, 2]` and "reverse [3, 1, 2]" are others.

Known false positives: 007 and 7 are one number; case is ignored.
Known false negatives: rows under column headings, cells that hold commas, thousands marks, "1, 2, ..., 10".
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import takewhile
from typing import NamedTuple

from reasongym.verifiers.denial import is_denied
from reasongym.verifiers.grid_text import MAX_CELLS, Rows, cell, read_rows
from reasongym.verifiers.math.anchors import stated_places
from reasongym.verifiers.math.turn import final_part
from reasongym.verifiers.registration import verifier
from reasongym.verifiers.verdict import Status, Verdict

__all__ = ["sequence"]

_PHRASE = re.compile(r"\b(?:answer|result|output|sequence|list|order|grid|matrix|solution|board)s?\b[*_\"]{0,3}\s?"
                     r"(?:is|are|would be|should be|[:=]){1,2}[*_\s:]{0,8}", re.IGNORECASE)
_FENCE = re.compile(r"```[a-z]{0,12}\n((?:(?!```)[\s\S]){0,20000}+)```")
_TAGGED = re.compile(r"<answer>((?:(?!</?answer>)[\s\S])*+)</answer>", re.IGNORECASE)
_BETWEEN_TAGS = re.compile(r"[^\w]*+(?:(?:and|or|also|maybe|perhaps|possibly)\b[^\w]*+){0,3}", re.IGNORECASE)
_BEFORE_BRACKETS = re.compile(
    r"(?:(?:\A|\n)\s?[-*\u2022]\s|\A|[\n:=>\u2192$|\])}]|\b(?:is|are|be|get|gets|gives|give|obtain|becomes?|yields?|returns?|"
    r"have|therefore|thus|so|sequence|list|order|grid|matrix|answer|result|output|solution|board))[,\s*_`$]{0,6}\Z",
    re.IGNORECASE)
_PROSE = re.compile(r"(?:[A-Za-z']{1,30} ){3,}[A-Za-z']{1,30}[^,;|]{0,40}[.!?:]\s*\Z")

_MOST_TAGS = 64
_KEYS = frozenset({"answer", "final_answer", "grid", "list", "output", "result", "sequence", "solution"})

Cells = list[list[Fraction | str]]


class _Wanted(NamedTuple):
    """The reference. flat: a sequence, whose `cells` are one row."""

    cells: Cells
    flat: bool
    partial: bool


@verifier("sequence")
def sequence(response: str, reference: object, *, example: Mapping[str, object]) -> Verdict:
    """1 when every cell is right; with `partial`, the share of right cells; else 0. A bad reference is ERROR."""
    try:
        wanted = _wanted(reference)
    except ValueError as error:
        return Verdict.error(f"{error}: {str(reference)[:120]}")
    text = final_part(response)
    stated = _stated(text)
    readings = [_compared(rows, wanted) for zone in stated if (rows := _read(zone, wanted))]
    if len(readings) < len(stated):
        return Verdict.unparsable("no rows")
    if len({(reading.extracted, reading.reason) for reading in readings}) > 1:
        return Verdict.wrong(stated[0][:200], "several different answers")
    if not readings and (rows := _read(_unmarked(text), wanted)):
        readings = [_compared(rows, wanted)]
    return readings[0] if readings else Verdict.unparsable("no rows")


def _compared(rows: Rows, wanted: _Wanted) -> Verdict:
    shown = "; ".join(" ".join(row) for row in rows)[:400]
    if [len(row) for row in rows] != [len(row) for row in wanted.cells]:
        return Verdict.wrong(shown, f"{_shape(rows)} cells instead of {_shape(wanted.cells)}")
    pairs = [(cell(mine), gold) for row, golds in zip(rows, wanted.cells, strict=True)
             for mine, gold in zip(row, golds, strict=True)]
    num_right = sum(mine == gold for mine, gold in pairs)
    if num_right == len(pairs):
        return Verdict.correct(shown)
    reason = f"{num_right} of {len(pairs)} cells are right"
    if wanted.partial and num_right:
        return Verdict(score=num_right / len(pairs), status=Status.PARTIAL, extracted=shown, reason=reason)
    return Verdict.wrong(shown, reason)


def _shape(rows: Sequence[Sequence[object]]) -> str:
    return "+".join(str(len(row)) for row in rows[:20])


def _read(text: str, wanted: _Wanted) -> Rows:
    """The rows of a text in the form of the reference; empty where it holds none."""
    rows = read_rows(text)
    if wanted.flat and len(rows) == len(wanted.cells[0]) > 1:
        return [[" ".join(row) for row in rows]]  # a line a cell: "1. New York"
    if _characters(wanted) and all(len(row) == 1 for row in rows):
        return [list(row[0]) for row in rows]
    return rows


def _characters(wanted: _Wanted) -> bool:
    return all(len(row) > 1 and all(len(str(item)) == 1 for item in row) for row in wanted.cells)


def _stated(text: str) -> list[str]:
    tagged = list(_TAGGED.finditer(text))[-_MOST_TAGS:] if "</" in text else []
    if tagged:  # of any length, where a place is read up to 2,000 characters
        joined = [tagged.pop()]
        while tagged and _BETWEEN_TAGS.fullmatch(text, tagged[-1].end(), joined[-1].start()):
            joined.append(tagged.pop())
        return [found[1] for found in joined]
    return [place.content for place in stated_places(text, symbolic=True) if place.kind in ("box", "hash", "tag")]


def _unmarked(text: str) -> str:
    """The one text that is read where the response marks none: several tried in turn would reward hedging."""
    fences = _FENCE.findall(text)
    held = _held(fences[-1] if fences else text)
    if held is not None:
        return held
    phrases = list(_PHRASE.finditer(text))
    if phrases and is_denied(text, phrases[-1].start()):
        return ""
    if phrases:
        lines = text[phrases[-1].end():].splitlines()
        return "\n".join(takewhile(lambda line: line.strip() and not _PROSE.search(line), lines))
    if fences:
        return str(fences[-1])
    paragraph = text.rstrip().rpartition("\n\n")[2].rpartition(":\n")[2]
    return _closing_brackets(paragraph) or paragraph


def _held(text: str) -> str | None:
    """What a JSON object has under its one key that is a word for an answer; None where the text is no such object."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(text, object_pairs_hook=list)
    except (ValueError, RecursionError):
        return None
    held = [value for key, value in found if str(key).casefold() in _KEYS]
    return json.dumps(held[0]) if len(held) == 1 and isinstance(held[0], list) else None


def _closing_brackets(text: str) -> str:
    """The brackets that the text ends in, outermost, and those just before them; empty where it ends otherwise."""
    text = text.rstrip(" .$\n*`")
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += {"]": 1, ")": 1, "[": -1, "(": -1}.get(text[at], 0)
        before = text[max(0, at - 40):at].rstrip(" ,\n")[-1:] if depth <= 0 else "]"
        if before not in ("]", ")"):
            closed = depth == 0 and at < len(text) - 1 and before not in ("[", "(")
            stated = _BEFORE_BRACKETS.search(text[max(0, at - 40):at]) and not is_denied(text, at)
            return text[at:] if closed and stated else ""
    return ""


def _wanted(reference: object) -> _Wanted:
    """Raises ValueError saying what is wrong."""
    rows, partial = reference, False
    if isinstance(reference, Mapping):
        if set(reference) - {"rows", "partial"} or not isinstance(reference.get("partial", False), bool):
            raise ValueError('the reference is not {"rows": ..., "partial": true or false}')
        rows, partial = reference.get("rows"), reference.get("partial") is True
    if isinstance(rows, str):
        read: Rows = read_rows(rows)
        return _checked([[cell(item) for item in row] for row in read], flat=len(read) == 1, partial=partial)
    if not isinstance(rows, list | tuple) or not rows:
        raise ValueError("the reference is no list of cells or of rows")
    nested = [isinstance(row, list | tuple) for row in rows]
    if any(nested) != all(nested):
        raise ValueError("the reference mixes cells and rows")
    listed = [list(row) for row in rows] if all(nested) else [list(rows)]
    if any(not isinstance(item, str | int | float) for row in listed for item in row):
        raise ValueError("a cell of the reference is no text, number or truth value")
    return _checked([[cell(str(item)) for item in row] for row in listed], flat=not all(nested), partial=partial)


def _checked(cells: Cells, *, flat: bool, partial: bool) -> _Wanted:
    if not 0 < sum(map(len, cells)) <= MAX_CELLS or not all(cells):
        raise ValueError(f"the reference has no cells in a row, or more than {MAX_CELLS} in all")
    return _Wanted(cells, flat, partial)
