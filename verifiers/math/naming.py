"""Values that a list gives to names: which has which, and in which order names stand in a tuple.

Of `y = 2, x = 1` the tuple is (1, 2), since x and y are neighbours in the alphabet. Names that are none (m and b) make
a tuple only where they stand in the alphabet's order, since nothing else says which comes first.
"""

from __future__ import annotations

from collections.abc import Sequence as Items
from itertools import pairwise

from reasongym.verifiers.math.nodes import FiniteSet, Group, Node, Product, Relation, Sequence, Symbol, key
from reasongym.verifiers.math.relations import stated

__all__ = ["assignments", "named", "tuple_order", "usual_order", "values", "with_letters_in_order"]


def named(items: Items[Node]) -> list[str]:
    """The name each item gives a value to; one name before bare values holds for all (n = 1, 2, 3). Else empty."""
    found = [stated(item) for item in items]
    first = found[0]
    if first and first.name and not any(isinstance(item, Relation) for item in items[1:]):
        return [first.name] * len(items)
    names = [one.name for one in found if one and one.name]
    return names if len(names) == len(items) else []


def values(items: Items[Node]) -> list[Node]:
    return [found.value if (found := stated(item)) else item for item in items]


def tuple_order(items: Items[Node]) -> list[Node] | None:
    """The values in the order of a tuple's; None where their names say no order."""
    names = named(items)
    if len(set(names)) < len(items) or names == sorted(names):
        return values(items)
    by_name = sorted(zip(names, values(items), strict=True), key=lambda one: one[0])
    return [value for _, value in by_name] if _are_neighbours([name for name, _ in by_name]) else None


def _are_neighbours(names: list[str]) -> bool:
    """Of keys of single letters, in order."""
    return all(len(one) == len(other) == 2 and ord(other[1]) - ord(one[1]) == 1 for one, other in pairwise(names))


def usual_order(node: Node) -> Node:
    """`(y, x) = (2, 1)` as `(x, y) = (1, 2)`."""
    match node:
        case Relation((Group("(", ")", names), Group("(", ")", items)), ("=",)) if len(names) == len(items):
            ordered = sorted(zip(map(key, names), names, items, strict=True), key=lambda one: one[0])
            if _are_neighbours([name for name, _, _ in ordered]):
                return Relation((Group("(", ")", tuple(name for _, name, _ in ordered)),
                                 Group("(", ")", tuple(item for _, _, item in ordered))), ("=",))
    return node


def assignments(node: Node) -> Node:
    """`(a, b) = (1, 2)` as the list of a = 1 and b = 2."""
    match node:
        case Relation((Group("(", ")", names), Group("(", ")", items)), ("=",)) if len(names) == len(items):
            return Sequence(tuple(Relation(pair, ("=",)) for pair in zip(names, items, strict=True)), "and")
    return node


def with_letters_in_order(node: Node) -> Node:
    """Capitals written together, alone or as an item of a list, as one name: ABD is another order than ADB."""
    match node:
        case Product(items):
            names = [one.name for one in items if isinstance(one, Symbol)]
            letters = [name for name in names if len(name) == 1 and name.isupper()]
            return Symbol("".join(letters)) if len(letters) == len(items) else node
        case Sequence(items, joined):
            return Sequence(tuple(map(with_letters_in_order, items)), joined)
        case FiniteSet(items):
            return FiniteSet(tuple(map(with_letters_in_order, items)))
        case Group(left, right, items):
            return Group(left, right, tuple(map(with_letters_in_order, items)))
    return node
