"""Python's plain values as JSON and back without a change: tuples stay tuples, and any plain value may be a key.

JSON makes lists of tuples and texts of keys, and a scorer that compares `(0, 1)` with what it kept then fails on its
own answer. A list stays a list; whatever else holds values is an object of one key that names its type:
{"tuple": [...]}, {"set": [...]}, {"frozenset": [...]}, {"dict": [[key, value], ...]}, {"fraction": [above, below]}.
"""

from __future__ import annotations

import math
from fractions import Fraction

__all__ = ["from_tagged", "to_tagged"]

_DEPTH = 64


def to_tagged(value: object, *, depth: int = 0) -> object:
    """What JSON can carry. Raises ValueError for other types, numbers that are not finite, and depth above 64.

    Texts and numbers of a derived type (NumPy's str_ and float64) become the plain ones they are equal to.
    """
    if depth > _DEPTH:
        raise ValueError(f"values nested more than {_DEPTH} deep")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, Fraction):
        return {"fraction": [value.numerator, value.denominator]}
    if isinstance(value, list):
        return [to_tagged(item, depth=depth + 1) for item in value]
    if isinstance(value, tuple | set | frozenset):
        tag = next(kind.__name__ for kind in (tuple, set, frozenset) if isinstance(value, kind))
        return {tag: [to_tagged(item, depth=depth + 1) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[to_tagged(key, depth=depth + 1), to_tagged(item, depth=depth + 1)]
                         for key, item in value.items()]}
    raise ValueError(f"a value of type {type(value).__name__}")


def from_tagged(value: object) -> object:
    """The value that `to_tagged` was given. Raises ValueError for what it cannot have made."""
    if isinstance(value, list):
        return [from_tagged(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((tag, items),) = value.items() if len(value) == 1 else [("", None)]
    if not isinstance(items, list):
        raise ValueError(f"not a tagged value: {str(value)[:80]}")
    if tag == "dict":
        return {from_tagged(key): from_tagged(item) for key, item in items}
    if tag == "fraction":
        return Fraction(*_whole(items))
    kinds = {"tuple": tuple, "set": set, "frozenset": frozenset}
    if tag not in kinds:
        raise ValueError(f"no such tag: {str(tag)[:40]!r}")
    return kinds[tag](from_tagged(item) for item in items)


def _whole(items: list[object]) -> tuple[int, int]:
    """Two whole numbers, the second above 0. Raises ValueError for anything else."""
    above, below = items if len(items) == 2 else (None, None)
    if type(above) is int and type(below) is int and below > 0:
        return above, below
    raise ValueError(f"no fraction: {str(items)[:80]}")
