r"""Sets of real numbers: intervals, finite sets, inequalities in one unknown, their unions, intersections, differences.

Two sets are equal when they agree at every edge of either and between any two neighbouring edges. So (0,2) says what
0 < x < 2, (0,1] \cup (1,2) and \{x : 0 < x < 2\} say. Sets whose edges hold symbols are not read here.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from reasongym.verifiers.math.exact import Inexact, TooLarge, exact
from reasongym.verifiers.math.identity import MIN_DIGITS, sign_at, symbols
from reasongym.verifiers.math.nodes import (
    Call,
    Constant,
    FiniteSet,
    Group,
    Node,
    Number,
    Relation,
    Sequence,
    SetOperation,
    Sum,
    Symbol,
    Text,
    key,
    negative,
    replaced,
    walk,
)
from reasongym.verifiers.math.numeric import is_real, precision_for, value

__all__ = ["REALS", "RealSet", "real_set", "same_set"]

REALS = Symbol("mathbb R")
MAX_EDGES = 60
_TOLERANCE = Fraction(1, 10**40)
_HOLDS = {"=": (0,), "<": (1,), ">": (-1,), "<=": (0, 1), ">=": (0, -1), "!=": (1, -1)}
"""Which signs of right - left the relation admits."""

_EVERYTHING = frozenset(("all real numbers", "all reals", "real numbers", "all real"))
_NOTHING = frozenset(("no solution", "no solutions", "no real solution", "no real solutions", "empty set"))


class RealSet(NamedTuple):
    """edges: where membership may change. unknown: key of what the set says something of, empty for a bare set."""

    edges: tuple[Fraction, ...]
    holds: Callable[[Fraction], bool]
    unknown: str


def same_set(left: RealSet, right: RealSet) -> bool:
    """Whether both hold the same numbers, and do not speak of different unknowns."""
    if left.unknown and right.unknown and left.unknown != right.unknown:
        return False
    return all(left.holds(x) == right.holds(x) for x in _samples((*left.edges, *right.edges)))


def real_set(node: Node) -> RealSet | None:
    """The node as a set of real numbers, or None where it is none that is read here."""
    match node:
        case Group(opening, closing, (low, high)):
            return _interval(low, high, opening == "[", closing == "]")
        case FiniteSet(items):
            return _finite(items)
        case SetOperation(sign, left, right):
            return _combined(sign, real_set(left), real_set(right))
        case Relation((named, inside), ("in",)):
            found = real_set(inside)
            return found and RealSet(found.edges, found.holds, key(named))
        case Relation(items, signs) if set(signs) <= _HOLDS.keys() and set(signs) != {"="}:
            return _solutions(items, signs)
        case Sequence(items, joined) if all(isinstance(item, Relation) for item in items):
            return _system(items, joined)
        case Symbol() if node == REALS:
            return RealSet((), lambda x: True, "")
        case Text(words) if words in _EVERYTHING | _NOTHING:
            return RealSet((), lambda x: words in _EVERYTHING, "")
    return None


def _samples(edges: tuple[Fraction, ...]) -> list[Fraction]:
    if not edges:
        return [Fraction(0)]
    ordered = sorted(set(edges))
    between = [(a + b) / 2 for a, b in pairwise(ordered) if _order(a, b)]
    return [ordered[0] - 1, *ordered, *between, ordered[-1] + 1]


def _order(a: Fraction, b: Fraction) -> int:
    """Sign of a - b, numbers closer than the tolerance, relatively, being equal."""
    gap = a - b
    return 0 if abs(gap) <= _TOLERANCE * max(abs(a), abs(b)) else 1 if gap > 0 else -1


def _edge(node: Node) -> Fraction | None:
    """A real number as a rational, to fifty digits where it is irrational; None for what is no such number."""
    try:
        return exact(node)
    except (Inexact, TooLarge):
        pass
    except ArithmeticError:
        return None
    try:
        z = value(node, {}, MIN_DIGITS + precision_for(node)) if not symbols(node) else None
    except ArithmeticError:
        return None
    return Fraction(z.re) if z is not None and is_real(z) and z.re.adjusted() < 1000 else None


def _sign_of_infinity(node: Node) -> int:
    if node == Constant("inf"):
        return 1
    return -1 if node == negative(Constant("inf")) else 0


def _interval(low: Node, high: Node, low_closed: bool, high_closed: bool) -> RealSet | None:
    unbounded_below, unbounded_above = _sign_of_infinity(low) < 0, _sign_of_infinity(high) > 0
    if (unbounded_below and low_closed) or (unbounded_above and high_closed):
        return None
    a, b = _edge(low), _edge(high)
    if (a is None and not unbounded_below) or (b is None and not unbounded_above):
        return None
    if a is not None and b is not None and a > b:
        return None

    def holds(x: Fraction) -> bool:
        above = a is None or _order(x, a) >= (0 if low_closed else 1)
        return above and (b is None or _order(b, x) >= (0 if high_closed else 1))

    return RealSet(tuple(edge for edge in (a, b) if edge is not None), holds, "")


def _finite(items: tuple[Node, ...]) -> RealSet | None:
    found = [_edge(item) for item in items]
    edges = tuple(edge for edge in found if edge is not None)
    if len(edges) < len(items) or len(edges) > MAX_EDGES:
        return None
    return RealSet(edges, lambda x: any(not _order(x, edge) for edge in edges), "")


def _combined(sign: str, left: RealSet | None, right: RealSet | None) -> RealSet | None:
    """Union, intersection or difference. None where one is none or they speak of different unknowns."""
    if left is None or right is None or (left.unknown and right.unknown and left.unknown != right.unknown):
        return None
    a, b = left.holds, right.holds
    edges = (*left.edges, *right.edges)
    holds: Callable[[Fraction], bool] = {
        "union": lambda x: a(x) or b(x), "intersection": lambda x: a(x) and b(x),
        "difference": lambda x: a(x) and not b(x)}[sign]
    return RealSet(edges, holds, left.unknown or right.unknown) if len(edges) <= MAX_EDGES else None


def _system(items: tuple[Node, ...], joined: str) -> RealSet | None:
    """Several relations on one unknown: all of them, or any of them where they are joined by "or".

    A comma says either; it is "and" where something satisfies all of them.
    """
    together: RealSet | None = real_set(items[0]) or _point(items[0])
    either = together
    for item in items[1:]:
        part = real_set(item) or _point(item)
        together, either = _combined("intersection", together, part), _combined("union", either, part)
    if together is None or joined == "or":
        return either
    satisfiable = any(together.holds(x) for x in _samples(together.edges))
    return together if satisfiable or joined == "and" else either


def _point(node: Node) -> RealSet | None:
    match node:
        case Relation((Symbol() as unknown, number), ("=",)):
            found = _finite((number,))
            return found and RealSet(found.edges, found.holds, key(unknown))
    return None


def _solutions(items: tuple[Node, ...], signs: tuple[str, ...]) -> RealSet | None:
    """The numbers that satisfy a chain of relations, each linear in the unknown or in its absolute value."""
    unknown = _unknown(items)
    if unknown is None:
        return None
    letter = Symbol("x")
    parts = [replaced(item, unknown, letter) for item in items]
    if any(symbols(part) - {"x"} for part in parts):
        return None
    lines = [_gap(left, right) for left, right in pairwise(parts)]
    edges = list[Fraction]()
    for line, sign in zip(lines, signs, strict=True):
        found = _roots(line)
        if found is None or sign not in _HOLDS:
            return None
        edges += found

    def holds(x: Fraction) -> bool:
        if any(not _order(x, edge) and x != edge for edge in edges):
            x = next(edge for edge in edges if not _order(x, edge))
        return all(_sign(line, x) in _HOLDS[sign] for line, sign in zip(lines, signs, strict=True))

    return RealSet(tuple(edges), holds, key(unknown))


def _gap(left: Node, right: Node) -> Node | None:
    """right - left, or for an infinite side the whole line, which is no condition."""
    if _sign_of_infinity(right) > 0 or _sign_of_infinity(left) < 0:
        return None
    return Sum((right, negative(left)))


def _sign(line: Node | None, x: Fraction) -> int:
    if line is None:
        return 1
    try:
        return sign_at(line, {"x": x})
    except ArithmeticError:
        return 2


def _unknown(items: tuple[Node, ...]) -> Node | None:
    """The one symbol of the relation, or a call of the answer's own that is a side of it."""
    calls = {item for item in items if isinstance(item, Call) and len(item.name) == 1}
    names = set[str]().union(*(symbols(item) for item in items))
    if calls:
        return calls.pop() if len(calls) == 1 else None
    return Symbol(names.pop()) if len(names) == 1 else None


def _roots(line: Node | None) -> list[Fraction] | None:
    """Where a linear condition changes sign, in x or in |x|; None where it is not linear."""
    if line is None:
        return []
    size = Call("abs", (Symbol("x"),))
    absolute = size in walk(line)
    if absolute:
        if symbols(replaced(line, size, Symbol("|x|"))) != {"|x|"}:
            return None
        line = replaced(line, size, Symbol("x"))
    values = [_edge_at(line, x) for x in (0, 1, 2, 5)]
    if any(one is None for one in values):
        return None
    start, one, two, five = (Fraction(v) for v in values if v is not None)
    slope = one - start
    if not slope or _order(two - one, slope) or _order(five - two, 3 * slope):
        return None
    root = -start / slope
    return [root] if not absolute else [-root, Fraction(0), root]


def _edge_at(line: Node, x: int) -> Fraction | None:
    return _edge(replaced(line, Symbol("x"), Number(Fraction(x))))
