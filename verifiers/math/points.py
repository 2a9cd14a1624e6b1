"""The points at which two expressions are compared: they follow from a hash of both, so that no answer can be made to
vanish at them.

Both signs and several magnitudes. Where a function has a bend (min, max, mod, floor, absolute values, roots), two more
lie beyond any place where the expressions' own numbers could put it: `min(x, 10^6)` is not x.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from reasongym.verifiers.math.exact import TooLarge, exact
from reasongym.verifiers.math.nodes import Call, Node, Number, Symbol, inner, key, walk
from reasongym.verifiers.math.numeric import Point, hashed

__all__ = ["points"]

POINTS = 8
MAX_REACH_BITS = 1_200
"""Of a far point: with larger numbers in them, expressions with a bend are not compared."""

_OF_WHOLE_NUMBERS = frozenset(("factorial", "binom", "gcd", "lcm", "mod", "sum", "prod"))
_BENT = frozenset(("abs", "ceil", "floor", "gcd", "lcm", "max", "min", "mod"))


def points(left: Node, right: Node, names: list[str]) -> Iterator[Point]:
    """Eight points, and two far ones where needed. Raises TooLarge where those would be too far."""
    seed = hashed(key(left), key(right))
    nodes = [*walk(left), *walk(right)]
    whole = any(isinstance(one, Call) and one.name in _OF_WHOLE_NUMBERS for one in nodes)
    literals = [min(abs(one.value), Fraction(10**6)) for one in nodes if isinstance(one, Number)]
    beyond_literals = 5 * int(max(literals, default=0)) + 30
    for n in range(POINTS):
        if whole:
            yield {name: Fraction(6 + hashed(seed, n, name) % (10 + 4 * n)) for name in names}
            continue
        reach = (1, 3, 10, beyond_literals)[n // 2]
        yield {name: _coordinate(hashed(seed, n, name), reach, -1 if (n + (i > 0) * (n // 3)) % 2 else 1)
               for i, name in enumerate(names)}
    calls = [one for one in nodes if isinstance(one, Call)]
    if not any(one.name in _BENT or (not whole and _is_root_of_symbols(one)) for one in calls):
        return
    bits = 4 + _bits(left) + _bits(right)
    if bits > MAX_REACH_BITS:
        raise TooLarge("a bend too far away")
    for n, sign in enumerate((1, -1)):
        yield {name: (sign << bits) + Fraction(sign * (hashed(seed, POINTS + n, name) % (1 << min(bits, 60))))
               for name in names}


def _coordinate(seed: int, reach: int, sign: int) -> Fraction:
    """A rational of size between a fifth of the reach and twice the reach."""
    return sign * reach * Fraction(200 + seed % 1801, 1000 + seed // 4096 % 7)


def _is_root_of_symbols(call: Call) -> bool:
    return call.name == "root" and any(isinstance(one, Symbol) for one in walk(call.items[0]))


def _bits(node: Node) -> int:
    """Binary digits of the largest number that can be made of the tree's numbers: all of them together."""
    if not any(isinstance(one, Symbol) for one in walk(node)):
        try:
            found = exact(node)
            return found.numerator.bit_length() + found.denominator.bit_length()
        except TooLarge:
            return MAX_REACH_BITS + 1
        except ArithmeticError:
            pass
    bits = 0
    for part in inner(node):
        bits += _bits(part)
        if bits > MAX_REACH_BITS:  # no more is asked, and the rest may be large
            break
    return bits
