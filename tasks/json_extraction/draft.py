"""A document in the making: what it says, in which words, and where each thing belongs in the JSON value.

A kind of document states facts, rows and asides; the level decides which of them are used and how they are written:

| level | facts | nesting | list | asides | written in other units or forms |
|---|---|---|---|---|---|
| 1 | 3 | none | none | 0 | no |
| 2 | 5 | none | none | 1 | no |
| 3 | 5 | objects | of texts or numbers | 1 | yes |
| 4 | 6 | objects | of 2 or 3 objects | 2 | yes |
| 5 | all | objects | of 3 to 5 objects | 3 | yes, and one thing may be missing (null) |

An aside names something of the same look in another role (an older invoice's number) and is never part of the value.
No name, place, code or number word is drawn twice in one document.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from reasongym.tasks.json_extraction.words import CITIES, FIRST_NAMES, LAST_NAMES, MONTHS

__all__ = ["KINDS", "PLANS", "Draft", "Fact", "Row", "Rows", "Written", "kind"]

_TRIES = 200


Drawn = TypeVar("Drawn")


class Written(NamedTuple):
    """One thing: as the text has it, as the value has it, its type, and the rule that leads from text to value."""

    text: str
    value: object
    type: str
    rule: str = ""


class Fact(NamedTuple):
    """path: where it belongs in the value. sentence: of the text, {} for the thing. meaning: for the schema."""

    path: tuple[str, ...]
    written: Written
    sentence: str
    meaning: str


Row = dict[str, Written]


class Rows(NamedTuple):
    """A list: `line` says each row, with {its fields}."""

    name: str
    rows: list[Row]
    line: str
    meaning: str


class _Plan(NamedTuple):
    """What a level uses: how many facts, how many rows at least and at most, how many asides."""

    facts: int
    rows: tuple[int, int]
    asides: int


PLANS = {1: _Plan(3, (0, 0), 0), 2: _Plan(5, (0, 0), 1), 3: _Plan(5, (2, 4), 1), 4: _Plan(6, (2, 3), 2),
          5: _Plan(99, (3, 5), 3)}


class Draft:
    """What a kind's function fills in. Everything random comes from `rng`, so the same row is the same document."""

    def __init__(self, rng: random.Random, level: int) -> None:
        self.rng = rng
        self.level = level
        self.heading = ""
        self.facts: list[Fact] = []
        self.list: Rows | None = None
        self.asides: list[str] = []
        self._used: set[object] = set()

    # --- what a kind says ---

    def title(self, text: str) -> None:
        self.heading = text

    def fact(self, path: str, written: Written, sentence: str, meaning: str) -> None:
        """path: `name`, or `object.name`, which levels 1 and 2 flatten. sentence: with {} where the text goes."""
        self.facts.append(Fact(tuple(path.split(".")), written, sentence, meaning))

    def rows(self, name: str, make: Callable[[], Row], line: str, meaning: str) -> None:
        """A list of what `make` draws, written by `line`; at level 3 only the first field of each is asked for."""
        made = [make() for _ in range(self.rng.randint(*PLANS[self.level].rows))]
        self.list = Rows(name, made, line, meaning)

    def aside(self, sentence: str) -> None:
        """A sentence about something else that looks alike."""
        self.asides.append(sentence)

    # --- what it says it with ---

    @property
    def converts(self) -> bool:
        """Whether the text uses another unit or form than the value."""
        return self.level >= 3

    def pick(self, options: Sequence[str]) -> Written:
        """One of the options that this document has not used."""
        text = self.rng.choice([option for option in options if option not in self._used])
        self._used.add(text)
        return Written(text, text, "string")

    def number(self, low: int, high: int) -> Written:
        number = self._fresh(lambda: self.rng.randint(low, high))
        return Written(str(number), number, "integer")

    def code(self, prefix: str, digits: int = 4) -> Written:
        number = self._fresh(lambda: self.rng.randint(10 ** (digits - 1), 10**digits - 1))
        return Written(f"{prefix}-{number}", f"{prefix}-{number}", "string")

    def person(self) -> Written:
        first, last = self.pick(FIRST_NAMES).text, self.pick(LAST_NAMES).text
        return Written(f"{first} {last}", f"{first} {last}", "string")

    def city(self) -> Written:
        return self.pick(CITIES)

    def date(self) -> Written:
        """2031-04-05, or "5 April 2031" and "April 5, 2031" where it is to be converted."""
        year, month, day = self._fresh(lambda: (self.rng.randint(2021, 2035), self.rng.randint(1, 12),
                                                self.rng.randint(1, 28)))
        value = f"{year}-{month:02}-{day:02}"
        if not self.converts:
            return Written(value, value, "string")
        name = MONTHS[month - 1]
        text = self.rng.choice((f"{day} {name} {year}", f"{name} {day}, {year}"))
        return Written(text, value, "string", "as YYYY-MM-DD")

    def clock(self) -> Written:
        """14:05, or "2:05 pm" where it is to be converted."""
        hour, minute = self._fresh(lambda: (self.rng.randint(0, 23), 5 * self.rng.randint(0, 11)))
        value = f"{hour:02}:{minute:02}"
        if not self.converts:
            return Written(value, value, "string")
        return Written(f"{hour % 12 or 12}:{minute:02} {'am' if hour < 12 else 'pm'}", value, "string",
                       "as HH:MM on the 24-hour clock")

    def money(self, low: int, high: int) -> Written:
        """Whole euros, or euros and cents that are to be given in cents."""
        if not self.converts:
            euros = self._fresh(lambda: self.rng.randint(low, high))
            return Written(f"{euros} euros", euros, "integer", "in euros")
        cents = self._fresh(lambda: 100 * self.rng.randint(low, high) + self.rng.randint(1, 99))
        return Written(f"{cents // 100}.{cents % 100:02} euros", cents, "integer", "in cents")

    def minutes(self, low: int, high: int) -> Written:
        """Minutes, or hours and minutes."""
        return self._split(low, high, 60, ("minutes", "h", "min"), "in minutes")

    def seconds(self, low: int, high: int) -> Written:
        """Seconds, or minutes and seconds."""
        return self._split(low, high, 60, ("seconds", "min", "s"), "in seconds")

    def grams(self, low: int, high: int) -> Written:
        """Grams, or kilograms with decimals."""
        return self._scaled(low, high, 1000, ("g", "kg"), "in grams")

    def meters(self, low: int, high: int) -> Written:
        """Meters, or kilometers with decimals."""
        return self._scaled(low, high, 1000, ("m", "km"), "in meters")

    def flag(self, yes: str, no: str) -> Written:
        """A whole sentence that says yes or no."""
        value = self.rng.random() < 0.5
        return Written(yes if value else no, value, "boolean")

    def level_word(self, words: Sequence[str]) -> Written:
        """One of a few words, which the schema lists."""
        word = self.rng.choice(list(words))
        return Written(word, word, "string", "one of " + ", ".join(words))

    def _split(self, low: int, high: int, base: int, units: tuple[str, str, str], rule: str) -> Written:
        total = self._fresh(lambda: self.rng.randint(low, high))
        text = f"{total // base} {units[1]} {total % base} {units[2]}" if self.converts else f"{total} {units[0]}"
        return Written(text, total, "integer", rule)

    def _scaled(self, low: int, high: int, base: int, units: tuple[str, str], rule: str) -> Written:
        small = self._fresh(lambda: 10 * self.rng.randint(low // 10, high // 10))
        text = f"{small // base}.{small % base // 10:02} {units[1]}" if self.converts else f"{small} {units[0]}"
        return Written(text, small, "integer", rule)

    def _fresh(self, draw: Callable[[], Drawn]) -> Drawn:
        """A draw that this document has not used; from a small range that is used up, a used one."""
        for _ in range(_TRIES):
            drawn = draw()
            if drawn not in self._used:
                break
        self._used.add(drawn)
        return drawn


Kind = Callable[[Draft], None]
KINDS: dict[str, Kind] = {}


def kind(function: Kind) -> Kind:
    """Enter a kind of document under its function's name."""
    KINDS[function.__name__] = function
    return function
