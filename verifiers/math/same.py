"""Whether two answers say the same: by kind, from the outside in. The policies stand at the head of `compare`."""

from __future__ import annotations

from collections.abc import Sequence as Items
from fractions import Fraction

from reasongym.verifiers.math.identity import same_value, terminates
from reasongym.verifiers.math.matching import distinct, in_order, paired
from reasongym.verifiers.math.matrices import as_matrix
from reasongym.verifiers.math.naming import assignments, named, tuple_order, values
from reasongym.verifiers.math.nodes import (
    Based,
    Call,
    FiniteSet,
    Group,
    Matrix,
    Node,
    Number,
    Product,
    Quantity,
    Ratio,
    Relation,
    Sequence,
    SetOperation,
    Symbol,
    Text,
    key,
    product,
)
from reasongym.verifiers.math.numerals import is_fraction, same_based, same_residue
from reasongym.verifiers.math.plus_minus import spread
from reasongym.verifiers.math.real_sets import REALS, real_set, same_set
from reasongym.verifiers.math.relations import Stated, same_equation, same_inequality, stated
from reasongym.verifiers.math.units import ONE_LETTER, Unit, unit

__all__ = ["same"]

_SCALARS = (Number, Symbol, Product, Call)


def same(left: Node, right: Node) -> bool:
    """Whether both answers say the same. Raises ArithmeticError where values are too large to be compared."""
    if key(left) == key(right):
        return True
    left, right = spread(left), spread(right)
    if isinstance(left, Sequence) or isinstance(right, Sequence):
        return _same_lists(left, right)
    measured = _measured(left, right)
    if measured is not None:
        return measured
    if isinstance(left, Relation) or isinstance(right, Relation):
        return _same_relations(left, right)
    return _same_kinds(left, right)


def _measured(left: Node, right: Node) -> bool | None:
    """Compares quantities; None where neither side is one."""
    (a, one), (b, other) = _quantity(left, right), _quantity(right, left)
    if a is left and b is right:
        return None
    if one.kind and other.kind:
        if one.kind != other.kind and not _share_a_word(one, other):
            return False
        factor = one.scale / other.scale
        return same(a if factor == 1 else product([Number(factor), a]), b)
    return same(a, b) or _is_hundredth(a, one, b) or _is_hundredth(b, other, a)


def _quantity(node: Node, beside: Node) -> tuple[Node, Unit]:
    """Value and unit. A product with one letter is a quantity beside one: `5m` where the other side is `5 m`."""
    match node:
        case Quantity(value, words):
            return value, unit(words)
        case Call("deg", (value,)):
            return value, unit("degree")
        case Product((Number() as number, Symbol(letter))) if letter in ONE_LETTER and isinstance(beside, Quantity):
            return number, unit(letter)
    return node, Unit("", Fraction(1))


def _share_a_word(one: Unit, other: Unit) -> bool:
    return one.scale == other.scale == 1 and bool(set(one.kind.split()) & set(other.kind.split()))


def _is_hundredth(value: Node, of: Unit, bare: Node) -> bool:
    r"""28% is 0.28, where that is written as a decimal; `33\frac13%`, which has none, is 1/3; 100% is 1."""
    if of.kind != "percent" or not isinstance(bare, Number):
        return False
    hundredth = product([Number(Fraction(1, 100)), value])
    written_out = bare.places > 0 or not terminates(bare.value) or bare.value == 1
    return written_out and same_value(hundredth, bare)


def _same_lists(left: Node, right: Node) -> bool:
    """Lists without brackets, at least one; beside a list in brackets the order counts, beside a set it does not."""
    left, right = _unnamed_collection(left, right), _unnamed_collection(right, left)
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Sequence) and isinstance(other, FiniteSet):
            return _same_members(values(one.items), values(other.items))
        if isinstance(one, Sequence) and isinstance(other, Group | Matrix):
            return _same_tuple(one, other)
    if not (isinstance(left, Sequence) and isinstance(right, Sequence)):
        return _same_sets(left, right)
    a, b = left.items, right.items
    if _same_sets(left, right):
        return True
    if _are_joined_otherwise(left, right):
        return False
    if all(isinstance(item, Group) for item in (*a, *b)):
        return paired(distinct(a, same), distinct(b, same), same)
    names, other_names = named(a), named(b)
    if bool(names) != bool(other_names):
        all_differ = len(set(names or other_names)) == len(a)
        ours, theirs = (tuple_order(items) or values(items) for items in (a, b))
        return (in_order if all_differ else paired)(ours, theirs, _same_item)
    if names and len(set(names)) == 1 and set(names) == set(other_names):
        return paired(values(a), values(b), _same_item)
    return paired(a, b, _same_item)


def _same_item(left: Node, right: Node) -> bool:
    r"""As `same`, but a set within a list or set is no number: \{3\} is not 3 there."""
    return isinstance(left, FiniteSet) == isinstance(right, FiniteSet) and same(left, right)


def _same_members(left: Items[Node], right: Items[Node]) -> bool:
    return paired(distinct(left, _same_item), distinct(right, _same_item), _same_item)


def _same_tuple(listed: Sequence, other: Group | Matrix) -> bool:
    """A list beside a tuple: in the tuple's order, and no alternatives."""
    items = tuple_order(listed.items)
    if isinstance(other, Group) and other.left + other.right != "()" and len(listed.items) == len(other.items) == 2:
        return _same_sets(listed, other)  # `1, 2` is no closed interval
    if listed.joined == "or" or items is None or real_set(listed) is not None:
        return False
    return in_order(items, values(_items(other)), _same_item)


def _are_joined_otherwise(left: Sequence, right: Sequence) -> bool:
    """Whether one list says "or" where the other does not, and that matters; or both are sets of numbers that differ.

    `x = 1 or x = 3` and `x = 1 and x = 3` list the same solutions; `x = 1 or y = 2` gives less than `x = 1, y = 2`.
    """
    related = [item for item in (*left.items, *right.items) if isinstance(item, Relation)]
    bounds = any(set(item.signs) - {"=", "~", "in"} for item in related)
    if bounds and real_set(left) is not None and real_set(right) is not None:
        return True
    names = {*named(left.items), *named(right.items)}
    return (left.joined == "or") != (right.joined == "or") and bool(related) and (bounds or len(names) != 1)


def _unnamed_collection(node: Node, beside: Node) -> Node:
    r"""S of `S = \{1, 2\}` or of `x \in \{1, 2\}` left out; `(a, b) = (1, 2)` beside a = 1, b = 2 as that list."""
    if isinstance(beside, Sequence) and named(beside.items):
        node = assignments(node)
    found = stated(node)
    return found.value if found and isinstance(found.value, FiniteSet | Group | Matrix) else node


def _items(node: Node) -> list[Node]:
    match node:
        case Sequence(items, _) | FiniteSet(items) | Group(_, _, items):
            return list(items)
        case Matrix(rows) if len(rows) == 1 or len(rows[0]) == 1:
            return [entry for row in rows for entry in row]
    return [node]


def _same_relations(left: Node, right: Node) -> bool:
    one, other = stated(left), stated(right)
    if one and other:
        return _same_stated(one, other, left, right)
    if isinstance(left, Relation) and isinstance(right, Relation):
        if _same_sets(left, right):
            return True
        kinds = [set(node.signs) for node in (left, right)]
        if kinds[0] <= {"=", "~"} and kinds[1] <= {"=", "~"}:
            return same_equation(left, right)
        return not any("in" in kind or "~" in kind for kind in kinds) and same_inequality(left, right)
    relation, bare, found = (left, right, one) if isinstance(left, Relation) else (right, left, other)
    if found:
        return same(found.value, bare)
    return isinstance(relation, Relation) and (_same_sets(relation, bare) or _is_between(relation, bare))


def _same_stated(one: Stated, other: Stated, left: Node, right: Node) -> bool:
    if not (one.name and other.name):
        return same(one.value, other.value)
    if one.name == other.name:
        return same(one.renamed, other.renamed)
    if isinstance(left, Relation) and isinstance(right, Relation) and left.signs == right.signs == ("=",):
        return same_equation(left, right)
    return False


def _is_between(relation: Relation, bare: Node) -> bool:
    """a < x <= b and (a, b], for ends that hold symbols."""
    match relation, bare:
        case Relation((low, Symbol(), high), (first, second)), Group(opening, closing, ends):
            if first in (">", ">="):
                low, high, first, second = high, low, second, first
            signs = {"(": "<", "[": "<=", ")": "<", "]": "<="}
            turned = [sign.replace(">", "<") for sign in (first, second)]
            return turned == [signs[opening], signs[closing]] and in_order((low, high), ends, same)
    return False


def _same_sets(left: Node, right: Node) -> bool:
    plain = (SetOperation, Relation, Sequence, Text)
    if not any(isinstance(node, plain) or node == REALS for node in (left, right)):
        return False  # two bare brackets are compared as such: (1,1) is no empty set
    a, b = real_set(left), real_set(right)
    return a is not None and b is not None and same_set(a, b)


def _same_kinds(left: Node, right: Node) -> bool:
    """Of what is neither a list nor a relation nor a quantity."""
    match left, right:
        case (Text(), _) | (_, Text()):
            return _same_words(left, right) or _same_sets(left, right)
        case Group(_, _, items), Group(_, _, others):
            brackets = left.left + left.right == right.left + right.right
            return (brackets or len(items) != 2) and in_order(items, others, _same_item)
        case FiniteSet(items), FiniteSet(others):
            return _same_members(items, others)
        case (FiniteSet((only,)), bare) | (bare, FiniteSet((only,))) if isinstance(bare, _SCALARS):
            return same(only, bare)
        case Ratio(items, clock), Ratio(others, also_clock):
            return _same_ratio(items, others, exactly=clock or also_clock)
        case (Ratio() as ratio, value) | (value, Ratio() as ratio):
            return is_fraction(ratio, value)
        case (Call("residue", _), _) | (_, Call("residue", _)):
            return same_residue(left, right)
        case (Based(), _) | (_, Based()):
            return same_based(left, right)
        case (SetOperation(), _) | (_, SetOperation()):
            return _same_sets(left, right) or _same_operation(left, right)
    a, b = as_matrix(left), as_matrix(right)
    if a or b:
        return _same_matrix(a or left, b or right)
    if isinstance(left, Group | FiniteSet) or isinstance(right, Group | FiniteSet):
        return _same_sets(left, right)
    return same_value(left, right)


def _same_words(left: Node, right: Node) -> bool:
    """A letter in text is that letter in either case; words were brought to one case when they were read."""
    return bool(_words(left)) and _words(left) == _words(right)


def _words(node: Node) -> str:
    match node:
        case Text(words):
            return words
        case Symbol(name):
            return name.lower()
        case Product(items):
            return "".join(map(_words, items)) if all(isinstance(item, Symbol) for item in items) else ""
    return ""


def _same_ratio(left: tuple[Node, ...], right: tuple[Node, ...], *, exactly: bool) -> bool:
    if exactly or len(left) != len(right):
        return in_order(left, right, same)
    return all(same_value(product([a, right[0]]), product([b, left[0]])) for a, b in zip(left, right, strict=True))


def _same_operation(left: Node, right: Node) -> bool:
    """Sets whose edges hold symbols, in either order."""
    if not (isinstance(left, SetOperation) and isinstance(right, SetOperation) and left.sign == right.sign):
        return False
    a, b, c, d = left.left, left.right, right.left, right.right
    return (same(a, c) and same(b, d)) or (left.sign != "difference" and same(a, d) and same(b, c))


def _same_matrix(left: Node, right: Node) -> bool:
    """Entry by entry; a matrix of one row or column is also the list in brackets of the same items."""
    if isinstance(left, Matrix) and isinstance(right, Matrix):
        shapes = [[len(row) for row in node.rows] for node in (left, right)]
        return shapes[0] == shapes[1] and all(
            in_order(row, other, same) for row, other in zip(left.rows, right.rows, strict=True))
    a, b = _items(left), _items(right)
    return (isinstance(left, Group) or isinstance(right, Group)) and len(a) > 1 and in_order(a, b, same)
