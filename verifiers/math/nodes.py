"""The tree that an answer is read into. Frozen, plain data: nothing here evaluates anything."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

__all__ = ["MINUS_ONE", "Based", "Calculus", "Call", "Constant", "FiniteSet", "Group", "Matrix", "Node", "Number",
           "Power", "Product", "Quantity", "Ratio", "Relation", "Sequence", "SetOperation", "Sum", "Symbol", "Text",
           "inner", "key", "negative", "product", "quotient", "rebuilt", "replaced", "total", "walk"]


@dataclass(frozen=True, slots=True)
class Number:
    """An exact literal. places: significant digits of a decimal (`0.250` has 3), 0 for a whole number or fraction."""

    value: Fraction
    places: int = 0


@dataclass(frozen=True, slots=True)
class Symbol:
    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """pi, e, i or inf."""

    name: str


@dataclass(frozen=True, slots=True)
class Sum:
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Product:
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Power:
    base: Node
    exponent: Node


@dataclass(frozen=True, slots=True)
class Call:
    """A function of its arguments: `sin`, `root` (of, index), `log` (of, base), `pm`, or a name of the answer's own."""

    name: str
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Calculus:
    """kind: `integral` of items[0] by items[1] between items[2] and [3] where there are four; `derivative` of order
    items[2]; `limit`, or `above` or `below` for one from one side, at items[2]."""

    kind: str
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Text:
    """Words, lower case, without punctuation."""

    words: str


@dataclass(frozen=True, slots=True)
class Group:
    """Two or more items in brackets: a tuple, or with two items perhaps an interval. left in `([`, right in `)]`."""

    left: str
    right: str
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class FiniteSet:
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Sequence:
    """Items without brackets. joined: `,`, `;`, `and` or `or`."""

    items: tuple[Node, ...]
    joined: str


@dataclass(frozen=True, slots=True)
class SetOperation:
    """sign: union, intersection or difference."""

    sign: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Matrix:
    rows: tuple[tuple[Node, ...], ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """`items[0] signs[0] items[1] ...`; signs in `= != < <= > >= ~ in`."""

    items: tuple[Node, ...]
    signs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Based:
    """A numeral with its base as index: 204_5."""

    digits: str
    base: int


@dataclass(frozen=True, slots=True)
class Ratio:
    """a:b:c. clock: written as a time of day is (9:30)."""

    items: tuple[Node, ...]
    clock: bool


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value with a unit, as the words that stood there."""

    value: Node
    unit: str


Node = (Number | Symbol | Constant | Sum | Product | Power | Call | Calculus | Text | Group | FiniteSet | Sequence
        | SetOperation | Matrix | Relation | Based | Ratio | Quantity)

MINUS_ONE = Number(Fraction(-1))


def total(items: list[Node]) -> Node:
    return items[0] if len(items) == 1 else Sum(tuple(items))


def product(items: list[Node]) -> Node:
    """The product, with nested products flattened and literal factors of one left out."""
    flat: list[Node] = []
    for item in items:
        flat += item.items if isinstance(item, Product) else [item]
    kept = [item for item in flat if item != Number(Fraction(1))]
    return Number(Fraction(1)) if not kept else kept[0] if len(kept) == 1 else Product(tuple(kept))


def negative(item: Node) -> Node:
    """The item with the other sign; of degrees it is the number's, so that -90 degrees are a quantity as 90 are."""
    if isinstance(item, Call) and item.name == "deg":
        return Call("deg", (negative(item.items[0]),))
    return Number(-item.value, item.places) if isinstance(item, Number) else product([MINUS_ONE, item])


def quotient(above: Node, below: Node) -> Node:
    """above / below; a fraction of two whole numbers is one literal, so that `3/4` and `6/8` have one key."""
    whole = isinstance(above, Number) and isinstance(below, Number) and not above.places and not below.places
    if whole and isinstance(above, Number) and isinstance(below, Number) and below.value:
        return Number(above.value / below.value)
    return product([above, Power(below, MINUS_ONE)])


def inner(node: Node) -> tuple[Node, ...]:
    """The node's direct parts."""
    match node:
        case Power(base, exponent):
            return base, exponent
        case SetOperation(_, left, right):
            return left, right
        case Quantity(value, _):
            return (value,)
        case Matrix(rows):
            return tuple(entry for row in rows for entry in row)
        case Number() | Symbol() | Constant() | Text() | Based():
            return ()
        case _:
            return node.items


def walk(node: Node) -> list[Node]:
    """The node and everything below it, without recursion."""
    found, pending = list[Node](), [node]
    while pending:
        one = pending.pop()
        found.append(one)
        pending += inner(one)
    return found


def rebuilt(node: Node, parts: list[Node]) -> Node:
    """The same node around other parts, given in the order of `inner`."""
    match node:
        case Power():
            return Power(parts[0], parts[1])
        case SetOperation(sign, _, _):
            return SetOperation(sign, parts[0], parts[1])
        case Quantity(_, unit):
            return Quantity(parts[0], unit)
        case Matrix(rows):
            taken = iter(parts)
            return Matrix(tuple(tuple(next(taken) for _ in row) for row in rows))
        case Number() | Symbol() | Constant() | Text() | Based():
            return node
        case Call(name, _) | Calculus(name, _):
            return type(node)(name, tuple(parts))
        case Group(left, right, _):
            return Group(left, right, tuple(parts))
        case Sequence(_, joined):
            return Sequence(tuple(parts), joined)
        case Relation(_, signs):
            return Relation(tuple(parts), signs)
        case Ratio(_, clock):
            return Ratio(tuple(parts), clock)
        case _:
            return type(node)(tuple(parts))


def replaced(node: Node, old: Node, new: Node) -> Node:
    """The tree with each occurrence of `old` replaced."""
    return new if node == old else rebuilt(node, [replaced(part, old, new) for part in inner(node)])


@lru_cache(maxsize=4096)
def key(node: Node) -> str:
    """A text that is the same for the same tree, the order of terms, factors and set members aside."""
    parts = [key(part) for part in inner(node)]
    match node:
        case Number(value, _):
            return f"{value.numerator:x}/{value.denominator:x}"  # decimal digits cost more, and have a limit in Python
        case Symbol(name):
            return f"${name}"
        case Constant(name):
            return f"@{name}"
        case Text(words):
            return f'"{words}"'
        case Based(digits, base):
            return f"{digits}_{base}"
        case Sum() | Product() | FiniteSet():
            parts.sort()
        case Matrix(rows):
            parts = [f"{len(rows)}", *parts]
    return f"{type(node).__name__}{_label(node)}({' '.join(parts)})"


def _label(node: Node) -> str:
    match node:
        case Call(name, _) | Calculus(name, _):
            return f" {name} "
        case Group(left, right, _):
            return left + right
        case Sequence(_, joined):
            return joined
        case SetOperation(sign, _, _):
            return sign
        case Relation(_, signs):
            return " ".join(signs)
        case Quantity(_, unit):
            return unit
        case _:
            return ""
