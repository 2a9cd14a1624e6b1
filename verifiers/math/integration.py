"""The constant of integration: who writes one, and that its letter does not matter.

An indefinite integral is every function with that derivative, so it equals what has a constant (`x^2 + C` for
`\\int 2x\\,dx`), and no single one of them (`x^2`).
"""

from __future__ import annotations

from reasongym.verifiers.math.nodes import Calculus, Node, Sum, Symbol, replaced, walk

__all__ = ["has_indefinite", "is_family", "is_indefinite", "with_one_constant"]

_CONSTANTS = frozenset("CcKk")


def is_indefinite(node: Node) -> bool:
    return isinstance(node, Calculus) and node.kind == "integral" and len(node.items) == 2


def has_indefinite(node: Node) -> bool:
    return any(map(is_indefinite, walk(node)))


def is_family(node: Node) -> bool:
    """Whether a term leaves the constant open: an indefinite integral, or C, c, K or k, with an index or without."""
    terms = node.items if isinstance(node, Sum) else (node,)
    return bool(_constants(node)) or any(map(has_indefinite, terms))


def with_one_constant(left: Node, right: Node) -> Node:
    """The left side with the right side's letter for the constant, where each has one beside a single variable.

    With more letters than that, c may be a coefficient: ax^2+bx+c.
    """
    here, there = _constants(left), _constants(right)
    if len(here) != 1 or len(there) != 1 or here == there:
        return left
    others = {one for node in (left, right) for one in walk(node) if isinstance(one, Symbol)} - {*here, *there}
    once = all(sum(one == letter for one in walk(node)) == 1 for node, (letter,) in ((left, here), (right, there)))
    return replaced(left, here[0], there[0]) if once and len(others) == 1 else left


def _constants(node: Node) -> list[Symbol]:
    terms = node.items if isinstance(node, Sum) else (node,)
    return [term for term in terms if isinstance(term, Symbol) and term.name.partition("_")[0] in _CONSTANTS]
