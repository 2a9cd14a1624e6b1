r"""Reading of integrals, derivatives and limits.

Policies: an integral reaches to its differential, which may stand in the numerator of a fraction; a division behind
it is of the integrand (`\int dx/x`). A derivative takes the product behind it; dy/dx of a letter y is a name. A limit
takes the product behind it, or the sum where more of its terms hold the variable. Bound variables are renamed, so that
`\int_0^1 f(x)\,dx` and `\int_0^1 f(t)\,dt` are one tree.

Known false negatives: signs of double integrals, differentials before the integrand, integrals over a region,
derivatives taken at a place.
"""

from __future__ import annotations

from fractions import Fraction

from reasongym.verifiers.math.lexer import Token, Unreadable
from reasongym.verifiers.math.nodes import Calculus, Node, Number, Symbol, quotient, replaced, total, walk
from reasongym.verifiers.math.structures import StructureReader

__all__ = ["BOUND", "CalculusReader"]

BOUND = "\u222b"
"""Begins the name of a bound variable: no text can write it."""

MAX_ORDER = 9
_OPENING, _CLOSING = frozenset(("{", "(", "[", r"\{")), frozenset(("}", ")", "]", r"\}"))
_ENDS = frozenset((",", ";", "=", "<", ">", "<=", ">=", "!=", "~", "in"))
_ARROWS = frozenset(("to", "rightarrow", "longrightarrow", "Rightarrow"))
_SIDES = {f"{opening}{sign}{closing}": kind for sign, kind in (("+", "above"), ("-", "below"))
          for opening, closing in (("", ""), ("^", ""), ("^{", "}"))}
_SIGNS = frozenset(("d", "partial"))


class CalculusReader(StructureReader):
    """Reads what has a variable of its own."""

    def structure(self, name: str) -> Node:
        match name:
            case "int":
                return self.integral()
            case "lim":
                return self.limit()
            case "frac" if (found := self.derivative()) is not None:
                return found
        return super().structure(name)

    def integral(self) -> Node:
        limits = dict[str, Node]()
        while self.sees("_", "^"):
            sign = self.take().text
            limits[sign] = self.argument()
        if len(limits) == 1:
            raise Unreadable("an integral with one limit")
        body, variable = self.integrand()
        if not limits:
            return Calculus("integral", (body, variable))
        inside, letter = _bound_in(body, variable)
        return Calculus("integral", (inside, letter, limits["_"], limits["^"]))

    def integrand(self) -> tuple[Node, Symbol]:
        """What is integrated, and by which variable; the differential is taken."""
        place = self.differential()
        if place < 0:
            return self.integrand_of_fractions()
        self.tokens[place] = Token("operator", "differential")
        body = Number(Fraction(1)) if self.at == place else self.expression()
        self.expect("differential")
        variable = self.variable()
        if self.accept("/"):
            body = quotient(body, self.power())
        elif self.at == place + 2 and body == Number(Fraction(1)) and self.next.kind in ("name", "structure"):
            raise Unreadable("a differential before what is integrated")
        return body, variable

    def integrand_of_fractions(self) -> tuple[Node, Symbol]:
        r"""As `integrand`, of `\frac{dx}{x}`: without its differential a product is left."""
        place = self.differential_in_numerator()
        if place < 0:
            raise Unreadable("an integral without its differential")
        variable = Symbol(self.tokens[place + 1].text)
        sign = "+" if self.tokens[place - 1].text == "{" else "*"
        self.tokens[place:place + 2] = [Token("operator", sign), Token("number", "1")]
        return self.product(), variable

    def differential(self) -> int:
        """Where the differential of the integral stands that was just begun, those inside it left out; else -1."""
        depth = nested = 0
        for at in range(self.at, len(self.tokens)):
            token = self.tokens[at]
            depth += (token.text in _OPENING) - (token.text in _CLOSING)
            if depth < 0 or (depth == 0 and token.text in _ENDS):
                break
            nested += depth == 0 and token.text == "int"
            if depth == 0 and self.is_differential(at):
                if not nested:
                    return at
                nested -= 1
        return -1

    def differential_in_numerator(self) -> int:
        """The same where it ends the numerator of a fraction of the product that follows."""
        depth, opening = 0, 0
        for at in range(self.at, len(self.tokens)):
            token = self.tokens[at]
            depth += (token.text in _OPENING) - (token.text in _CLOSING)
            opening = at if depth == 1 and token.text in _OPENING else opening
            if depth < 0 or (depth == 0 and (token.text in _ENDS or token.text == "int")):
                break
            if depth == 0 and token.text in ("+", "-") and at > self.at:
                break
            ends = depth == 1 and self.is_differential(at) and self.tokens[at + 2].text == "}"
            if ends and self.tokens[opening - 1].text == "frac":
                return at
        return -1

    def is_differential(self, at: int) -> bool:
        token, behind = self.tokens[at:at + 2] if at + 1 < len(self.tokens) else (self.tokens[-1], self.tokens[-1])
        return token.text in ("d", "differential") and behind.kind == "name"

    def variable(self) -> Symbol:
        """A name with its index."""
        token = self.take()
        if token.kind != "name":
            raise Unreadable(f"{token.text or 'the end'!r} where a variable belongs")
        return Symbol(f"{token.text}_{self.index()}" if self.accept("_") else token.text)

    def limit(self) -> Node:
        self.expect("_")
        self.expect("{")
        variable = self.variable()
        if self.next.text in _ARROWS:
            self.take()
        else:
            self.expect("-")
            self.expect(">")
        self.mark_side()
        place = self.expression()
        kind = self.take().text if self.sees(*_SIDES.values()) else "limit"
        self.expect("}")
        body = self.approached(variable)
        inside, letter = _bound_in(body, variable)
        return Calculus(kind, (inside, letter, place))

    def mark_side(self) -> None:
        """Make one operator of the sign that ends the place of a limit: `0^+`, `0^{+}`, `0+`."""
        end = self.closing(self.at)
        for length in (4, 2, 1):
            start = max(end - length, self.at + 1)
            kind = _SIDES.get("".join(token.text for token in self.tokens[start:end]))
            if kind:
                self.tokens[start:end] = [Token("operator", kind)]
                return

    def closing(self, at: int) -> int:
        """Where the group closes that is open at `at`, or the end."""
        depth = 0
        while self.tokens[at].kind != "end" and (depth or self.tokens[at].text not in _CLOSING):
            depth += (self.tokens[at].text in _OPENING) - (self.tokens[at].text in _CLOSING)
            at += 1
        return at

    def approached(self, variable: Symbol) -> Node:
        """What the limit is of. Nothing is read twice: limits in one another would double the work each time."""
        first = self.product()
        group = self.tokens[self.at:self.closing(self.at)]
        ends = next((n for n, token in enumerate(group) if token.text in _ENDS), len(group))
        if self.sees("+", "-") and any(token.text == variable.name for token in group[:ends]):
            return total([first, self.expression()])
        return first

    def derivative(self) -> Node | None:
        r"""`\frac{d}{dx}` with what it acts on, `\frac{d^2 y}{dx^2}`, the same with `\partial`; None for a fraction."""
        start, behind = self.at, self.tokens[self.at + 2:self.at + 3]
        if not (self.accept("{") and self.next.text in _SIGNS and behind[0].text not in ("+", "-", "*", "/")):
            self.at = start
            return None
        sign = self.take().text
        order, inside_at = self.order(), self.at
        self.at = self.closing(self.at) + 1
        variables = self.differentials(sign)
        if not order or sum(times for _, times in variables) != order:
            self.at = start
            return None
        self.at = inside_at
        inside = None if self.sees("}") else self.product()
        self.expect("}")
        self.differentials(sign)
        return differentiated(sign, self.product() if inside is None else inside, variables)

    def differentials(self, sign: str) -> list[tuple[Symbol, int]]:
        """The group of differentials that is a derivative's denominator; empty for any other group."""
        found = list[tuple[Symbol, int]]()
        if not (self.at < len(self.tokens) and self.accept("{")):
            return found
        while self.next.text == sign and self.tokens[self.at + 1].kind == "name":
            self.take()
            found.append((self.variable(), self.order()))
        return found if self.accept("}") else []

    def order(self) -> int:
        """The exponent that counts differentiations: 1 where none is written, 0 where it is no small number."""
        if not self.accept("^"):
            return 1
        text = self.index()
        return int(text) if text.isdigit() and int(text) <= MAX_ORDER else 0

    def plain_derivative(self) -> Node | None:
        """`d/dx` with what it acts on, and `dy/dx`, behind their first d; None for a product with a letter d."""
        texts = [token.text for token in self.tokens[self.at:self.at + 4]]
        names = [token.kind == "name" and not token.spaced for token in self.tokens[self.at:self.at + 4]]
        if texts[:2] == ["/", "d"] and names[1:3] == [True, True]:
            self.at += 3
            return differentiated("d", self.product(), [(Symbol(texts[2]), 1)])
        if texts[1:3] == ["/", "d"] and names == [True, False, True, True]:
            self.at += 4
            return differentiated("d", Symbol(texts[0]), [(Symbol(texts[3]), 1)])
        return None


def differentiated(sign: str, inside: Node, variables: list[tuple[Symbol, int]]) -> Node:
    """The derivative; that of another letter than its variables is a name of its own."""
    if isinstance(inside, Symbol) and not any(inside == variable for variable, _ in variables):
        order = sum(times for _, times in variables)
        below = "".join(f"{sign}{variable.name}{_power(times)}" for variable, times in variables)
        return Symbol(f"{sign}{_power(order)}{inside.name}/{below}")
    for variable, times in variables:
        inside = Calculus("derivative", (inside, variable, Number(Fraction(times))))
    return inside


def _bound_in(body: Node, variable: Symbol) -> tuple[Node, Symbol]:
    """The body with its variable renamed. Raises Unreadable where a name depends on it: a_n would stay behind."""
    for one in walk(body):
        if isinstance(one, Symbol) and variable.name in one.name.partition("_")[2]:
            raise Unreadable(f"{one.name} depends on {variable.name}")
    levels = [int(one.name.removeprefix(BOUND)) for one in walk(body)
              if isinstance(one, Symbol) and one.name.startswith(BOUND)]
    letter = Symbol(f"{BOUND}{1 + max(levels, default=0)}")  # by what is bound inside, not by what is written
    return replaced(body, variable, letter), letter


def _power(exponent: int) -> str:
    return f"^{exponent}" if exponent > 1 else ""
