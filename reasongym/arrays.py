"""A number a token, as an array of machine words: it crosses to other processes and to disk as its bytes, where of a
tuple every entry is looked at each time.

The arrays are Python's own. Records that hold them are frozen, and nobody writes to them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

__all__ = ["doubles", "flags", "floats", "integers", "num_set"]


def doubles(values: Iterable[float]) -> array[float]:
    """64 bits each, as Python computes them."""
    return _array("d", values)


def flags(values: Iterable[int]) -> array[int]:
    """1 or 0 in a byte each."""
    return _array("b", values)


def integers(values: Iterable[int]) -> array[int]:
    """32 bits each. Raises OverflowError for what has no room in them."""
    return _array("i", values)


def floats(values: Iterable[float]) -> array[float]:
    """32 bits each, as engines and ranks compute them."""
    return _array("f", values)


def num_set(values: Iterable[int]) -> int:
    """How many of the flags are 1."""
    return flags(values).tobytes().count(1)  # the array's own `count` makes an object of each


def _array(code: str, values: Iterable[Any]) -> array[Any]:
    """`values` itself where it is such an array."""
    return values if isinstance(values, array) and values.typecode == code else array(code, values)
