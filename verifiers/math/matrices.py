"""Sums, multiples, products and transposes of matrices, multiplied out into one matrix."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from reasongym.verifiers.math.nodes import Matrix, Node, Number, Power, Product, Sum, Symbol, product, walk

__all__ = ["as_matrix"]

MAX_ENTRIES = 100
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
