"""Lists of answers: in order, in any order, and without repetitions. What makes two items equal is the caller's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from reasongym.verifiers.math.exact import exact
from reasongym.verifiers.math.nodes import Node, Number, key

__all__ = ["distinct", "in_order", "paired"]

MAX_PAIRED = 12
"""Items of a list without a twin that reads alike: only so many are compared each with each."""

Equal = Callable[[Node, Node], bool]


def in_order(left: Sequence[Node], right: Sequence[Node], equal: Equal) -> bool:
    """Whether both are equally long, and equal item by item."""
    return len(left) == len(right) and all(equal(a, b) for a, b in zip(left, right, strict=True))


def paired(left: Sequence[Node], right: Sequence[Node], equal: Equal) -> bool:
    """Whether the items can be matched one to one, in any order. Past MAX_PAIRED items only equal spellings match."""
    if len(left) != len(right):
        return False
    here, there = Counter(map(_spelling, left)), Counter(map(_spelling, right))
    unmatched = _beyond(left, there)
    others = _beyond(right, here)
    if len(unmatched) != len(others) or len(others) > MAX_PAIRED:
        return False
    for item in unmatched:
        twin = next((n for n, other in enumerate(others) if equal(item, other)), None)
        if twin is None:
            return False
        others.pop(twin)
    return True


def distinct(items: Sequence[Node], equal: Equal) -> list[Node]:
    """The items without those that equal an earlier one; past MAX_PAIRED items, that are spelt alike."""
    kept: dict[str, Node] = {}
    for item in items:
        spelling = _spelling(item)
        if spelling not in kept and not (len(items) <= MAX_PAIRED and any(equal(item, one) for one in kept.values())):
            kept[spelling] = item
    return list(kept.values())


def _beyond(items: Sequence[Node], available: Counter[str]) -> list[Node]:
    """Those that find no item of their spelling left on the other side."""
    left = Counter(available)
    unmatched = list[Node]()
    for item in items:
        if left[_spelling(item)]:
            left[_spelling(item)] -= 1
        else:
            unmatched.append(item)
    return unmatched


def _spelling(node: Node) -> str:
    """A text that equal numbers share, and else equal trees."""
    try:
        return key(Number(exact(node)))
    except ArithmeticError:
        return key(node)
