"""Whether what a candidate returned is what a test expects: by exact types, on values rebuilt from bytes.

True is not 1 and 1 is not 1.0. A tuple or a deque equals a list of the same items, and a Counter, OrderedDict or
defaultdict the dict it holds, because references are JSON, which has none of them. -0.0 equals 0.0; nan equals nan, and
nothing else, where nan is expected. The order of keys and of set members does not count. What a reference may ask for
instead, each by name:
    float             numbers within `tolerance` of the expected one, relative to it (where that is 0: of 0 itself), an
                      int and a float alike; two ints are compared exactly, for 1000001 is not 1000000
    case_insensitive  text in any case, wherever it stands in the value but in keys and sets
    unordered         the items of the outermost list in any order, each compared exactly
"""

from __future__ import annotations

import math
from collections import Counter, deque
from fractions import Fraction
from typing import NamedTuple

from reasongym.verifiers.code.inside.values import encode

__all__ = ["COMPARISONS", "Comparison", "same", "shown", "within"]

COMPARISONS = ("exact", "float", "case_insensitive", "unordered")
_LISTS = (list, tuple, deque)


class Comparison(NamedTuple):
    """how: one of COMPARISONS. tolerance: for `float` alone."""

    how: str = "exact"
    tolerance: float = 0.0


def same(expected: object, got: object, by: Comparison) -> bool:
    """Both are plain values of `inside.values`."""
    if by.how == "float":
        return _near(expected, got, by.tolerance)
    if by.how == "case_insensitive":
        return _normal(_folded(expected)) == _normal(_folded(got))
    if by.how == "unordered" and isinstance(expected, _LISTS) and isinstance(got, _LISTS):
        return Counter(map(_normal, expected)) == Counter(map(_normal, got))
    return _normal(expected) == _normal(got)


def within(tolerance: float, expected: Fraction, got: Fraction) -> bool:
    """Relative to the expected number, or absolute where that is 0."""
    return abs(got - expected) <= Fraction(tolerance) * (abs(expected) or 1)


def shown(value: object) -> str:
    """A value for a person, in few characters."""
    try:
        text = repr(value)
    except (ArithmeticError, ValueError, RecursionError):  # an int of more digits than Python writes; a Counter sorts
        text = f"a {type(value).__name__} that cannot be written out"
    return text if len(text) <= 80 else f"{text[:77]}..."


def _normal(value: object) -> bytes:
    """Equal bytes for values that are the same, and for no others. Built without hashing: chosen keys cost nothing."""
    if isinstance(value, _LISTS):
        return _joined(b"l", [_normal(item) for item in value])
    if isinstance(value, set | frozenset):
        return _joined(b"e" if isinstance(value, set) else b"z", sorted(map(_normal, value)))
    if isinstance(value, dict):
        return _joined(b"d", sorted(_joined(b"p", [_normal(key), _normal(item)]) for key, item in value.items()))
    if isinstance(value, float):
        return encode(math.nan if value != value else value + 0.0)  # -0.0 + 0.0 is 0.0
    return encode(value)


def _joined(tag: bytes, parts: list[bytes]) -> bytes:
    return tag + b"".join([len(parts).to_bytes(4, "big"), *(len(part).to_bytes(4, "big") + part for part in parts)])


def _folded(value: object) -> object:
    if isinstance(value, str):
        return value.casefold()
    if isinstance(value, _LISTS):
        return [_folded(item) for item in value]
    if isinstance(value, dict):
        return {key: _folded(item) for key, item in value.items()}  # folded, "A" and "a" would become one key
    return value


def _near(expected: object, got: object, tolerance: float) -> bool:
    if _is_number(expected) and _is_number(got):
        return _close(expected, got, tolerance)  # type: ignore[arg-type]
    if isinstance(expected, _LISTS) and isinstance(got, _LISTS):
        return len(expected) == len(got) and all(_near(*pair, tolerance) for pair in zip(expected, got, strict=True))
    if isinstance(expected, dict) and isinstance(got, dict):
        mine, theirs = ({_normal(key): item for key, item in each.items()} for each in (expected, got))
        return mine.keys() == theirs.keys() and all(_near(mine[key], theirs[key], tolerance) for key in mine)
    return _normal(expected) == _normal(got)


def _close(expected: float, got: float, tolerance: float) -> bool:
    if isinstance(expected, int) and isinstance(got, int):
        return expected == got
    if not (_is_finite(expected) and _is_finite(got)):
        return expected == got or (expected != expected and got != got)
    return within(tolerance, Fraction(expected), Fraction(got))  # exact: 10**400 has no float


def _is_finite(value: float) -> bool:
    return isinstance(value, int) or math.isfinite(value)  # isfinite makes a float of an int, or fails to


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
