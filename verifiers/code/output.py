"""Whether a program's standard output is what a test expects.

Lines end in a line feed. White space at the end of a line and empty lines at the end do not count; all else does: a
line too many is as wrong as one too few. What a reference may ask for instead, each by name:
    float             words of a line, apart by white space, may be decimal numbers within the tolerance; whole numbers
                      are compared exactly, and only ASCII digits make a number
    case_insensitive  text in any case
    unordered         lines in any order
"""

from __future__ import annotations

import re
from fractions import Fraction

from reasongym.verifiers.code.comparing import Comparison, within

__all__ = ["difference"]

_SPACE = " \t\r\f\v"
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,3})?")
_WHOLE = re.compile(r"[+-]?[0-9]{1,400}")


def difference(expected: str, got: bytes, by: Comparison) -> str:
    """Empty where the output is right, else what is wrong with it, for a person."""
    try:
        text = got.decode()
    except UnicodeDecodeError:
        return "the output is not UTF-8"
    wanted, written = _lines(expected, by), _lines(text, by)
    if by.how == "unordered":
        wanted, written = sorted(wanted), sorted(written)
    for number, (one, other) in enumerate(zip(wanted, written, strict=False), start=1):
        if not _same(one, other, by):
            return f"line {number} is {other[:60]!r}, expected {one[:60]!r}"
    if len(wanted) != len(written):
        return f"{len(written)} lines, expected {len(wanted)}"
    return ""


def _lines(text: str, by: Comparison) -> list[str]:
    lines = [line.rstrip(_SPACE) for line in (text.casefold() if by.how == "case_insensitive" else text).split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _same(expected: str, got: str, by: Comparison) -> bool:
    if expected == got or by.how != "float":
        return expected == got
    wanted, written = re.split(r"[ \t]+", expected), re.split(r"[ \t]+", got)
    return len(wanted) == len(written) and all(_near(*pair, by.tolerance) for pair in zip(wanted, written, strict=True))


def _near(expected: str, got: str, tolerance: float) -> bool:
    if expected == got:
        return True
    whole = _WHOLE.fullmatch(expected) and _WHOLE.fullmatch(got)
    if whole or not (_NUMBER.fullmatch(expected) and _NUMBER.fullmatch(got)):
        return False  # 1000001 is not 1000000 within any tolerance
    return within(tolerance, Fraction(expected), Fraction(got))
