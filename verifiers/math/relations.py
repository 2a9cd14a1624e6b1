"""Equations, assignments and inequalities: what they name, what they say, and when two say the same.

An equation with a name on its left (x, f(x), |AB|, (p, q), or a ratio of such) assigns the last member of its chain:
`x = 5` says what `5` says, and not what `y = 5` says. f(x) = x^2 and f(t) = t^2 are one. A chain of numbers has the
value of its last member. Any other equation is compared up to the exchange of its sides and a constant factor.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from reasongym.verifiers.math.identity import proportional, same_value, symbols
from reasongym.verifiers.math.nodes import (
    Calculus,
    Call,
    Group,
    Node,
    Number,
    Power,
    Product,
    Quantity,
    Ratio,
    Relation,
    Sum,
    Symbol,
    Text,
    key,
    negative,
    replaced,
    walk,
)

__all__ = ["Stated", "is_own", "same_equation", "same_inequality", "stated"]

MAX_CHAIN = 8
"""Members of a chain of numbers that are compared, from its end."""

_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
_FUNCTIONS_IN_NAMES = frozenset(("sin", "cos", "tan", "cot", "sec", "csc", "ln", "log", "abs", "det"))


class Stated(NamedTuple):
    """What an answer assigns. name: key of what has the value, empty where none is named. value: as it stands.

    renamed: the value with a function's own argument brought to one name, for comparison under the same name.
    """

    name: str
    value: Node
    renamed: Node


def stated(node: Node) -> Stated | None:
    """The value that a relation assigns, with its name; None where the relation assigns none."""
    match node:
        case Relation((first, inside), ("in",)) if _is_name(first):
            return Stated(key(first), inside, inside)
        case Relation(items, signs) if set(signs) <= {"=", "~"}:
            return _assigned(items, signs)
    return None


def _assigned(items: tuple[Node, ...], signs: tuple[str, ...]) -> Stated | None:
    """Of a = b = c ~ d that c is stated, of a ~ d that d is."""
    if "=" in signs and "~" in signs:
        items = items[:signs.index("~") + 1] if signs[0] == "=" else items
    first, last = items[0], items[-1]
    if _contradicts_itself(items) or (len(items) == 2 and isinstance(first, Symbol) and _is_letter(last)):
        return None
    if _is_name(first) and not symbols(first) & symbols(last):
        return _renamed(first, last)
    if isinstance(last, Symbol) and len(items) == 2 and not symbols(first):
        return Stated(key(last), first, first)
    numeric = not any(symbols(item) or isinstance(part, Text) for item in items for part in walk(item))
    if isinstance(first, Call) and isinstance(first.items[0], Symbol) and is_own(first.name):
        return _renamed(first, last)
    return Stated("", last, last) if numeric else None


def _contradicts_itself(items: tuple[Node, ...]) -> bool:
    """Whether it says `6 = 5`. Behind a name the last member counts, whatever came before; units may convert."""
    if any(symbols(item) or any(isinstance(part, Text | Quantity | Calculus) for part in walk(item)) for item in items):
        return False
    return any(not same_value(one, other) for one, other in pairwise(items[-MAX_CHAIN:]))


def _is_letter(node: Node) -> bool:
    r"""`x = y` is a line, not what `y` says; `D = \mathbb{R}` says what its right side does."""
    return isinstance(node, Symbol) and not node.name.startswith("mathbb")


def is_own(name: str) -> bool:
    """Whether a function's name is the answer's own: f, f', f_1, the inverse of f."""
    return len(name) == 1 or any(mark in name for mark in "_'^")


def _renamed(name: Node, value: Node) -> Stated:
    """With the argument of a defined function renamed, so that it does not matter."""
    match name:
        case Call(letter, (Symbol() as argument,)) if len(letter) <= 3 and letter not in _FUNCTIONS_IN_NAMES:
            bound = Symbol("\u00b7")
            return Stated(key(Call(letter, (bound,))), value, replaced(value, argument, bound))
    return Stated(key(name), value, value)


def _is_name(node: Node) -> bool:
    """A symbol, a call, words, or what can be written of names alone: AB, |AB|, NO/BO, (p, q), a : b."""
    match node:
        case Symbol() | Text() | Calculus():
            return True
        case Call("abs", (Symbol(letter),)) if letter.islower() and letter not in ("z", "w"):
            return False  # |x| = 3 has to be solved; of a complex number it is the modulus
        case Call(name, items):
            return is_own(name) or (name in _FUNCTIONS_IN_NAMES and all(map(_is_name, items)))
        case Group(_, _, items) | Ratio(items, _):
            return all(map(_is_name, items))
        case Product(items):
            return all(_is_capital(item) for item in items)
    return False


def _is_capital(node: Node) -> bool:
    match node:
        case Symbol(name):
            return name[0].isupper()
        case Product(items):
            return all(map(_is_capital, items))
        case Power(base, Number()):
            return _is_capital(base)
    return False


def same_equation(left: Relation, right: Relation) -> bool:
    """Equal up to the exchange of sides and a constant factor; longer chains member by member."""
    if len(left.items) != len(right.items):
        return False
    if len(left.items) > 2:
        return _same_members(left.items, right.items) or _same_members(left.items, right.items[::-1])
    return proportional(_gap(left), _gap(right)) is not None


def same_inequality(left: Relation, right: Relation) -> bool:
    """Equal up to the direction it is read in and, for one sign, a positive factor."""
    a, b = _ascending(left), _ascending(right)
    if len(a.items) != len(b.items) or a.signs != b.signs:
        return False
    if _same_members(a.items, b.items):
        return True
    if len(a.items) != 2:
        return False
    factor = proportional(_gap(a), _gap(b))
    return factor is not None and (factor > 0 or a.signs == ("!=",))


def _same_members(left: tuple[Node, ...], right: tuple[Node, ...]) -> bool:
    return all(same_value(a, b) for a, b in zip(left, right, strict=True))


def _gap(relation: Relation) -> Node:
    a, b = (item.value if isinstance(item, Quantity) else item for item in relation.items)
    return Sum((b, negative(a)))


def _ascending(relation: Relation) -> Relation:
    if any(sign in (">", ">=") for sign in relation.signs):
        return Relation(relation.items[::-1], tuple(_FLIPPED.get(sign, sign) for sign in reversed(relation.signs)))
    return relation


