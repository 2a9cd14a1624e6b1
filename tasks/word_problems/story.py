"""What a template writes with: people, units, numbers, and a ledger that keeps each step's arithmetic exact."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

__all__ = ["TEMPLATES", "Holding", "Story", "Template", "count", "plural", "template"]

Holding = Literal["things", "money", "nothing"]
"""What the main person has when a template ends, and so which events may follow."""

T = TypeVar("T")

_WOMEN = ("Amina", "Beatriz", "Chloe", "Dina", "Elif", "Freya", "Grace", "Hana", "Ines", "Julia", "Keiko", "Leila",
          "Maria", "Nadia", "Olga", "Priya", "Rosa", "Sofia", "Tamar", "Wanjiru", "Xin", "Yara", "Zoe", "Anneke")
_MEN = ("Ahmed", "Boris", "Carlos", "Daniel", "Emeka", "Felix", "Gustav", "Hassan", "Ivan", "Jamal", "Kenji", "Luca",
        "Mateo", "Noah", "Omar", "Pavel", "Rafael", "Samuel", "Tariq", "Umberto", "Viktor", "Wei", "Yusuf", "Arjun")
_CURRENCIES = (("$", "dollar"), ("$", "dollar"), ("€", "euro"), ("£", "pound"))
_IRREGULAR = {"child": "children", "person": "people", "scarf": "scarves", "tomato": "tomatoes"}


@dataclass(frozen=True, slots=True)
class Template:
    """A hand-written story. steps: how many it takes before any event follows. holds: which events may follow."""

    name: str
    steps: int
    holds: Holding
    write: Callable[[Story], None]


TEMPLATES: dict[str, Template] = {}


def template(*, steps: int, holds: Holding = "nothing") -> Callable[[Callable[[Story], None]], Callable[[Story], None]]:
    """Register a function as the template of its own name. Raises ValueError for a name that is taken."""

    def register(write: Callable[[Story], None]) -> Callable[[Story], None]:
        name = write.__name__
        if name in TEMPLATES:
            raise ValueError(f"two word-problem templates are named {name!r}; rename one")
        TEMPLATES[name] = Template(name, steps, holds, write)
        return write

    return register


def plural(unit: str) -> str:
    """apple -> apples, box of nails -> boxes of nails. Irregular nouns are listed at the head of the file."""
    head, of, rest = unit.partition(" of ")
    before, space, noun = head.rpartition(" ")
    if noun in _IRREGULAR:
        noun = _IRREGULAR[noun]
    elif noun.endswith(("s", "x", "ch", "sh")):
        noun += "es"
    elif noun.endswith("y") and noun[-2] not in "aeiou":
        noun = noun[:-1] + "ies"
    else:
        noun += "s"
    return before + space + noun + of + rest


def count(number: int, unit: str) -> str:
    """1 apple, 2 apples."""
    return f"{number} {unit if number == 1 else plural(unit)}"


class Story:
    """A problem while it is written: sentences, worked lines, and the running result."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.is_woman = rng.random() < 0.5
        self.name = rng.choice(_WOMEN if self.is_woman else _MEN)
        self.friend = rng.choice([name for name in _WOMEN + _MEN if name != self.name])
        self.symbol, self.coin = rng.choice(_CURRENCIES)
        self.sentences: list[str] = []
        self.lines: list[str] = []
        self.operations: list[str] = []
        self.result = 0
        self.unit = ""
        self.question = ""

    @property
    def she(self) -> str:
        return "she" if self.is_woman else "he"

    @property
    def her(self) -> str:
        """The possessive: her book, his book."""
        return "her" if self.is_woman else "his"

    def number(self, low: int, high: int) -> int:
        """An integer from `low` to `high`, both included."""
        return self._rng.randint(low, high)

    def pick(self, *choices: T) -> T:
        return self._rng.choice(choices)

    def money(self, amount: int) -> str:
        return f"{self.symbol}{amount}"

    def say(self, sentence: str) -> None:
        """Add a sentence; its first letter becomes a capital."""
        self.sentences.append(sentence[0].upper() + sentence[1:])

    def step(self, lead: str, a: int, operation: str, b: int, unit: str) -> int:
        """Work one step: writes "{lead} a + b = c units." and returns c.

        Raises ValueError where the result is not a positive integer: the template is at fault.
        """
        exact = {"+": a + b, "-": a - b, "*": a * b, "/": a // b}[operation]
        if exact <= 0 or (operation == "/" and a % b):
            raise ValueError(f"{lead} {a} {operation} {b}: steps give positive integers")
        self.lines.append(f"{lead[0].upper()}{lead[1:]} {a} {operation} {b} = {count(exact, unit)}.")
        self.operations.append(f"{a}{operation}{b}")
        self.result, self.unit = exact, unit
        return exact

    def ask(self, question: str) -> None:
        """The question about the last step's result, asked when no event follows."""
        self.question = question
