"""Units of measure: which words name the same one, and how those of one kind convert.

A unit is known by its words in lower case, singular, powers as `^2`. What is not listed is a plain word (apples).
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

__all__ = ["CURRENCIES", "ONE_LETTER", "Unit", "is_unit_word", "unit"]


class Unit(NamedTuple):
    """kind: what it measures; scale: its size in the kind's own base unit. A plain word is a kind of its own."""

    kind: str
    scale: Fraction


_TABLE = """
length   1         meter metre m
length   1000      kilometer kilometre km
length   1/100     centimeter centimetre cm
length   1/1000    millimeter millimetre mm
length   127/5000  inch inche in
length   381/1250  foot feet ft
length   1143/1250 yard yd
length   201168/125 mile mi
mass     1         gram gramme g
mass     1000      kilogram kg kilo
mass     1/1000    milligram mg
mass     45359237/100000 pound lb
mass     45359237/1600000 ounce oz
mass     1000000   tonne
time     1         second sec s
time     60        minute min
time     3600      hour hr h
time     86400     day
time     604800    week
month    1         month
month    12        year yr
volume   1         liter litre l
volume   1/1000    milliliter millilitre ml
gallon   1         gallon gal
angle    1         degree deg °
radian   1         radian rad
dollar   1         dollar usd buck
dollar   1/100     cent ¢
euro     1         euro eur
british  1         gbp quid
yen      1         yen jpy
rupee    1         rupee inr
percent  1         percent pct %
length/time 1397/3125 mph
energy   1         joule j
power    1         watt w
force    1         newton n
voltage  1         volt v
celsius  1         celsius
fahrenheit 1       fahrenheit
unit     1         unit
"""
_KNOWN = {word: Unit(kind, Fraction(scale)) for kind, scale, words in (
    re.fullmatch(r"([a-z/]+(?: f)?) +([0-9/]+) +(.*)", line).groups()  # type: ignore[union-attr]
    for line in _TABLE.strip().splitlines()) for word in words.split()}
CURRENCIES = {"$": "dollar", "€": "euro", "£": "gbp", "¥": "yen", "₹": "rupee", "¢": "cent"}
ONE_LETTER = frozenset("mgshlLJ")
"""Letters that stand for a unit when written apart after a number; glued to it they are variables."""

_POWERS = {"square": 2, "squared": 2, "sq": 2, "cubic": 3, "cubed": 3, "cu": 3}
_FILLERS = frozenset(("of", "the", "a", "an", "at", "is", "are", "about", "total", "approximately"))


def is_unit_word(word: str) -> bool:
    """Whether a run of letters names a unit by itself, in the singular or plural."""
    return len(word) > 1 and (_singular(word.lower()) in _KNOWN or word.lower() in _POWERS)


def unit(words: str) -> Unit:
    """The unit that the words name: `square cm`, `cm^2`, `miles per hour`, `apples`."""
    above, _, below = re.sub(r"\bper\b", "/", words.lower()).partition("/")
    top, bottom = _one(above), _one(below)
    if not bottom.kind:
        return top
    return Unit(f"{top.kind}/{bottom.kind}", top.scale / bottom.scale)


def _one(words: str) -> Unit:
    kind, scale, pending = list[str](), Fraction(1), 1
    for word, exponent in re.findall(r"([^\W\d_]{1,40}|[°%¢])\.?(?: ?\^ ?\{? ?([0-9])\}?)?", words):
        word = _singular(word)
        if word in _POWERS:
            if kind and word.endswith("ed"):
                scale, kind[-1] = scale ** _POWERS[word], f"{kind[-1]}^{_POWERS[word]}"
            else:
                pending = _POWERS[word]
        elif word not in _FILLERS:
            known = _KNOWN.get(word, Unit(word, Fraction(1)))
            power = int(exponent or pending)
            kind.append(known.kind if power == 1 else f"{known.kind}^{power}")
            scale, pending = scale * known.scale ** power, 1
    return Unit(" ".join(kind), scale)


def _singular(word: str) -> str:
    if word in _KNOWN or not word.endswith("s") or word.endswith("ss"):
        return word
    return word[:-1]
