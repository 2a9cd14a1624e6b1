r"""Which words behind a number may be the name of a unit, and which say something else of it.

A unit that only one side has is dropped, so whatever could change the value must not pass for one: `2\text{ million}`,
`2\text{ fifths}`, `7\text{ squared}`, `7\text{ minus two}`, `2\text{xy}`. A noun of any kind may (apples, ways).

Known false negatives: quarters and thirds counted as things; a unit of one letter other than m, g, s, h, l, L, J, N, V,
W; phrases of more than eight words.
"""

from __future__ import annotations

import re

from reasongym.verifiers.math.notation import FUNCTIONS, SHORT_WORDS
from reasongym.verifiers.math.units import ONE_LETTER, is_unit_word
from reasongym.verifiers.number_context import FOREIGN_SCALES

__all__ = ["is_product", "is_unit_letter", "is_unit_phrase", "scaled"]

MAX_WORDS = 8
_SCALES = {
    "dozen": 12, "score": 20, "gross": 144, "hundred": 100, "thousand": 1000, "grand": 1000, "lakh": 10**5,
    "million": 10**6, "mln": 10**6, "mn": 10**6, "mio": 10**6, "crore": 10**7, "billion": 10**9, "bn": 10**9,
    "trillion": 10**12, "tn": 10**12, "quadrillion": 10**15}
_TABLE = """
numbers zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
numbers eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety infinity infinite infinitely
parts half halves thirds quarters fourths fifths sixths sevenths eighths ninths tenths elevenths twelfths twentieths
parts hundredths thousandths millionths
part third quarter fourth fifth sixth seventh eighth ninth tenth eleventh twelfth twentieth hundredth thousandth
operations plus minus negative positive over under divided multiplied by mod modulo modulus remainder root factorial
operations inverse reciprocal opposite power raised to exponent log logarithm sine cosine tangent above below
turns not no never wrong incorrect false neither nor none isn aren wasn doesn can cannot or and more less fewer than
turns least most but also else either both if unless except without excluding including though although however maybe
turns perhaps possibly probably otherwise instead rather
greek alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi chi
greek psi omega
units ac atm bar cc cl ct db dl dm ev gb ghz ha hp hz kb kev khz kj kmh kn kpa kph kw kwh lbs mb mev mhz mol mpa ms mw
units nm pa ppm psi pt pts qt rpm tb tsp um wh am pm pcs st nd rd th
"""
_LINES = [line.split() for line in _TABLE.strip().splitlines()]
_WORDS = {name: frozenset(word for group, *words in _LINES if group == name for word in words) for name, *_ in _LINES}
_PART_ALONE = _WORDS["part"]
"""One of them at the end (`1 fifth`) is a part; `8 fifth graders` are graders."""

_SHORT_UNITS = _WORDS["units"]
_NEVER = frozenset().union(
    *(_WORDS[name] for name in ("numbers", "parts", "operations", "turns", "greek")), _SCALES, set(FUNCTIONS) - {"min"})
"""Words that make something else of the number before them: `5 or more`, `5 is wrong`, `5 tenths`."""

_FOREIGN = re.compile(rf"\b(?:{'|'.join(FOREIGN_SCALES)})\b", re.IGNORECASE)
_UNIT_LETTERS = ONE_LETTER | frozenset("NVW")


def is_unit_letter(letter: str) -> bool:
    r"""Whether the letter, set as text behind a value, is a unit: `5\text{ m}`, but `5\text{ x}` is a product."""
    return letter in _UNIT_LETTERS


def is_product(run: str) -> bool:
    r"""Whether two or three letters set as text are a product (`\mathrm{xy}`, `\text{AB}`) and no word or unit."""
    if not (run.isalpha() and run.isascii() and 2 <= len(run) <= 3):
        return False
    if is_unit_word(run) or run.lower() in _SHORT_UNITS | SHORT_WORDS | _SCALES.keys() | _NEVER:
        return False
    return len(run) == 2 or run.isupper() or not re.search("[aeiouy]", run) or run in ("abc", "xyz")


def is_unit_phrase(words: str) -> bool:
    """Whether the words name a unit or what was counted, and none of them can change the value."""
    named = re.findall("[a-z]+", words.lower())
    if not named and not re.search("[%°¢]", words):  # as in `3\text{!}`
        return False
    if len(named) > MAX_WORDS or not _NEVER.isdisjoint(named) or _FOREIGN.search(words):
        return False
    if any(len(word) == 1 and word not in "a" and word not in _UNIT_LETTERS | {"n", "v", "w", "j"} for word in named):
        return False
    if "times" in named[:-1]:  # `7 times` counts, `7 times the area` does not
        return False
    return not (named and (named[0] in ("squared", "cubed") or named[-1] in _PART_ALONE))


def scaled(words: str) -> tuple[int, str]:
    """What the first words multiply by, and the unit behind them: of `hundred thousand people` 100,000 and people."""
    factor, rest = 1, words.split()
    while rest and (scale := _scale(rest[0].lower().rstrip("."))):
        factor *= scale
        rest = rest[1:]
    return factor, " ".join(rest)


def _scale(word: str) -> int:
    return _SCALES.get(word) or _SCALES.get(word.removesuffix("s"), 0)
