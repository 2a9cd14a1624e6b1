"""Commas that can be read in two ways, and which reading counts beside which answer.

Policies:
- A comma is a decimal's only where it stands in the one number of a whole answer without brackets, and that number can
  be no list: a digit 0 follows it (`0,05`), four digits or more precede it (`1000,99`), three or more follow a 0
  (`0,111`), or a unit stands behind it (`2,5 cm`). `3,5` alone is two numbers, `(3,5)` and `x = 3,5` always.
- `1,234` is one number; beside a list without brackets, or in a set, it is two.
- A reference `3,14` is not met by the tuple `(3,14)`: it may mean a decimal.
"""

from __future__ import annotations

import re

__all__ = ["is_bare_pair", "may_be_two", "with_point"]

_PAIR = re.compile(r"-? ?\d{1,60},\d{1,60}")
_TWO = re.compile(r"(?<![\d.,])\d{1,60},\d{1,60}(?![\d,.])")
_DECIMAL = re.compile(r"(-? ?)(\d{1,60}),(\d{1,60})( ?(?:\\text ?\{[^{}\d]{1,60}\}|\\degree ?|%|[A-Za-z/ ]{1,60})?)")


def is_bare_pair(text: str) -> bool:
    """Whether the text is two runs of digits with a comma between them and no space."""
    return "," in text and _PAIR.fullmatch(text) is not None


def with_point(text: str, *, has_unit: bool) -> str:
    """The text with a decimal point for its decimal comma; empty where its comma is none. has_unit: it is money."""
    found = _DECIMAL.fullmatch(text) if "," in text else None
    if found is None:
        return ""
    sign, whole, digits, unit = found.groups()
    is_measured = has_unit or unit.strip() != ""
    is_no_item = (digits[0] == "0" and len(digits) > 1) or len(whole) > 3 or (whole == "0" and len(digits) > 2)
    is_grouped = len(digits) == 3 and re.fullmatch(r"[1-9]\d{0,2}", whole) is not None
    return f"{sign}{whole}.{digits}{unit}" if (is_measured or is_no_item) and not is_grouped else ""


def may_be_two(text: str, beside: str) -> bool:
    """Whether `1,234` in the text is two numbers beside a list whose own commas say nothing else."""
    return bool(_TWO.search(text) and re.search(",|and|or", beside) and not _TWO.search(beside))
