"""Sums, multiples, products and transposes of matrices, multiplied out into one matrix, and their determinants."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from reasongym.verifiers.math.nodes import (
    Call,
    Matrix,
    Node,
    Number,
    Power,
    Product,
    Sum,
    Symbol,
    inner,
    key,
    negative,
    product,
    rebuilt,
    walk,
)

__all__ = ["as_matrix", "with_determinants"]

MAX_ENTRIES = 100
MAX_ORDER = 4
"""Of a determinant that is written out: 24 terms."""

MAX_NODES = 200
"""Of its entries together: an entry stands in six of the terms, so that determinants in one another would grow."""

_TRANSPOSED = frozenset(("T", "top", "intercal", "prime"))


def as_matrix(node: Node) -> Matrix | None:
    """The matrix that the expression comes to, its entries not evaluated; None where it comes to none of these."""
    match node:
        case Matrix(rows):
            return node if sum(map(len, rows)) <= MAX_ENTRIES else None
        case Sum(items):
            return _folded([as_matrix(item) for item in items], _total)
        case Product(items):
            inside = [as_matrix(item) for item in items]
            scalars = [item for item, one in zip(items, inside, strict=True) if one is None]
            found = _folded([one for one in inside if one is not None], _multiplied)
            if found is None or any(isinstance(part, Matrix) for scalar in scalars for part in walk(scalar)):
                return None
            return Matrix(tuple(tuple(product([*scalars, entry]) for entry in row) for row in found.rows))
        case Power(base, Symbol(name)) if name in _TRANSPOSED:
            turned = as_matrix(base)
            return turned and Matrix(tuple(zip(*turned.rows, strict=True)))
    return None


def with_determinants(node: Node) -> Node:
    """The tree with each determinant of at most 4 rows written out as a sum of products."""
    if "Call det" not in key(node):
        return node
    parts = [with_determinants(part) for part in inner(node)]
    match node:
        case Call("det", _):
            matrix = as_matrix(parts[0])
            if matrix and len(matrix.rows) == len(matrix.rows[0]) <= MAX_ORDER and len(walk(matrix)) <= MAX_NODES:
                return _determinant(matrix.rows)
    return rebuilt(node, parts)


def _determinant(rows: tuple[tuple[Node, ...], ...]) -> Node:
    """By the first row's cofactors."""
    if len(rows) == 1:
        return rows[0][0]
    terms = [product([entry, _determinant(tuple((*row[:n], *row[n + 1:]) for row in rows[1:]))])
             for n, entry in enumerate(rows[0])]
    return Sum(tuple(negative(term) if n % 2 else term for n, term in enumerate(terms)))


def _folded(matrices: list[Matrix | None], operation: Callable[[Matrix, Matrix], Matrix | None]) -> Matrix | None:
    found: Matrix | None = None
    for n, one in enumerate(matrices):
        if one is None or (n and found is None):
            return None
        found = one if found is None else operation(found, one)
    return found


def _total(a: Matrix, b: Matrix) -> Matrix | None:
    if [len(row) for row in a.rows] != [len(row) for row in b.rows]:
        return None
    return Matrix(tuple(tuple(Sum((x, y)) for x, y in zip(one, other, strict=True))
                        for one, other in zip(a.rows, b.rows, strict=True)))


def _multiplied(a: Matrix, b: Matrix) -> Matrix | None:
    if len(a.rows[0]) != len(b.rows) or len(a.rows) * len(b.rows[0]) > MAX_ENTRIES:
        return None
    columns = list(zip(*b.rows, strict=True))
    zero = Number(Fraction(0))
    return Matrix(tuple(tuple(
        Sum((zero, *(product([x, y]) for x, y in zip(row, column, strict=True)))) for column in columns)
        for row in a.rows))
