"""Numbers in English words: "seventy-two", "one hundred and five", "two and a half", "three quarters", "two thirds".

Known false negatives: other languages; "a dozen", "six dozen" (is it 6 or 72?); ordinals. "One" as a pronoun counts as
1, so it can make two numbers of one. A number beside another with an operator ("two times thirty-six", "half of ten"),
or in words that make it part of something larger or deny it (`number_context`), is marked as part of a formula.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from reasongym.verifiers.number_context import BEFORE, BEHIND, stands_alone
from reasongym.verifiers.number_text import Quantity

__all__ = ["word_quantities"]

_MAX_WORDS = 60
_FIRST = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
          "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SMALL = {word: n for n, word in enumerate(_FIRST)} | {word: 10 * n for n, word in enumerate(_TENS, start=2)}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_PARTS = {name + plural: n for n, name in enumerate(
    ("half", "third", "quarter", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"), start=2)
    for plural in ("", "s")} | {"halves": 2, "fourth": 4, "fourths": 4}
_OPERATORS = {"times", "plus", "minus", "multiplied", "divided", "by", "more", "less", "fewer", "than", "of", "over"}


class _Read(NamedTuple):
    """A number and the index of the word after it."""

    value: Fraction
    next: int


def word_quantities(text: str) -> list[Quantity]:
    """Every number in words among the first 60 words, in order; value None where an operator joins it to another."""
    spans = [match.span() for match in re.finditer(r"[A-Za-z]{1,20}|[0-9]{1,20}", text[:20 * _MAX_WORDS])][:_MAX_WORDS]
    words = [text[start:end].lower() for start, end in spans]
    found: list[Quantity] = []
    i = joined_from = 0
    while i < len(words):
        read = _number(words, i)
        if read is None:
            i += 1
            continue
        begin, end = spans[i][0], spans[read.next - 1][1]
        negative = i > joined_from and words[i - 1] in ("minus", "negative")
        between = words[joined_from:i - negative] if found else []
        quantity = Quantity(-read.value if negative else read.value, text[begin:end], begin, end)
        if (between and _OPERATORS.issuperset(between)) or (found and negative and not between):
            found[-1], quantity = found[-1]._replace(value=None), quantity._replace(value=None)
        of_a_number = read.next + 1 < len(words) and words[read.next] == "of" and words[read.next + 1].isdigit()
        before = text[max(0, begin - BEFORE):spans[i - 1][0] if negative else begin]
        if of_a_number or not stands_alone(before, text[end:end + BEHIND]):
            quantity = quantity._replace(value=None)
        found.append(quantity)
        i = joined_from = read.next
    return found


def _number(words: list[str], i: int) -> _Read | None:
    """The number that begins at word i: whole, fraction, mixed or with "point"."""
    whole = _cardinal(words, i)
    if whole is None:
        article = i + 1 < len(words) and words[i] in ("a", "an") and words[i + 1] in _PARTS
        part = i + 1 if article else i
        is_half = words[part] == "half"  # other parts without a count are ordinals: "the third"
        return _Read(Fraction(1, _PARTS[words[part]]), part + 1) if article or is_half else None
    value, i = whole
    rest = words[i:i + 3]
    if rest and rest[0] in _PARTS:
        return _Read(value / _PARTS[rest[0]], i + 1)
    if len(rest) == 3 and rest[0] == "and" and rest[2] in _PARTS and (rest[1] in ("a", "an") or rest[1] in _SMALL):
        return _Read(value + Fraction(_SMALL.get(rest[1], 1), _PARTS[rest[2]]), i + 3)
    if rest and rest[0] == "point":
        digits = ""
        while i + 1 < len(words) and _SMALL.get(words[i + 1], 10) < 10:
            digits, i = digits + str(_SMALL[words[i + 1]]), i + 1
        return _Read(value + Fraction(int(digits), 10 ** len(digits)), i + 1) if digits else _Read(value, i)
    return whole


def _cardinal(words: list[str], i: int) -> _Read | None:
    start, total, current, last = i, 0, 0, 0
    while i < len(words):
        word = words[i]
        if word in _SMALL and (i == start or last >= 100 or (last >= 20 and 1 <= _SMALL[word] <= 9)):
            last = _SMALL[word]
            current += last
        elif word in _SCALES and (i == start or last):
            last = _SCALES[word]
            total, current = (total, max(current, 1) * 100) if last == 100 else (total + max(current, 1) * last, 0)
        elif not (word == "and" and last >= 100 and i + 1 < len(words) and words[i + 1] in _SMALL):
            break
        i += 1
    return _Read(Fraction(total + current), i) if i > start else None
