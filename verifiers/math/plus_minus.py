"""Plus-minus, written out as the two values it stands for."""

from __future__ import annotations

from reasongym.verifiers.math.exact import TooLarge
from reasongym.verifiers.math.naming import usual_order
from reasongym.verifiers.math.nodes import MINUS_ONE, Call, FiniteSet, Node, Sequence, product, replaced, walk

__all__ = ["spread"]

MAX_SIGNS = 4


def spread(node: Node) -> Node:
    """With plus-minus written out: a value becomes two, in a list or set two items."""
    node = usual_order(node)
    match node:
        case Sequence(items, joined):
            return Sequence(tuple(one for item in items for one in _both_signs(item)), joined)
        case FiniteSet(items):
            return FiniteSet(tuple(one for item in items for one in _both_signs(item)))
    found = _both_signs(node)
    return node if len(found) == 1 else Sequence(found, "or")


def _both_signs(node: Node) -> tuple[Node, ...]:
    signed = [one for one in walk(node) if isinstance(one, Call) and one.name in ("pm", "mp")]
    if not signed:
        return (node,)
    if len(signed) > MAX_SIGNS:
        raise TooLarge(f"more than {MAX_SIGNS} times plus-minus")
    upper, lower = node, node
    for one in signed:
        plus, minus = one.items[0], product([MINUS_ONE, one.items[0]])
        upper = replaced(upper, one, plus if one.name == "pm" else minus)
        lower = replaced(lower, one, minus if one.name == "pm" else plus)
    return upper, lower
