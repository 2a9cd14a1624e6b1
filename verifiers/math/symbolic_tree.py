"""Trees as JSON for the process that runs SymPy, and back. What could grow there is refused here.

Names of symbols are replaced by s0, s1, ...: no text of an answer reaches SymPy.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from reasongym.verifiers.math.exact import Inexact, exact
from reasongym.verifiers.math.nodes import Calculus, Call, Constant, Node, Number, Power, Product, Sum, Symbol, walk

__all__ = ["Refused", "Writer"]

MAX_NODES = 120
MAX_BITS = 256
MAX_EXPONENT = 64
"""Of literal exponents in one another: their product."""

MAX_ARGUMENT = 200
"""Of a factorial or binomial coefficient."""

MAX_TERMS = 200
MAX_SYMBOLS = 10
_KNOWN = frozenset((
    "abs", "arccos", "arccot", "arccsc", "arcosh", "arcsec", "arcsin", "arctan", "arsinh", "artanh", "binom", "ceil",
    "cos", "cosh", "cot", "coth", "csc", "factorial", "floor", "ln", "log", "max", "min", "root", "sec", "sin", "sinh",
    "tan", "tanh"))
_FUNCTION_LETTERS = frozenset("fghFGH")
_BOUNDED = {"factorial": MAX_ARGUMENT, "binom": MAX_ARGUMENT, "root": MAX_EXPONENT}


class Refused(Exception):
    """The tree holds what is not asked about."""


class Writer:
    """Trees of one question: the same symbol has the same name in all of them."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def written(self, node: Node) -> list[Any]:
        """The tree as JSON. Raises Refused."""
        if len(walk(node)) > MAX_NODES:
            raise Refused("too many nodes")
        return self.part(node, 1)

    def part(self, node: Node, grows: int) -> list[Any]:
        """grows: the product of the literal exponents around it."""
        match node:
            case Number(value, _):
                if max(abs(value.numerator), value.denominator).bit_length() > MAX_BITS:
                    raise Refused("too many digits")
                return ["number", f"{value.numerator:x}", f"{value.denominator:x}"]
            case Symbol(name):
                return ["symbol", self.name(name)]
            case Constant(name):
                return ["constant", name]
            case Sum(items) | Product(items):
                return ["sum" if isinstance(node, Sum) else "product", *(self.part(item, grows) for item in items)]
            case Power(base, exponent):
                grows *= _literal(exponent, MAX_EXPONENT)
                if grows > MAX_EXPONENT:
                    raise Refused("exponents in one another")
                return ["power", self.part(base, grows), self.part(exponent, 1)]
            case Call("sum" | "prod" as name, items):
                return ["series", name, *(self.part(item, grows) for item in _dependable(items))]
            case Call(name, items) if name in _KNOWN:
                for item in items if name in _BOUNDED else ():
                    _literal(item, _BOUNDED[name])
                return ["call", name, *(self.part(item, grows) for item in items)]
            case Calculus(kind, items):
                _check_dependence(items[0], items[1])
                return ["calculus", kind, *(self.part(item, grows) for item in items)]
        raise Refused(type(node).__name__)

    def name(self, name: str) -> str:
        if name not in self.names and len(self.names) >= MAX_SYMBOLS:
            raise Refused("too many symbols")
        return self.names.setdefault(name, f"s{len(self.names)}")

    def read(self, tree: Any) -> Node:
        """The tree that the answer writes."""
        kind, *parts = tree
        match kind:
            case "number":
                return Number(Fraction(int(parts[0], 16), int(parts[1], 16)))
            case "symbol":
                return Symbol(next(name for name, short in self.names.items() if short == parts[0]))
            case "constant":
                return Constant(parts[0])
            case "sum":
                return Sum(tuple(map(self.read, parts)))
            case "product":
                return Product(tuple(map(self.read, parts)))
            case "power":
                return Power(self.read(parts[0]), self.read(parts[1]))
        return Call(parts[0], tuple(map(self.read, parts[1:])))


def _literal(node: Node, most: int) -> int:
    """The size of a number without symbols, 1 of anything else. Raises Refused where it is more than `most`."""
    try:
        size = abs(exact(node))
    except Inexact:
        return 1
    except ArithmeticError:
        raise Refused("no small number") from None
    if size > most:
        raise Refused("too large")
    return max(1, int(size))


def _dependable(items: tuple[Node, ...]) -> tuple[Node, ...]:
    """Of a sum or product. Raises Refused where it has too many terms, or a name depends on its index."""
    term, index, low, high = items
    _check_dependence(term, index)
    try:
        if exact(high) - exact(low) > MAX_TERMS:
            raise Refused("too many terms")
    except Inexact:
        pass
    except ArithmeticError:
        raise Refused("no small number") from None
    return items


def _check_dependence(body: Node, variable: Node) -> None:
    """a_n depends on n, f and y' on whatever they are written beside: to SymPy they would be constants."""
    for one in walk(body):
        if not isinstance(one, Symbol) or one == variable:
            continue
        letter, _, index = one.name.partition("_")
        inside = isinstance(variable, Symbol) and variable.name in index
        if inside or letter in _FUNCTION_LETTERS or letter.endswith("'"):
            raise Refused(f"{one.name} is no constant")
