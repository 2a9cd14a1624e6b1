r"""Readings that hold for an answer and never for a reference.

- `a + b = 9`, `f(2) = 9` beside a reference that is a value: the left side is what was asked for, the right side the
  answer. The left side is made of two letters or more without coefficients (`mn`, `x^2 + y^2`), or is a value of a
  function: `x + 1 = 9`, `2x = 9`, `x^2 = 9` and `2x + z = 9` are equations. So is `a + b = 0`, and as a reference
  `x + y = 9` is a line.
- `\frac{14}{3} \approx 4.667` states the left side where the decimal is it, rounded or cut off; else it says nothing.
- `(0,9) or (9,36)` beside a union of intervals is that union.
- `2x + 3 = 7` is no answer beside the reference `x = 2`: it is the question.
- `\text{(C) Plane}`, `\textbf{(C) } 12` choose the option that the reference `\text{(C)}` is, unless another is named.

Known false positive: `x + y = 9` for a 9 that is not x + y.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import reduce

from reasongym.verifiers.math.identity import sign_at, symbols
from reasongym.verifiers.math.nodes import (
    MINUS_ONE,
    Call,
    Constant,
    Group,
    Node,
    Number,
    Power,
    Product,
    Quantity,
    Relation,
    Sequence,
    SetOperation,
    Sum,
    Symbol,
    negative,
)
from reasongym.verifiers.math.relations import is_own, stated

__all__ = ["as_answer", "is_unsolved", "option_of"]

MAX_SHIFT = 400
"""Decimal places that an approximation may have."""

_VALUES = (Number, Constant, Sum, Product, Power, Call, Quantity)
_OPTION_ALONE = re.compile(r"\\(?:text|textbf|textrm|mathrm|mbox) ?\{ ?\(?([A-Z])\)? ?\}|\(([A-Z])\)")
_OPTION_FIRST = re.compile(
    r"\\(?:text|textbf|textrm|mathrm|mbox|mathbf) ?\{ ?\(([A-Z])\)(?=[\s}])(.*)|\(([A-Z])\)(?=\s)(.*)", re.DOTALL)
_ANOTHER = re.compile(
    r"^[\s}]*[,;/&]|\([A-Z]\)|"
    r"\b(?i:or|and|not|nor|wrong|incorrect|false|maybe|but)\b|\?|(?<![A-Za-z\\])[A-Z](?![A-Za-z])")


def as_answer(given: Node, wanted: Node) -> Node:
    """The answer with what it only repeats or rounds left out, and intervals joined by "or" united."""
    match given, wanted:
        case Sequence((first, *others), "or"), SetOperation() if all(isinstance(i, Group) for i in (first, *others)):
            return reduce(lambda left, right: SetOperation("union", left, right), others, first)
    if not isinstance(given, Relation) or isinstance(wanted, Relation):
        return given
    given = _without_decimal(given)
    if isinstance(given, Relation) and isinstance(wanted, _VALUES) and not symbols(wanted) and _asks(given):
        return given.items[1] if len(given.items) == 2 else Relation(given.items[1:], given.signs[1:])
    return given


def is_unsolved(wanted: Node, given: Node) -> bool:
    """Whether the answer is an equation for the unknown whose value the reference states."""
    if not (isinstance(wanted, Relation) and isinstance(given, Relation)):
        return False
    solved = stated(wanted) if any(isinstance(item, Symbol) for item in wanted.items) else None
    if solved is None or not solved.name or symbols(solved.value):
        return False
    found = stated(given)
    return set(given.signs) == {"="} and (found is None or not found.name)


def option_of(reference: str, given: str) -> str:
    """The option that the answer chooses, where the reference is one; empty without."""
    if "(" not in given or not _OPTION_ALONE.fullmatch(reference.strip()):
        return ""
    chosen = _OPTION_FIRST.fullmatch(given.strip())
    return f"({chosen[1] or chosen[3]})" if chosen and not _ANOTHER.search(chosen[2] or chosen[4] or "") else ""


def _asks(relation: Relation) -> bool:
    first, *others = relation.items
    if set(relation.signs) != {"="} or any(symbols(item) for item in others) or others[-1] == Number(Fraction(0)):
        return False
    match first:
        case Call(name, items):
            return is_own(name) and not any(symbols(item) for item in items)
        case Sum(items):
            return len(symbols(first)) > 1 and all(map(_is_of_letters, items))
    return len(symbols(first)) > 1 and _is_of_letters(first)


def _is_of_letters(node: Node) -> bool:
    """Whether it is made of letters alone, without a coefficient other than -1: `mn`, `-b`, `x^2`, `a/b`."""
    match node:
        case Power(base, exponent):
            return isinstance(base, Symbol) and isinstance(exponent, Number)
        case Product(items):
            return all(item == MINUS_ONE or _is_of_letters(item) for item in items)
    return isinstance(node, Symbol)


def _without_decimal(relation: Relation) -> Node:
    *before, exact, rounded = relation.items if len(relation.items) > 1 else (*relation.items, *relation.items)
    if relation.signs[-1] != "~" or not isinstance(rounded, Number) or symbols(exact) or not _rounds(exact, rounded):
        return relation
    return Relation((*before, exact), relation.signs[:-1]) if before else exact


def _rounds(exact: Node, rounded: Number) -> bool:
    """Whether the decimal lies within one unit of its last place, or half of one for a whole number."""
    size, shift = abs(rounded.value), 0
    if not isinstance(exact, _VALUES) or not size or isinstance(exact, Quantity):
        return False
    step = Fraction(1, 2)
    if rounded.places:
        while size < 1 and shift < MAX_SHIFT:
            size, shift = size * 10, shift + 1
        whole_digits = len(str(int(size))) if not shift else 1
        step = Fraction(1, 10) ** max(0, rounded.places - whole_digits + shift)
    above, below = (Sum((exact, negative(Number(rounded.value + offset)))) for offset in (step, -step))
    return sign_at(above, {}) < 0 < sign_at(below, {})
