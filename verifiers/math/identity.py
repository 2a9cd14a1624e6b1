"""Whether two expressions have the same value, for every value of their symbols.

Rational expressions are evaluated exactly, at rational points; others with at least 50 digits, then with twice as many:
a difference of zero shrinks with the precision, any other stays, however small. Comparison is relative throughout. The
points follow from a hash of both trees, spread over both signs and several magnitudes, so that an answer cannot be made
to vanish at them and |x - 10| is not 10 - x. Where both sides are real at some points, these decide: ln(x^2) = 2 ln x.

Expressions with values at different points are different, and so is ln|x| from ln x: one of them is real where the
other is not. Between log(ab) and log a + log b, which need a convention for negative numbers, the real points decide.

Known false positives: expressions that differ by less than one part in 10^65 and three times the digits of their own
largest and smallest values; a difference in an interval that holds no point.
Known false negatives: functions of whole numbers at symbols other than 6 to 40; anything beyond the bounds.
"""

from __future__ import annotations

import decimal
from decimal import Decimal
from fractions import Fraction

from reasongym.verifiers.math.calculus import BOUND
from reasongym.verifiers.math.decimals import Complex
from reasongym.verifiers.math.exact import Inexact, TooLarge, Undefined, exact, exact_at
from reasongym.verifiers.math.integration import has_indefinite, with_one_constant
from reasongym.verifiers.math.nodes import Call, Node, Number, Symbol, key, walk
from reasongym.verifiers.math.numeric import MAX_PRECISION, Point, carrying, is_real, measured, precision_for, value
from reasongym.verifiers.math.points import points
from reasongym.verifiers.math.symbolic import equal_by_algebra, slopes

__all__ = ["proportional", "same_value", "sign_at", "symbols", "terminates"]

MIN_DIGITS = 50
MAX_POINT_DIGITS = 250
"""More that are carried at a point where values are very large or small; other points show what that hides."""

MACHINE_DIGITS = 15
"""A decimal of as many significant digits is what a machine prints of a fraction, and equals it to its last digit."""


def same_value(left: Node, right: Node) -> bool:
    """Whether both are the same number or function.

    Raises TooLarge where that is beyond the bounds, Overtime where SymPy was asked and took too long.
    """
    if key(left) == key(right):
        return True
    names = symbols(left) | symbols(right)
    if not names:
        return _same_number(left, right)
    left = with_one_constant(left, right)
    names = symbols(left) | symbols(right)
    strict = _has_sizes(left) != _has_sizes(right)
    agreed, without_value = 0, False
    complex_only = list[Point]()
    for point in points(left, right, sorted(names)):
        try:
            same, real = _agree_at(left, right, point)
        except TooLarge:
            raise
        except ArithmeticError as error:
            if _has_value(left, point) != _has_value(right, point):
                return False
            without_value = without_value or isinstance(error, Inexact)
            continue
        if real == 1 and strict:
            return False
        if real < 2:
            complex_only.append(point)
        elif not same:
            return False
        agreed += real == 2
    if agreed >= 2:
        return True
    if len(complex_only) + agreed >= 2:
        return all(_agree_at(left, right, point)[0] for point in complex_only)
    return without_value and _same_by_algebra(left, right)


def _has_sizes(node: Node) -> bool:
    return any(isinstance(one, Call) and one.name == "abs" for one in walk(node))


def _has_value(node: Node, point: Point) -> bool:
    """Whether it has one there, or may have one that is not computed here."""
    try:
        value(node, point, 30)
    except (Inexact, TooLarge):
        return True
    except ArithmeticError:
        return False
    return True


def _same_by_algebra(left: Node, right: Node) -> bool:
    """Of what has no decimals: an integral, a sum of irrational terms, the factorial of a fraction."""
    if not (has_indefinite(left) or has_indefinite(right)):
        return equal_by_algebra(left, right)
    found = slopes(left, right)
    return found is not None and same_value(*found)


def symbols(node: Node) -> set[str]:
    """Names of the free symbols; an index of summation is bound."""
    bound = {index.name for one in walk(node) if isinstance(one, Call) and one.name in ("sum", "prod")
             for index in one.items[1:2] if isinstance(index, Symbol)}
    return {one.name for one in walk(node) if isinstance(one, Symbol) and not one.name.startswith(BOUND)} - bound


def proportional(left: Node, right: Node) -> Decimal | None:
    """c, where left = c * right everywhere with a real c other than zero; None where there is none."""
    names = sorted(symbols(left) | symbols(right))
    factor: Decimal | None = None
    digits = MIN_DIGITS + precision_for(left, right)
    seen = 0
    for point in points(left, right, names):
        try:
            a, b = value(left, point, digits), value(right, point, digits)
        except TooLarge:
            raise
        except ArithmeticError:
            continue
        if not (is_real(a) and is_real(b)) or not a.re or not b.re:
            continue
        with decimal.localcontext(carrying(digits)):
            if factor is not None and abs(a.re - factor * b.re) > abs(a.re).scaleb(20 - digits):
                return None
            factor, seen = (a.re / b.re if factor is None else factor), seen + 1
    return factor if seen >= 3 else None


def sign_at(node: Node, point: Point) -> int:
    """-1, 0 or 1. Raises ArithmeticError where the value is not real or not to be had."""
    try:
        found = exact_at(node, point)
        return (found > 0) - (found < 0)
    except Inexact:
        z = value(node, point, MIN_DIGITS + precision_for(node))
        if not is_real(z):
            raise Undefined("not real") from None
        return 0 if abs(z.re) < Decimal("1e-40") else 1 if z.re > 0 else -1


def _same_number(left: Node, right: Node) -> bool:
    try:
        a, b = exact(left), exact(right)
        return a == b or _is_printed(left, a, b) or _is_printed(right, b, a)
    except (Inexact, TooLarge):
        pass
    except Undefined:
        return False
    try:
        return _agree(left, right, {})
    except TooLarge:
        raise
    except Inexact:
        return _same_by_algebra(left, right)
    except ArithmeticError:
        return False


def _is_printed(node: Node, printed: Fraction, meant: Fraction) -> bool:
    if not isinstance(node, Number) or node.places < MACHINE_DIGITS or not printed or terminates(meant):
        return False
    last = Fraction(1)
    while abs(printed) / last >= 10**MACHINE_DIGITS:
        last *= 10
    while abs(printed) / last < 10 ** (MACHINE_DIGITS - 1):
        last /= 10
    return abs(printed - meant) < last


def terminates(number: Fraction) -> bool:
    """Whether it has a finite decimal: that one is to be written in full, 123456789012345.6 is no whole number."""
    rest = number.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def _agree_at(left: Node, right: Node, point: Point) -> tuple[bool, int]:
    """Whether the values agree, and how many of the two are real."""
    try:
        return exact_at(left, point) == exact_at(right, point), 2
    except (Inexact, TooLarge):
        a, b = (value(node, point, 30) for node in (left, right))
        return _agree(left, right, point), is_real(a) + is_real(b)


def _agree(left: Node, right: Node, point: Point) -> bool:
    """Raises TooLarge where numbers reach so far that a difference could be out of sight."""
    more = precision_for(left, right)
    coarse, size, reach = _difference(left, right, point, 30 + more)
    if coarse > size.scaleb(-8) and size > Decimal("1e-12"):
        return False
    more += 3 * reach
    if more > MAX_PRECISION and not point:
        raise TooLarge("too large to be told apart")
    digits = MIN_DIGITS + (min(more, MAX_POINT_DIGITS + precision_for(left, right)) if point else more)
    first, size, _ = _difference(left, right, point, digits)
    second, _, _ = _difference(left, right, point, 2 * digits)
    return second <= max(first, size.scaleb(10 - digits)).scaleb(-digits // 2)


def _difference(left: Node, right: Node, point: Point, digits: int) -> tuple[Decimal, Decimal, int]:
    """|left - right|, the larger of both sizes, and the largest exponent of ten on the way, of either sign."""
    (a, one), (b, other) = (measured(node, point, digits) for node in (left, right))
    gap = Complex(a.re - b.re, a.im - b.im)
    return _size(gap), max(_size(a), _size(b)), max(one, other)


def _size(z: Complex) -> Decimal:
    return max(abs(z.re), abs(z.im))
