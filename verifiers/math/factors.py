"""Reading of what stands between operators: numerals, names, functions, brackets, fractions, roots, matrices."""

from __future__ import annotations

from fractions import Fraction

from reasongym.verifiers.math.calculus import CalculusReader
from reasongym.verifiers.math.lexer import Token, Unreadable
from reasongym.verifiers.math.nodes import MINUS_ONE, Based, Call, Constant, Node, Number, Power, Symbol, Text, product

__all__ = ["FactorReader"]

MAX_DOUBLE = 300
_CALLED = frozenset("fghFGH")
_BASES = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}


class FactorReader(CalculusReader):
    """Reads one factor: a numeral, a name, words, or a structure, with the exponent and signs behind it."""

    def power(self) -> Node:
        """A factor with its exponent and what is written behind it."""
        node = self.postfixed(self.primary())
        if self.accept("^"):
            node = self.postfixed(Power(node, self.exponent()))
        return node

    def postfixed(self, node: Node) -> Node:
        for _ in range(3):
            if self.accept("!"):
                node = self.factorial(node)
            elif self.accept("°"):
                node = Call("deg", (node,))
        return node

    def factorial(self, node: Node) -> Node:
        """n!, or for a literal n the double factorial n!!. Of a decimal no factorial is read."""
        if isinstance(node, Number) and (node.places or node.value < 0):
            raise Unreadable("the factorial of a decimal or negative number")
        if not self.accept("!"):
            return Call("factorial", (node,))
        if self.sees("!") or not isinstance(node, Number) or node.value.denominator != 1 or node.value > MAX_DOUBLE:
            raise Unreadable("a double factorial of what is no small whole number")
        return product([Number(Fraction(n)) for n in range(int(node.value), 0, -2)])

    def exponent(self) -> Node:
        with self.deeper():
            if self.accept("-"):
                return product([MINUS_ONE, self.power()])
            self.accept("+")
            return self.power()

    def primary(self) -> Node:
        with self.deeper():
            token = self.next
            if token.kind == "operator":
                return self.bracketed()
            self.take()
            if token.kind == "number":
                return self.numeral(token)
            if token.kind in ("name", "constant"):
                return self.named(token)
            if token.kind == "function":
                return self.function(token.text)
            if token.kind == "structure":
                return self.structure(token.text)
            if token.kind == "word":
                return self.words(token)
            raise Unreadable(f"{token.text or 'the end'!r} where a value belongs")

    def numeral(self, token: Token) -> Node:
        """A number with what belongs to it: a base, a recurring part, the fraction of a mixed number."""
        text = token.text.replace(",", "")
        whole = text.isdigit()
        if whole and self.accept("_"):
            return self.based(text)
        if self.next.text.startswith("repeat ") and "." in text:
            period = self.take().text.split()[1]
            shift = 10 ** len(text.partition(".")[2])
            return Number(token.value + Fraction(int(period), (10 ** len(period) - 1) * shift))
        part = self.mixed_part() if whole else None
        if part is not None:
            return Number(token.value + part)
        digits = text.lower().partition("e")[0].replace(".", "").lstrip("0")
        return Number(token.value, max(1, len(digits)) if "." in text else 0)

    def based(self, digits: str) -> Node:
        braced = self.accept("{")
        token = self.take()
        base = _BASES.get(token.text.lower(), int(token.text) if token.text.isdigit() and len(token.text) < 3 else 0)
        if braced:
            self.expect("}")
        if not 2 <= base <= 36 or any(int(digit) >= base for digit in digits):
            raise Unreadable(f"{digits} is no numeral to base {token.text}")
        return Based(digits.lstrip("0") or "0", base)

    def mixed_part(self) -> Fraction | None:
        r"""The proper fraction that follows a whole number directly: `1\frac{4}{5}`, `11 5/6`; else None."""
        start = self.at
        over: Node | None
        under: Node | None
        if self.next == ("structure", "frac", self.next.spaced):
            self.take()
            over, under = self.literal(), self.literal()
        elif self.next.kind == "number" and self.next.spaced:
            over = Number(self.take().value)
            under = Number(self.take().value) if self.accept("/") and self.next.kind == "number" else over
        else:
            return None
        if isinstance(over, Number) and isinstance(under, Number) and 0 < over.value < under.value:
            return over.value / under.value
        self.at = start
        return None

    def literal(self) -> Node | None:
        """An argument that is a number alone. Nothing else is read here: it would be read again, at each level."""
        if self.next.kind == "number":
            return self.argument()
        group = self.tokens[self.at:self.at + 3]
        if [token.text for token in group[::2]] != ["{", "}"] or group[1].kind != "number":
            return None
        self.at += 3
        return Number(group[1].value)

    def named(self, token: Token) -> Node:
        """A symbol with index and primes, or a name called as a function: f(x), P(A)."""
        name = token.text
        if name == "d" and (derivative := self.plain_derivative()):
            return derivative
        if self.accept("_"):
            name += f"_{self.index()}"
        while self.accept("'"):
            name += "'"
        if token.kind == "constant" and name == token.text:
            return Constant(name)
        if name[0] in _CALLED and [token.text for token in self.tokens[self.at:self.at + 6]] == list("^{-1}("):
            self.at += 5
            return Call(f"{name}^-1", self.arguments())
        if self.sees("(") and (name[0] in _CALLED or (name[0].isupper() and self.is_plain_call())):
            return Call(name, self.arguments())
        return Symbol(name)

    def is_plain_call(self) -> bool:
        """Whether the bracket holds one letter or number and nothing else: W(n), where 2K(x+1) is a product."""
        inside, closing = self.tokens[self.at + 1:self.at + 3] or [self.next, self.next]
        return inside.kind in ("name", "number") and closing.text == ")"

    def words(self, first: Token) -> Text:
        """Words up to the next token of another kind."""
        texts = [first.text]
        while self.next.kind == "word":
            texts.append(self.take().text)
        return Text(" ".join(" ".join(texts).lower().split()))
