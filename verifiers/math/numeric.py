"""Values of trees in complex decimals, to any precision asked for, and how precise they must be to tell two apart."""

from __future__ import annotations

import decimal
import hashlib
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from reasongym.verifiers.math.decimals import FUNCTIONS, Complex, added, divided, logarithm, multiplied, pi, power, real
from reasongym.verifiers.math.exact import TooLarge, Undefined, exact_at
from reasongym.verifiers.math.nodes import Call, Constant, Node, Number, Power, Product, Sum, Symbol, Text, inner, key

__all__ = ["MAX_PRECISION", "Measured", "Point", "carrying", "hashed", "is_real", "measured", "precision_for", "value"]

Point = Mapping[str, Fraction]

MAX_PRECISION = 1_500
MAX_COST = 4_000
"""Operations in the trees, a power or function counted as twenty."""

MAX_WORK = 200_000_000
"""Of one evaluation: operations, each weighed by the square of the precision."""

_EXPONENTIAL = frozenset(("sinh", "cosh", "tanh", "coth"))
_EXACT = frozenset(("floor", "ceil", "max", "min", "gcd", "lcm", "factorial", "binom", "mod", "sum", "prod"))


class Measured(NamedTuple):
    """reach: the largest exponent of ten, of either sign, among the values on the way. 1 - tanh(100) shows in the 87th
    digit, 1 - cos(10^-50) in the 101st."""

    value: Complex
    reach: int


def value(node: Node, point: Point, precision: int) -> Complex:
    """The value where symbols have the point's values, with `precision` digits carried.

    A name called as a function, or words, stand for a value of their own, the same wherever they are the same.
    Raises ArithmeticError: TooLarge, Undefined, or one of decimal's.
    """
    return measured(node, point, precision).value


def measured(node: Node, point: Point, precision: int) -> Measured:
    """As `value`, with how far values on the way reach."""
    evaluation = _Evaluation(point, precision)
    with decimal.localcontext(carrying(precision)):
        found = evaluation.value(node)
    if not (found.re.is_finite() and found.im.is_finite()):
        raise Undefined("infinite")
    return Measured(found, evaluation.reach)


def carrying(precision: int) -> decimal.Context:
    """A decimal context of that many digits, wide enough for every bounded value; what has no value is trapped."""
    return decimal.Context(prec=precision, Emax=10**9, Emin=-(10**9), traps=[
        decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow])


def precision_for(*nodes: Node) -> int:
    """Digits beside the usual ones that the trees' own literals need: 65 digits of pi are not pi, 1 + 10^(-200) not 1.

    Raises TooLarge where that is more than MAX_PRECISION, and where the trees hold too many operations.
    """
    digits, cost = 0, 0
    pending = [(node, False) for node in nodes]
    while pending:
        node, in_sum = pending.pop()
        cost += 20 if isinstance(node, Call | Power) else 1
        digits += _digits(node) if in_sum or isinstance(node, Number) else 0
        pending += [(part, in_sum or isinstance(node, Sum)) for part in inner(node)]
    if digits > MAX_PRECISION or cost > MAX_COST:
        raise TooLarge("too large to be told apart")
    return digits


def _digits(node: Node) -> int:
    """How many digits a literal, a power of one or a factorial can shift a value by."""
    match node:
        case Number(number, _):
            return (number.numerator.bit_length() + number.denominator.bit_length()) // 4
        case Power(base, Number(exponent, _)):
            size = base.value if isinstance(base, Number) else Fraction(10)
            bits = max(size.numerator.bit_length(), size.denominator.bit_length())
            return _capped(exponent) * bits // 3
        case Call("factorial", (Number(n, _),)):
            return _capped(n) * 3
    return 0


def _capped(number: Fraction) -> int:
    return min(int(abs(number)), MAX_PRECISION)


def is_real(z: Complex) -> bool:
    return not z.im or abs(z.im) * 10**20 < abs(z.re)


def hashed(*texts: object) -> int:
    """A number of 64 bits that depends on nothing but the texts."""
    joined = "\x1f".join(map(str, texts)).encode(errors="replace")
    return int.from_bytes(hashlib.blake2b(joined, digest_size=8).digest(), "big")


class _Evaluation:
    def __init__(self, point: Point, precision: int) -> None:
        self.point = point
        self.cost = (precision + 20) ** 2
        self.work = 0
        self.reach = 0

    def value(self, node: Node) -> Complex:
        found = self.found(node)
        for part in found:
            if part:
                self.reach = max(self.reach, abs(part.adjusted()))
        return found

    def found(self, node: Node) -> Complex:
        self.work += self.cost
        if self.work > MAX_WORK:
            raise TooLarge("too much to evaluate")
        match node:
            case Number(number, _):
                return _decimal(number)
            case Symbol(name) if name in self.point:
                return _decimal(self.point[name])
            case Constant(name):
                return _constant(name)
            case Sum(items):
                return self.folded(added, items)
            case Product(items):
                return self.folded(multiplied, items)
            case Power(base, exponent):
                return power(self.value(base), self.value(exponent))
            case Call(name, items):
                return self.call(node, name, items)
            case Symbol() | Text():
                return self.opaque(node)
        return _decimal(exact_at(node, self.point))

    def folded(self, operation: Callable[[Complex, Complex], Complex], items: tuple[Node, ...]) -> Complex:
        found = self.value(items[0])
        for item in items[1:]:
            found = operation(found, self.value(item))
        return found

    def call(self, node: Node, name: str, items: tuple[Node, ...]) -> Complex:
        if name in _EXACT:
            return self.stepped(node, name, items)
        values = [self.value(item) for item in items]
        self.work += 20 * self.cost
        match name:
            case "root":
                return _root(values[0], values[1])
            case "log":
                return divided(logarithm(values[0]), logarithm(values[1]))
            case "abs":
                return Complex((values[0].re ** 2 + values[0].im ** 2).sqrt() if values[0].im else abs(values[0].re))
            case "deg":
                return multiplied(values[0], Complex(pi() / 180))
            case "pm" | "mp" | "det":
                raise Undefined(name)
        if name in _EXPONENTIAL:
            self.reach = max(self.reach, int(min(abs(values[0].re), Decimal(10**6))))
        function = FUNCTIONS.get(name)
        return function(values[0]) if function else self.opaque(node)

    def stepped(self, node: Node, name: str, items: tuple[Node, ...]) -> Complex:
        """Functions of whole numbers are exact or nothing; the others may have irrational real arguments."""
        if name not in ("floor", "ceil", "max", "min"):
            return _decimal(exact_at(node, self.point))
        values = [self.value(item) for item in items]
        if not all(map(is_real, values)):
            raise Undefined(f"{name} of a complex number")
        reals = [one.re for one in values]
        if name in ("max", "min"):
            return Complex(max(reals) if name == "max" else min(reals))
        rounding = decimal.ROUND_FLOOR if name == "floor" else decimal.ROUND_CEILING
        return Complex(reals[0].to_integral_value(rounding))

    def opaque(self, node: Node) -> Complex:
        seed = hashed(key(node), *sorted(self.point.items()))
        return _decimal(Fraction(seed % 10**9 + 10**8, 10**8 + seed % 7))


def _decimal(number: Fraction) -> Complex:
    return Complex(Decimal(number.numerator) / Decimal(number.denominator))


def _constant(name: str) -> Complex:
    match name:
        case "pi":
            return Complex(pi())
        case "e":
            return Complex(Decimal(1).exp())
        case "i":
            return Complex(Decimal(0), Decimal(1))
    raise Undefined("infinity")


def _root(z: Complex, index: Complex) -> Complex:
    """The principal root, but the real one of a negative number where the index is odd."""
    whole = not index.im and index.re == index.re.to_integral_value()
    if not z.im and whole and index.re == 2:
        size = abs(z.re).sqrt()
        return Complex(size) if z.re >= 0 else Complex(Decimal(0), size)
    if not z.im and whole and z.re < 0 and index.re % 2 == 1:
        positive = power(Complex(-z.re), divided(real(1), index))
        return Complex(-positive.re, -positive.im)
    return power(z, divided(real(1), index))
