r"""Rows of cells as people and models write them: "1 2 3\n4 5 6", [[1, 2], [3, 4]], tables, LaTeX matrices.

Read are brackets of any kind, nested once, with commas or spaces between; one pair with rows between semicolons
(`[1 0; 0 1]`); lines of cells divided by `|`, tabs, semicolons, commas, arrows, or white space, the first of these that
a line holds; `\begin{pmatrix}` and its kin. "and" before the last of several numbers is left out.
A sequence is one row, or a column of single cells, numbered or bulleted or not. Not read: deeper nesting, cells that
hold a line break, an ellipsis for cells left out, a list of numbers with nothing behind them ("1.", "2.").
"""

from __future__ import annotations

import re
from fractions import Fraction

from reasongym.verifiers.number_text import quantities, same_characters

__all__ = ["MAX_CELLS", "Rows", "cell", "read_rows"]

MAX_CELLS = 10_000
Rows = list[list[str]]

_MATRIX = re.compile(r"\\begin\s?\{[bpvBV]?(?:small)?(?:matrix|array)\*?\}(?:\{[lcr|@\s]{0,100}\})?")
_WRAPPERS = re.compile(r"\\(?:left|right|displaystyle|quad|qquad)(?![A-Za-z])|\\(?=[\[\](){}$])|\$|\*\*|__"
                       r"|```[a-z]{0,12}|`")
_TOKEN = re.compile(r"\s*+(?:(?P<opens>[\[({])|(?P<closes>[\])}])|[,;]"
                    r"|(?P<quoted>\"[^\"\n]{0,2000}+\"|'[^'\n]{0,2000}+')|(?P<bare>[^\s\[\](){},;\"'](?:[^\[\](){},;\"\n]){0,400}+))")
_FULL_STOP = re.compile(r"(?<=[\w\])}])\.\Z")
_MARKED = re.compile(r"\s*(?:\(?([0-9]{1,4})[.)]|[-*\u2022])\s++")
_DIVIDERS = tuple(re.compile(pattern) for pattern in (r"\||\t", ";", ",", r"->|=>|\u2192|\\to(?![a-z])", r"\s+"))
_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,60}(?:\.[0-9]{1,60})?|\.[0-9]{1,60})(?:[eE][-+]?[0-9]{1,2})?")
_AND = re.compile(rf"({_NUMBER.pattern}),?\s+and\s+(?={_NUMBER.pattern}\Z)")
_MARK_ALONE = re.compile(r"\(?[0-9]{1,4}[.)]")
_PAIRS = {"[": "]", "(": ")", "{": "}"}

Tree = list["str | Tree"]


def read_rows(text: str) -> Rows:
    """The rows of a text that holds nothing else; empty where it holds something else, or more than 10,000 cells."""
    text = same_characters(text).strip()
    matrix = _MATRIX.match(text, text.rfind("\\begin")) if "\\begin" in text else None
    if matrix:
        inside = text[matrix.end():].partition("\\end")[0]
        rows = [[part.strip() for part in line.split("&")] for line in re.split(r"\\\\|\\cr(?![a-z])", inside)]
        return _bounded([row for row in rows if any(row)])
    text = _FULL_STOP.sub("", _WRAPPERS.sub(" ", text).strip())
    if text[:1] in _PAIRS and text[-1:] == _PAIRS[text[0]] and ";" in text and not re.search(r"[\[\](){}]", text[1:-1]):
        rows = [_cells(part) for part in text[1:-1].split(";") if part.strip()]
        return _bounded(rows if any(len(row) > 1 for row in rows) else [[row[0] for row in rows]])
    if text[:1] in _PAIRS and text[-1:] in _PAIRS.values():
        return _bounded(_bracketed(text))
    return _bounded(_by_lines(text))


def cell(text: str) -> Fraction | str:
    """What two cells are compared by: the exact number, or the word without quotes in small letters."""
    bare = text.strip().strip("\"'").strip()
    if _NUMBER.fullmatch(bare):
        return Fraction(bare)
    found = quantities(bare) if len(bare) < 80 and "/" in bare else []
    value = found[0].value if len(found) == 1 and found[0].text == bare else None
    return value if value is not None else re.sub(r"\s++", " ", bare).casefold()


def _bounded(rows: Rows) -> Rows:
    return rows if sum(map(len, rows)) <= MAX_CELLS else []


def _bracketed(text: str) -> Rows:
    """Brackets nested once at most; several of them side by side, or on lines of their own, are rows too."""
    tree = _tree(text)
    if len(tree) == 1 and isinstance(tree[0], list) and any(isinstance(item, list) for item in tree[0]):
        tree = tree[0]
    rows = [[item for item in row if isinstance(item, str)] for row in tree if isinstance(row, list)]
    if len(rows) != len(tree) or any(len(row) != len(kept) for row, kept in zip(tree, rows, strict=True)):
        return []
    return [row[0].split() if len(row) == 1 and row[0][0] not in "\"'" else row for row in rows if row]


def _tree(text: str) -> Tree:
    """Nested lists of texts, quoted ones with their quotes; empty where brackets do not match or nest deeper than 2."""
    stack: list[Tree] = [[]]
    expected: list[str] = []
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None or len(expected) > 2:
            return []
        at = token.end()
        if token["opens"]:
            inner: Tree = []
            stack[-1].append(inner)
            stack.append(inner)
            expected.append(_PAIRS[token["opens"]])
        elif token["closes"]:
            if not expected or expected.pop() != token["closes"]:
                return []
            stack.pop()
        elif found := token["quoted"] or (token["bare"] or "").strip():
            stack[-1].append(found)
    return [] if expected else stack[0]


def _by_lines(text: str) -> Rows:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if not ("--" in line and re.fullmatch(r"[\s|:+=-]++", line))]
    if len(lines) > 1 and all(_MARK_ALONE.fullmatch(line) for line in lines[:-1]):
        return []
    marks = [_MARKED.match(line) for line in lines]
    numbers = [mark[1] for mark in marks if mark]
    if len(lines) > 1 and all(marks) and numbers in ([None] * len(lines), [str(n) for n in range(1, len(lines) + 1)]):
        lines = [line[mark.end():] for line, mark in zip(lines, marks, strict=True) if mark]
    if len(lines) == 1 and ";" in lines[0] and "," in lines[0].replace(" ", ",").strip(","):
        return [_cells(part) for part in lines[0].strip("; ").split(";")]  # "1 2; 3 4"
    return [_cells(line) for line in lines]


def _cells(line: str) -> list[str]:
    line = _AND.sub(r"\1, ", line.strip().strip("|").strip(" \t,;"))
    divider = next((pattern for pattern in _DIVIDERS if pattern.search(line)), None)
    parts = divider.split(line) if divider else [line]
    return [re.sub(r"^and ", "", part.strip()).strip() for part in parts]
