r"""Formulas in a text: `$...$`, `$$...$$`, `\(...\)`, `\[...\]` and the display environments.

A dollar sign is also a currency: prose is a pair of dollars around three words or more, around an empty line, both
before a digit (`$10 and $20`), or around a number and words (`$10 a kilo, $`).
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Formula", "formulas"]

_OPENER = re.compile(r"\$\$|\\\[|\\\(|(?<!\\)\$|\\begin\{(align|equation|gather|eqnarray|multline)(\*?)\}")
_DOLLAR = re.compile(r"(?<!\\)\$")
_NAMED = re.compile(r"\\[A-Za-z]{1,30}(?:\s?\{[A-Za-z ,.'-]{0,200}\})?")
_TABLE = re.compile(r"matrix\}|\{array\}|\{cases\}|\{tabular\}")
_ALIGNED = re.compile(r"\\(?:begin|end)\{(?:aligned|alignedat|split|gathered)\}")
_PRICE = re.compile(r"[0-9][0-9,.]* (?!and|or)[A-Za-z]+ [A-Za-z]+")
_WORD = re.compile(r"[A-Za-z]{2,}")


class Formula(NamedTuple):
    """content: what stands between the delimiters, of an aligned derivation its last row.

    start, end: of the whole, delimiters included.
    """

    content: str
    start: int
    end: int


def formulas(text: str) -> list[Formula]:
    """The formulas of a text in order, none inside another; time is linear in its length."""
    found: list[Formula] = []
    at = 0
    never_closed: set[str] = set()
    for opener in _OPENER.finditer(text) if "$" in text or "\\" in text else ():
        if opener.start() < at or opener[0] in never_closed:
            continue
        begin, end = _closing(text, opener)
        if begin < 0:
            never_closed.add(opener[0])
        elif not _is_prose(text[opener.end():begin], before_digit=text[end:end + 1].isdigit()):
            found.append(Formula(_result(text[opener.end():begin]), opener.start(), end))
            at = end
    return [formula for formula in found if formula.content]


def _closing(text: str, opener: re.Match[str]) -> tuple[int, int]:
    """Where the content ends and where its delimiter does; (-1, -1) when it is never closed."""
    if opener[0] == "$":
        match = _DOLLAR.search(text, opener.end())
        return match.span() if match else (-1, -1)
    environment = f"\\end{{{opener[1]}{opener[2]}}}" if opener[1] else ""
    closer = environment or {"$$": "$$", "\\[": "\\]", "\\(": "\\)"}[opener[0]]
    begin = text.find(closer, opener.end())
    return (begin, begin + len(closer)) if begin >= 0 else (-1, -1)


def _result(content: str) -> str:
    r"""The last row of an aligned derivation, `x &= 2 + 3 \\ &= 5`; any other content as it stands."""
    if "&" in content and not _TABLE.search(content):
        rows = [row.replace("&", " ").strip() for row in _ALIGNED.sub("", content).split("\\\\") if row.strip(" &\n")]
        content = rows[-1] if rows else ""
    return content.strip().removeprefix("=").strip()


def _is_prose(content: str, *, before_digit: bool) -> bool:
    price = content[:1].isdigit() and (before_digit or _PRICE.match(content) is not None)
    return price or "\n\n" in content or len(_WORD.findall(_NAMED.sub(" ", content))) >= 3
