r"""Reading of functions, fractions, roots, brackets, sets, matrices, sums over an index."""

from __future__ import annotations

from fractions import Fraction

from reasongym.verifiers.math.cursor import Cursor
from reasongym.verifiers.math.lexer import Token, Unreadable
from reasongym.verifiers.math.nodes import (
    MINUS_ONE,
    Call,
    Constant,
    FiniteSet,
    Group,
    Matrix,
    Node,
    Number,
    Power,
    Product,
    Relation,
    Sequence,
    Symbol,
    product,
    quotient,
    replaced,
)

__all__ = ["StructureReader"]

_SEVERAL_ARGUMENTS = frozenset(("gcd", "lcm", "max", "min", "binom"))
_TRIGONOMETRIC = ("sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh")
_INVERSE = {name: ("ar" if name.endswith("h") else "arc") + name for name in _TRIGONOMETRIC}
_TABLES = frozenset(("matrix", "pmatrix", "bmatrix", "Bmatrix", "smallmatrix", "array", "vmatrix"))


class StructureReader(Cursor):
    """Reads what has parts of its own."""

    def arguments(self) -> tuple[Node, ...]:
        self.take()
        found = self.listing()
        self.expect(")")
        return found.items if isinstance(found, Sequence) else (found,)

    def function(self, name: str) -> Node:
        base: Node | None = None
        if name == "log" and self.accept("_"):
            base = self.argument()
        exponent = self.exponent() if self.accept("^") else None
        items = self.function_arguments()
        if exponent == MINUS_ONE and name in _TRIGONOMETRIC:
            name, exponent = _INVERSE[name], None
        if len(items) > 1 and name not in _SEVERAL_ARGUMENTS:
            raise Unreadable(f"{name} of {len(items)} values")
        if name == "binom" and len(items) != 2:
            raise Unreadable(f"a binomial coefficient of {len(items)} values")
        node = _applied(name, items, base)
        return node if exponent is None else Power(node, exponent)

    def function_arguments(self) -> tuple[Node, ...]:
        if self.sees("("):
            return self.arguments()
        if self.sees("{", r"\{"):
            found = self.bracketed()
            return found.items if isinstance(found, Sequence | FiniteSet) else (found,)
        factors = [self.power()]
        while self.next.kind in ("number", "name", "constant") or self.next.text in ("frac", "sqrt"):
            if self.next.kind == "number":
                raise Unreadable("a number directly behind a value")
            factors.append(self.power())
        return (product(factors),)

    def structure(self, name: str) -> Node:
        match name:
            case "frac":
                return _fraction(self.argument(), self.argument())
            case "sqrt":
                index: Node = Number(Fraction(2))
                if self.accept("["):
                    index = self.expression()
                    self.expect("]")
                return Call("root", (self.whole_argument(), index))
            case "surd":
                return Call("root", (self.whole_argument(), Number(Fraction(2))))
            case "binom" | "dbinom" | "tbinom":
                return Call("binom", (self.argument(), self.argument()))
            case "infty":
                return Constant("inf")
            case "begin":
                return self.table()
            case "sum" | "prod":
                return self.series(name)
        raise Unreadable(f"\\{name} is not read")

    def argument(self) -> Node:
        r"""What a LaTeX command takes: a brace group, or one token, of a numeral one digit (`\frac34`)."""
        token = self.next
        if token.kind == "number" and len(token.text) > 1:
            self.tokens[self.at] = Token("number", token.text[1:])
            return Number(Token("number", token.text[0]).value)
        if token.kind == "number":
            self.take()
            return Number(token.value)
        return self.primary()

    def whole_argument(self) -> Node:
        r"""As `argument`, but a whole numeral: `\sqrt13` is meant as the root of 13."""
        return Number(self.take().value) if self.next.kind == "number" else self.primary()

    def series(self, name: str) -> Node:
        """A sum or product over a named index from one bound to the other."""
        high = self.argument() if self.accept("^") else None
        self.expect("_")
        self.expect("{")
        start = self.listing()
        self.expect("}")
        if high is None:
            self.expect("^")
            high = self.argument()
        match start:
            case Relation((Symbol() | Constant("i") as index, low), ("=",)):
                letter = Symbol(index.name)
                return Call(name, (replaced(self.product(), index, letter), letter, low, high))
        raise Unreadable(f"\\{name} without an index and a lower bound")

    def bracketed(self) -> Node:
        opening = self.take().text
        if opening in ("(", "["):
            return self.grouped(opening)
        if opening == "{":
            return self.braced()
        if opening == r"\{":
            return self.set_of()
        if opening == "|":
            self.bars = 1
            inside = self.listing()
            self.expect("|")
            return Call("abs", (inside,))
        if opening in ("lfloor", "lceil"):
            inside = self.expression()
            self.expect("r" + opening[1:])
            return Call("floor" if opening == "lfloor" else "ceil", (inside,))
        raise Unreadable(f"{opening!r} where a value belongs")

    def grouped(self, opening: str) -> Node:
        inside = self.listing()
        closing = self.expect(")", "]")
        items = inside.items if isinstance(inside, Sequence) and inside.joined in ",;" else ()
        if opening + closing not in ("()", "[]") and len(items) != 2:
            raise Unreadable("brackets of two kinds around what is no interval")
        return Group(opening, closing, items) if items else inside

    def braced(self) -> Node:
        inside = self.divided(self.listing())
        self.expect("}")
        return inside

    def divided(self, above: Node) -> Node:
        r"""`a \over b` and `n \choose k`, which take all that stands in their group."""
        if self.next == ("function", "binom", self.next.spaced):
            self.take()
            return Call("binom", (above, self.expression()))
        if self.next != ("structure", "over", self.next.spaced):
            return above
        self.take()
        return quotient(above, self.listing())

    def set_of(self) -> Node:
        r"""A finite set, or for `\{x : x > 2\}` the condition, which says the same."""
        if self.accept(r"\}"):
            return FiniteSet(())
        if self.tokens[self.at + 1].text in ("mid", "|", ":") and self.next.kind == "name":
            self.at += 2
            inside = self.listing()
            self.expect(r"\}")
            return inside
        inside = self.listing()
        self.expect(r"\}")
        return FiniteSet(inside.items if isinstance(inside, Sequence) else (inside,))

    def table(self) -> Node:
        self.expect("{")
        name = self.braced_text()
        if name not in _TABLES:
            raise Unreadable(f"the environment {name!r} is not read")
        if name == "array" and self.accept("{"):
            self.braced_text()
        rows: list[list[Node]] = [[]]
        while self.next != ("structure", "end", self.next.spaced):
            rows[-1].append(self.expression())
            if self.accept(r"\\"):
                rows.append([])
            elif not self.accept("&") and self.next.text != "end":
                raise Unreadable(f"{self.next.text!r} in a matrix")
        self.take()
        self.expect("{")
        self.braced_text()
        rows = [row for row in rows if row]
        if len({len(row) for row in rows}) != 1:
            raise Unreadable("a matrix with rows of different lengths")
        matrix = Matrix(tuple(tuple(row) for row in rows))
        return Call("det", (matrix,)) if name == "vmatrix" else matrix


def _fraction(above: Node, below: Node) -> Node:
    """The quotient; dy/dx is a name, and d/dx, which wants something to act on, is not read."""
    d = Symbol("d")
    match above, below:
        case Symbol("d"), Product((first, _)) if first == d:
            raise Unreadable("a derivative")
        case Product((one, Symbol(y))), Product((other, Symbol(x))) if one == other == d:
            return Symbol(f"d{y}/d{x}")
    return quotient(above, below)


def _applied(name: str, items: tuple[Node, ...], base: Node | None) -> Node:
    match name:
        case "exp":
            return Power(Constant("e"), items[0])
        case "sqrt":
            return Call("root", (items[0], Number(Fraction(2))))
        case "cbrt":
            return Call("root", (items[0], Number(Fraction(3))))
        case "log" | "lg":
            return Call("log", (items[0], base or Number(Fraction(10))))
        case _:
            return Call(name, items)
