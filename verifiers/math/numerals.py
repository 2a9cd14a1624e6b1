"""Numbers in a dress that says more than their value: ratios, residue classes, numerals to a base."""

from __future__ import annotations

from fractions import Fraction

from reasongym.verifiers.math.identity import same_value
from reasongym.verifiers.math.nodes import Based, Call, Node, Number, Ratio, quotient

__all__ = ["is_fraction", "same_based", "same_residue"]


def is_fraction(ratio: Ratio, value: Node) -> bool:
    """3:4 is 3/4, but 5:1 is not 5. What may be a time of day (11:21) is the fraction of the same two numbers alone."""
    if len(ratio.items) != 2 or (isinstance(value, Number) and (value.places or value.value.denominator == 1)):
        return False
    above, below = ratio.items
    if ratio.clock and not (isinstance(value, Number) and above == Number(Fraction(value.value.numerator))):
        return False
    return below != Number(Fraction(1)) and same_value(quotient(above, below), value)


def same_residue(left: Node, right: Node) -> bool:
    """The same class for the same modulus: 10 is 3 modulo 7. No class is a number."""
    match left, right:
        case Call("residue", (a, by)), Call("residue", (b, also_by)):
            return same_value(by, also_by) and same_value(Call("mod", (a, by)), Call("mod", (b, by)))
    return False


def same_based(left: Node, right: Node) -> bool:
    """The same numeral to the same base; a number without a base is one to base ten."""
    bases = [node.base if isinstance(node, Based) else 10 for node in (left, right)]
    return bases[0] == bases[1] and same_value(left, right)
