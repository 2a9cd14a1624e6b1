"""Complex arithmetic on `decimal.Decimal`, at the precision of the current decimal context.

Principal values throughout. Arguments outside the bounds raise TooLarge before any work, the logarithm of zero
Undefined, a division by zero decimal.DivisionByZero or decimal.InvalidOperation: all are ArithmeticError.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from reasongym.verifiers.math.exact import TooLarge, Undefined

__all__ = ["FUNCTIONS", "Complex", "added", "divided", "logarithm", "multiplied", "pi", "power", "real"]

MAX_EXPONENTIAL = 100_000
MAX_ANGLE_DIGITS = 40
_ZERO, _ONE, _TWO = Decimal(0), Decimal(1), Decimal(2)


class Complex(NamedTuple):
    re: Decimal
    im: Decimal = _ZERO


def real(value: int | Decimal) -> Complex:
    return Complex(Decimal(value))


def pi() -> Decimal:
    return +_pi(decimal.getcontext().prec)


@lru_cache(maxsize=16)
def _pi(precision: int) -> Decimal:
    """Machin's formula, pi = 16 arctan(1/5) - 4 arctan(1/239), in whole numbers with ten digits to spare."""
    one: int = 10 ** (precision + 10)

    def arctan_of_inverse(n: int) -> int:
        power, sum_of_terms, k, sign = one // n, one // n, 1, 1
        while power:
            power, k, sign = power // (n * n), k + 2, -sign
            sum_of_terms += sign * (power // k)
        return sum_of_terms

    return Decimal(16 * arctan_of_inverse(5) - 4 * arctan_of_inverse(239)).scaleb(-precision - 10)


def added(a: Complex, b: Complex) -> Complex:
    return Complex(a.re + b.re, a.im + b.im)


def multiplied(a: Complex, b: Complex) -> Complex:
    if not a.im and not b.im:
        return Complex(a.re * b.re)
    return Complex(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)


def divided(a: Complex, b: Complex) -> Complex:
    if not b.im:
        return Complex(a.re / b.re, a.im / b.re if a.im else _ZERO)
    size = b.re * b.re + b.im * b.im
    above = multiplied(a, Complex(b.re, -b.im))
    return Complex(above.re / size, above.im / size)


def power(base: Complex, exponent: Complex) -> Complex:
    """base ** exponent; a whole exponent by repeated multiplication, others by the principal logarithm."""
    if not exponent.im and exponent.re == exponent.re.to_integral_value():
        return _whole_power(base, exponent.re)
    if not base.re and not base.im:
        if exponent.re > 0:
            return real(0)
        raise Undefined("zero to a power that is not positive")
    return _exponential(multiplied(exponent, logarithm(base)))


def _whole_power(base: Complex, exponent: Decimal) -> Complex:
    if not base.re and not base.im and exponent <= 0:
        raise Undefined("zero to a power that is not positive")
    size = max(abs(base.re.adjusted()) if base.re else 0, abs(base.im.adjusted()) if base.im else 0, 1)
    if abs(exponent) * size > 10 * MAX_EXPONENTIAL:
        raise TooLarge("a power with too many digits")
    n = abs(int(exponent))
    if not base.im:
        found = Complex(base.re**n)
    else:
        found = real(1)
        while n:
            found = multiplied(found, base) if n % 2 else found
            base, n = multiplied(base, base), n // 2
    return found if exponent >= 0 else divided(real(1), found)


def logarithm(z: Complex) -> Complex:
    if not z.im and not z.re:
        raise Undefined("the logarithm of zero")  # decimal has an infinity for it, which would equal any other
    if not z.im and z.re > 0:
        return Complex(z.re.ln())
    size = (z.re * z.re + z.im * z.im).ln() / 2
    return Complex(size, _angle(z))


def _angle(z: Complex) -> Decimal:
    """The argument, in (-pi, pi]."""
    if not z.im:
        return _ZERO if z.re > 0 else pi()
    if abs(z.re) >= abs(z.im):
        angle = _arctan(z.im / z.re)
        return angle if z.re > 0 else angle + pi().copy_sign(z.im)
    return (pi() / 2).copy_sign(z.im) - _arctan(z.re / z.im)


def _arctan(x: Decimal) -> Decimal:
    """|x| <= 1, halved four times: arctan x = 2 arctan(x / (1 + sqrt(1 + x^2))), then the series."""
    for _ in range(4):
        x = x / (1 + (1 + x * x).sqrt())
    square, term, total, k = x * x, x, x, 1
    while term and term.adjusted() > total.adjusted() - decimal.getcontext().prec - 3:
        term, k = -term * square, k + 2
        total += term / k
    return 16 * total


def _exponential(z: Complex) -> Complex:
    if abs(z.re) > MAX_EXPONENTIAL:
        raise TooLarge("an exponential with too many digits")
    size = z.re.exp()
    if not z.im:
        return Complex(size)
    sine, cosine = _sine_and_cosine(z.im)
    return Complex(size * cosine, size * sine)


def _sine_and_cosine(x: Decimal) -> tuple[Decimal, Decimal]:
    """Of a real angle: reduced to [-pi/4, pi/4] with digits to spare, then the series of the sine."""
    if x and x.adjusted() > MAX_ANGLE_DIGITS:
        raise TooLarge("an angle with too many digits")
    with decimal.localcontext() as context:
        context.prec += max(0, x.adjusted() if x else 0) + 10
        quarter = pi() / 2
        turns = (x / quarter).to_integral_value()
        rest = x - turns * quarter
        sine = _sine(rest)
        cosine = ((1 - sine) * (1 + sine)).sqrt()
        n = int(turns) % 4
        found = ((sine, cosine), (cosine, -sine), (-sine, -cosine), (-cosine, sine))[n]
    return +found[0], +found[1]


def _sine(x: Decimal) -> Decimal:
    x = x / 3**6  # six times the formula of the triple angle, sin 3t = 3 sin t - 4 sin^3 t
    square, term, total, k = x * x, x, x, 1
    while term and term.adjusted() > total.adjusted() - decimal.getcontext().prec - 3:
        term = -term * square / ((k + 1) * (k + 2))
        total, k = total + term, k + 2
    for _ in range(6):
        total = 3 * total - 4 * total**3
    return total


def _sin(z: Complex) -> Complex:
    sine, cosine = _sine_and_cosine(z.re)
    if not z.im:
        return Complex(sine)
    up, down = _exponential(Complex(z.im)).re, _exponential(Complex(-z.im)).re
    return Complex(sine * (up + down) / 2, cosine * (up - down) / 2)


def _cos(z: Complex) -> Complex:
    sine, cosine = _sine_and_cosine(z.re)
    if not z.im:
        return Complex(cosine)
    up, down = _exponential(Complex(z.im)).re, _exponential(Complex(-z.im)).re
    return Complex(cosine * (up + down) / 2, -sine * (up - down) / 2)


def _sinh(z: Complex) -> Complex:
    return _over_two(added(_exponential(z), _negated(_exponential(_negated(z)))))


def _cosh(z: Complex) -> Complex:
    return _over_two(added(_exponential(z), _exponential(_negated(z))))


def _arcsin(z: Complex) -> Complex:
    """-i ln(iz + sqrt(1 - z^2)); real in [-1, 1], where the formula is taken by parts so as to stay real."""
    if not z.im and abs(z.re) <= 1:
        return Complex(_angle(Complex((1 - z.re * z.re).sqrt(), z.re)))
    root = power(added(real(1), _negated(multiplied(z, z))), Complex(Decimal("0.5")))
    found = logarithm(added(Complex(-z.im, z.re), root))
    return Complex(found.im, -found.re)


def _arccos(z: Complex) -> Complex:
    return added(Complex(pi() / 2), _negated(_arcsin(z)))


def _arctangent(z: Complex) -> Complex:
    if not z.im:
        return Complex(_angle(Complex(_ONE, z.re)))
    turned = Complex(-z.im, z.re)
    found = added(logarithm(added(real(1), _negated(turned))), _negated(logarithm(added(real(1), turned))))
    return Complex(-found.im / 2, found.re / 2)


def _arsinh(z: Complex) -> Complex:
    return logarithm(added(z, power(added(multiplied(z, z), real(1)), Complex(Decimal("0.5")))))


def _arcosh(z: Complex) -> Complex:
    half = Complex(Decimal("0.5"))
    return logarithm(added(z, multiplied(power(added(z, real(-1)), half), power(added(z, real(1)), half))))


def _artanh(z: Complex) -> Complex:
    return _over_two(added(logarithm(added(real(1), z)), _negated(logarithm(added(real(1), _negated(z))))))


def _negated(z: Complex) -> Complex:
    return Complex(-z.re, -z.im)


def _over_two(z: Complex) -> Complex:
    return Complex(z.re / _TWO, z.im / _TWO)


def _inverted(function: Callable[[Complex], Complex]) -> Callable[[Complex], Complex]:
    return lambda z: divided(real(1), function(z))


def _of_inverse(function: Callable[[Complex], Complex]) -> Callable[[Complex], Complex]:
    return lambda z: function(divided(real(1), z))


FUNCTIONS: dict[str, Callable[[Complex], Complex]] = {
    "sin": _sin, "cos": _cos, "tan": lambda z: divided(_sin(z), _cos(z)), "cot": lambda z: divided(_cos(z), _sin(z)),
    "sec": _inverted(_cos), "csc": _inverted(_sin), "sinh": _sinh, "cosh": _cosh,
    "tanh": lambda z: divided(_sinh(z), _cosh(z)), "coth": lambda z: divided(_cosh(z), _sinh(z)), "ln": logarithm,
    "arcsin": _arcsin, "arccos": _arccos, "arctan": _arctangent, "arsinh": _arsinh, "arcosh": _arcosh,
    "artanh": _artanh, "arccot": _of_inverse(_arctangent), "arcsec": _of_inverse(_arccos),
    "arccsc": _of_inverse(_arcsin),
}
"""Functions of one value by the name a tree has them under."""
