"""A place in a list of tokens, and how it moves. What is read at one is said in the classes that follow from it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from reasongym.verifiers.math.lexer import Token, Unreadable
from reasongym.verifiers.math.nodes import Node

__all__ = ["Cursor"]

MAX_DEPTH = 30
"""Of brackets, braces, roots and exponents in one another; a level takes a dozen frames of Python's stack."""


class Cursor:
    """The tokens with the next one's index. The parts of the grammar that call one another are declared here."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0
        self.bars = 0

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    def take(self) -> Token:
        token = self.tokens[self.at]
        self.at += token.kind != "end"
        return token

    def sees(self, *signs: str) -> bool:
        return self.next.kind == "operator" and self.next.text in signs

    def accept(self, sign: str) -> bool:
        seen = self.sees(sign)
        self.at += seen
        return seen

    def expect(self, *signs: str) -> str:
        """Take one of the operators. Raises Unreadable where another token stands."""
        if not self.sees(*signs):
            raise Unreadable(f"{' or '.join(signs)} is missing before {self.next.text or 'the end'!r}")
        return self.take().text

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """One level further down, where bars that were opened outside do not close. Raises Unreadable too deep."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Unreadable(f"nested more than {MAX_DEPTH} deep")
        bars, self.bars = self.bars, 0
        yield
        self.bars = bars
        self.depth -= 1

    def index(self) -> str:
        """The text of a subscript, in braces or one token."""
        return self.braced_text() if self.accept("{") else self.take().text

    def braced_text(self) -> str:
        """The texts up to the brace that closes, which is taken. Raises Unreadable without one, or with one inside."""
        texts = list[str]()
        while not self.sees("}"):
            if self.next.kind == "end" or len(texts) > 20 or self.sees("{"):
                raise Unreadable("an index without end")
            texts.append(self.take().text)
        self.take()
        return "".join(texts)

    def listing(self) -> Node:
        raise NotImplementedError

    def expression(self) -> Node:
        raise NotImplementedError

    def product(self) -> Node:
        raise NotImplementedError

    def power(self) -> Node:
        raise NotImplementedError

    def primary(self) -> Node:
        raise NotImplementedError

    def exponent(self) -> Node:
        raise NotImplementedError
