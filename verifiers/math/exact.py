"""Exact values of trees, as rationals. What is too large is refused before it is computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from reasongym.verifiers.math.nodes import Based, Call, Node, Number, Power, Product, Ratio, Sum, Symbol

__all__ = ["Inexact", "TooLarge", "Undefined", "exact", "exact_at"]

MAX_BITS = 100_000
"""Of a numerator or denominator: 2006! has 19,000. All operands of one evaluation together may have ten times as many,
and at a point of symbols a fifth."""

MAX_FACTORIAL = 5_000
MAX_TERMS = 1_000

class Inexact(ArithmeticError):
    """The value is not rational, or holds something that has none."""


class TooLarge(ArithmeticError):
    """The value is outside the bounds of what is computed."""


class Undefined(ArithmeticError):
    """The expression has no value: a division by zero, a factorial of -1."""


def exact(node: Node) -> Fraction:
    """The value of a tree without symbols. Raises Inexact, TooLarge or Undefined."""
    if isinstance(node, Number):
        return node.value
    return _Evaluation({}, MAX_BITS).value(node)


def exact_at(node: Node, point: Mapping[str, Fraction]) -> Fraction:
    """The value where each symbol has the point's value. Raises as `exact`, within narrower bounds."""
    return _Evaluation(point, MAX_BITS // 5).value(node)


class _Evaluation:
    def __init__(self, point: Mapping[str, Fraction], max_bits: int) -> None:
        self.point = dict(point)
        self.max_bits = max_bits
        self.work = 0

    def value(self, node: Node) -> Fraction:
        match node:
            case Number(value, _):
                return value
            case Symbol(name) if name in self.point:
                return self.point[name]
            case Sum(items):
                return self.total([self.value(item) for item in items])
            case Product(items):
                found = Fraction(1)
                for item in items:
                    found = self.bounded(found * self.value(item))
                return found
            case Power(base, exponent):
                return self.power(self.value(base), self.value(exponent))
            case Call(name, items):
                return self.call(name, items)
            case Based(digits, base):
                return Fraction(int(digits, base))
            case Ratio((above, below), _):
                return self.power(self.value(below), Fraction(-1)) * self.value(above)
        raise Inexact(type(node).__name__)

    def total(self, values: list[Fraction]) -> Fraction:
        found = Fraction(0)
        for value in values:
            found = self.bounded(found + value)
        return found

    def bounded(self, value: Fraction) -> Fraction:
        bits = value.numerator.bit_length() + value.denominator.bit_length()
        self.work += bits
        if bits > 2 * self.max_bits or self.work > 10 * self.max_bits:
            raise TooLarge("too many digits")
        return value

    def power(self, base: Fraction, exponent: Fraction) -> Fraction:
        if exponent.denominator != 1:
            return self.power(root(base, exponent.denominator), Fraction(exponent.numerator))
        if base == 0 and exponent <= 0:
            raise Undefined("zero to a power that is not positive")
        if abs(base) == 1 or base == 0:
            return base if exponent % 2 else base * base
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if abs(exponent) * bits > self.max_bits:
            raise TooLarge("a power with too many digits")
        return self.bounded(base ** int(exponent))

    def call(self, name: str, items: tuple[Node, ...]) -> Fraction:
        if name in ("sum", "prod"):
            return self.series(name, *items)
        if name in _FUNCTIONS:
            return self.bounded(_FUNCTIONS[name](*(self.value(item) for item in items)))
        raise Inexact(name)

    def series(self, name: str, term: Node, index: Node, low: Node, high: Node) -> Fraction:
        first, last = self.value(low), self.value(high)
        if not isinstance(index, Symbol) or first.denominator != 1 or last.denominator != 1:
            raise Inexact(name)
        if last - first > MAX_TERMS:
            raise TooLarge("too many terms")
        outside = dict(self.point)
        found = Fraction(name == "prod")
        for n in range(int(first), int(last) + 1):
            self.point[index.name] = Fraction(n)
            value = self.value(term)
            found = self.bounded(found * value if name == "prod" else found + value)
        self.point = outside
        return found


def root(value: Fraction, index: int) -> Fraction:
    """The real root where it is rational. Raises Inexact elsewhere."""
    if value < 0:
        if index % 2 == 0:
            raise Inexact("an even root of a negative number")
        return -root(-value, index)
    if index > 64:
        raise Inexact("a root of high index")
    above, below = _whole_root(value.numerator, index), _whole_root(value.denominator, index)
    if above**index != value.numerator or below**index != value.denominator:
        raise Inexact("an irrational root")
    return Fraction(above, below)


def _whole_root(value: int, index: int) -> int:
    if index == 2 or value < 2:
        return math.isqrt(value) if index == 2 else value
    guess = 1 << -(-value.bit_length() // index)
    while True:
        better = ((index - 1) * guess + value // guess ** (index - 1)) // index
        if better >= guess:
            return guess
        guess = better


def _root(value: Fraction, index: Fraction) -> Fraction:
    if index.denominator != 1 or index < 2:
        raise Inexact("a root of that index")
    return root(value, int(index))


def _whole(value: Fraction) -> int:
    if value.denominator != 1:
        raise Inexact("not a whole number")
    return int(value)


def _factorial(value: Fraction) -> Fraction:
    n = _whole(value)
    if n < 0:
        raise Undefined("the factorial of a negative number")
    if n > MAX_FACTORIAL:
        raise TooLarge("a factorial with too many digits")
    return Fraction(math.factorial(n))


def _binomial(above: Fraction, below: Fraction) -> Fraction:
    n, k = _whole(above), _whole(below)
    if n < 0 or k < 0:
        raise Inexact("a binomial coefficient of negative numbers")
    if min(k, n - k) * n.bit_length() > MAX_BITS // 8:
        raise TooLarge("a binomial coefficient with too many digits")
    return Fraction(math.comb(n, k))


def _modulo(value: Fraction, by: Fraction) -> Fraction:
    if by == 0:
        raise Undefined("modulo zero")
    return value % by


def _logarithm(value: Fraction, base: Fraction) -> Fraction:
    """Of a whole power of the base. Raises Inexact elsewhere."""
    if value <= 0 or base <= 0 or base == 1:
        raise Inexact("a logarithm without a real value")
    if base < 1:
        return -_logarithm(value, 1 / base)
    if value < 1:
        return -_logarithm(1 / value, base)
    power, exponent = base, 1
    while power < value and exponent < 400:
        power, exponent = power * base, exponent + 1
    if value == 1 or power == value:
        return Fraction(0 if value == 1 else exponent)
    raise Inexact("an irrational logarithm")


_FUNCTIONS: dict[str, Callable[..., Fraction]] = {
    "root": _root, "abs": abs, "factorial": _factorial, "binom": _binomial, "mod": _modulo, "log": _logarithm,
    "floor": lambda value: Fraction(math.floor(value)), "ceil": lambda value: Fraction(math.ceil(value)),
    "max": lambda *values: max(values), "min": lambda *values: min(values),
    "gcd": lambda *values: Fraction(math.gcd(*map(_whole, values))),
    "lcm": lambda *values: Fraction(math.lcm(*map(_whole, values))),
}
