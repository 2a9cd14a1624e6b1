r"""Numbers as people and models write them, read exactly: text -> Fraction, never through a float.

`same_characters` maps other scripts' digits and look-alike signs to ASCII, `plain` brings notation to one form (LaTeX,
markdown), `quantities` finds every number of a short text and says which of them stand inside a formula.

Covered: signs, thousands marks (`1,234` `1{,}234` `1\,234` `1'234` `1 234`, Indian `1,00,000`), decimals, fractions,
mixed numbers ("7 and a half", "7 hours and a half", "7 point five", "7 eighths" too), `\frac{3}{4}`, `1.2e3`,
`1.2 \times 10^3`, "2 million", `2M`, `2bn`, "2 lakh", "2 crore", dollars and cents. A comma before one or two digits is
a decimal comma (`7,5`, `1.234,56`), since no thousands mark stands there; two full stops are thousands marks
(`1.000.000`), one is a decimal point. Not covered: times and ratios (`3:30`), roots, powers, sums, "half of 72", "5
more than 67", "7 dozen": a number inside one of those is marked (`number_context`), so that nobody takes it for the
answer.
Every pattern is possessive or bounded, so time is linear in the length of the text.
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from typing import NamedTuple

from reasongym.verifiers.number_context import BEFORE, BEHIND, stands_alone

__all__ = ["MAX_DIGITS", "Quantity", "plain", "quantities", "same_characters"]

MAX_DIGITS = 60
"""Longer runs of digits are not read: no grade-school answer has them, and big integers cost time."""

_CURRENCY = "$€£¥₹₩₽₱₫₺₦₴฿¢"
_SCALES = {"hundred": 100, "thousand": 1000, "k": 1000, "lakh": 10**5, "million": 10**6, "m": 10**6, "mn": 10**6,
           "mln": 10**6, "crore": 10**7, "billion": 10**9, "b": 10**9, "bn": 10**9, "trillion": 10**12}
_PARTS = {"half": 2, "halve": 2, "third": 3, "fourth": 4, "quarter": 4, "fifth": 5, "sixth": 6, "seventh": 7,
          "eighth": 8, "ninth": 9, "tenth": 10, "hundredth": 100, "thousandth": 1000}
_COUNTS = {word: n for n, words in enumerate(("a an one", "two", "three", "four", "five", "six", "seven", "eight",
                                              "nine"), start=1) for word in words.split()} | {"zero": 0}
_COUNT, _PART = "|".join(_COUNTS), "|".join(_PARTS)
_LOOK_ALIKES: dict[int, str] = {
    **{code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},  # full-width ASCII
    **dict.fromkeys(map(ord, "\u00a0\u2007\u2008\u2009\u200a\u202f\u2002\u2003\u2005\u2006\u3000"), " "),
    # Nothing to see: zero-width, soft hyphen, direction marks, and what makes a keycap emoji of a digit.
    **dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
                             "\u2066\u2067\u2068\u2069\ufe0e\ufe0f\u20e3"), ""),
    **dict.fromkeys(map(ord, "\u2212\u2010\u2011\u2012\u2013\ufe58\ufe63"), "-"),
    **dict.fromkeys(map(ord, "\u2018\u2019\u02bc"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e\u00ab\u00bb"), '"'),
    **{ord(char): by for char, by in {"\u3002": ". ", "\u3001": ", ", "\u066b": ".", "\u066c": ","}.items()},
}
_NOTATION: dict[int, str] = {
    # A superscript is a power: a compatibility normal form would make 102 of 10².
    **{ord(char): f"^{digit}" for digit, char in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}, ord("⁻"): "^-",
    **{ord(char): f" {text}" for char, text in {
        "½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅕": "1/5", "⅖": "2/5", "⅗": "3/5", "⅘": "4/5",
        "⅙": "1/6", "⅚": "5/6", "⅛": "1/8", "⅜": "3/8", "⅝": "5/8", "⅞": "7/8"}.items()},
    **{ord(char): by for char, by in {"\u2044": "/", "\u00d7": "*", "·": "*", "÷": "/", "…": "...", "°": ""}.items()},
}
_REWRITES: tuple[tuple[re.Pattern[str], str], ...] = tuple((re.compile(pattern), by) for pattern, by in (
    (r"<<[^<>\n]{0,200}>>", ""),  # the calculator annotations of GSM8K's own solutions
    (r"<\s?(-?[$€£]?[0-9][0-9.,/]{0,40})\s?>", r" \1 "),  # a placeholder such as <number>, filled in
    (r"</?(?:b|i|u|em|strong|p|br|span)\s?/?>", " "),
    (r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|mbox|f?boxed|underline)\s?\{([^{}]{0,200})\}", r" \1 "),
    (r"\{,\}", ","),
    (r"\\(?:textminus|minus)(?![A-Za-z])\s?|\{\s?-\s?\}", "-"),
    (r"(?<![0-9A-Za-z)])-\s?[({]\s?([$€£]?[0-9][0-9.,/]{0,60})\s?[)}]", r"-\1"),
    (r"\\(?:left|right|displaystyle|qquad|quad)(?![A-Za-z])", " "),
    (r"\^\s?\{?\s?\\circ\s?\}?|\\degree(?![A-Za-z])", ""),
    (r"(?<=[0-9])\s?\\[dtc]?frac\s?(?=[{0-9])", r" \\frac"),
    (r"\\[dtc]?frac\s?\{\s?([0-9.,]{1,80})\s?\}\s?\{\s?([0-9.,]{1,80})\s?\}", r"\1/\2"),
    (r"\\[dtc]?frac\s?([0-9])\s?([0-9])", r"\1/\2"),
    (r"\\(?:times|cdot|ast)(?![A-Za-z])", " * "),
    (r"\\div(?![A-Za-z])", " / "),
    (r"\\(?:approx|simeq)(?![A-Za-z])", "≈"),
    (r"\\(?:ldots|cdots|dots)(?![A-Za-z])", "..."),
    (r"\\!|\\(?=\n)|\\\\(?![A-Za-z(\[{\\])", ""),
    (r"\\[,;: ]|(?<=[0-9])~(?=[0-9])", " "),
    (r"\\[()\[\]]", " "),
    (r"\\([$%#&_{}])", r"\1"),
    (r"\^\{\s?(-?[0-9]{1,9})\s?\}", r"^\1"),
    (r"(?<=[0-9])\*\*(?=[0-9])", "^"),
    (r"\*\*|__|`", ""),
    (r"([0-9])\s?[*x]\s?10\s?\^\s?(-?[0-9]{1,2})(?![0-9])", r"\1e\2"),
    (r"[ \t]++", " "),
    (r"([0-9])(?:\.0{1,2})? (?:dollars?|euros?|pounds?),? (?:and )?([0-9]{2}) cents?(?![a-z])", r"\1.\2"),
    (r"([0-9])(?:\.0{1,2})? (?:dollars?|euros?|pounds?),? (?:and )?([0-9]) cents?(?![a-z])", r"\1.0\2"),
))

_IN_WORDS = re.compile(rf"(?<=[0-9])(?:(?P<unit> [a-z]{{1,15}})? and (?P<count>{_COUNT})[ -](?P<part>{_PART})s?"
                       rf"|[ -](?P<parts>(?!quarter)(?:{_PART}))s"
                       rf"| point (?P<digits>(?!an? )(?:(?:{_COUNT})(?![a-z]) ?){{1,9}}))"
                       r"(?![A-Za-z-])", re.IGNORECASE)
"""The end of a number that begins in digits: "7 hours and a half", "7 eighths", "7 point two five". "7 quarters" are
coins, as in GSM8K."""

_DOTTED = r"[0-9]{1,3}(?:\.[0-9]{3}){2,9}(?![0-9]|[.,][0-9])"
_GROUPED = r"[0-9]{1,3}(?:[,' ][0-9]{3}){1,20}+(?![0-9])|[0-9]{1,2}(?:,[0-9]{2}){1,9},[0-9]{3}(?![0-9])"
_DECIMAL_COMMA = r"(?:[0-9]{1,3}(?:\.[0-9]{3}){1,9}|[0-9]{1,15}),[0-9]{1,2}(?![0-9]|[.,][0-9])"
_NUMBER = rf"(?:{_DECIMAL_COMMA}|{_DOTTED}|(?:{_GROUPED}|[0-9]++)(?:\.[0-9]++)?+|\.[0-9]++)"
_QUANTITY = re.compile(rf"""
    (?P<sign>[-+]\s?)?+ (?:[{_CURRENCY}]\s?)?+ (?P<inner>-)?+
    (?P<whole>{_NUMBER})
    (?: \s?/\s?(?P<below>{_NUMBER})
      | \s(?:and\s)?(?P<over>[0-9]{{1,9}}+)/(?P<under>[0-9]{{1,9}}+) )?
    (?:[eE](?P<power>[-+]?[0-9]{{1,2}})(?![0-9A-Za-z]))?
    (?:\s?(?P<scale>(?:hundred|thousand|lakh|million|crore|billion|trillion)s?|(?<=[0-9])(?:[kKMB]|mn|mln|bn))
       (?![A-Za-z]))?
""", re.VERBOSE)

_OPERAND = re.compile(r"(?:[0-9)]|(?<![A-Za-z])[b-hj-zB-HJ-Z])\s?\Z")
_ORDINAL = re.compile(r"(?:st|nd|rd|th)(?![A-Za-z])")


class Quantity(NamedTuple):
    """A number found in a text. value: None where it is part of a formula that is not evaluated."""

    value: Fraction | None
    text: str
    start: int
    end: int


def same_characters(text: str) -> str:
    """The text with ASCII digits, signs, quotes and spaces, and without characters that show nothing."""
    if text.isascii():
        return text
    return re.sub(r"\d", lambda digit: str(unicodedata.decimal(digit[0])), text.translate(_LOOK_ALIKES))


def plain(text: str) -> str:
    """The same text in one notation: `same_characters`, no LaTeX spacing, no markdown emphasis."""
    text = same_characters(text)
    if not text.isascii():
        text = text.translate(_NOTATION)
    for pattern, by in _REWRITES:
        text = pattern.sub(by, text)
    return _IN_WORDS.sub(_in_digits, text)


def _in_digits(found: re.Match[str]) -> str:
    """The end of a number as digits have it, behind them."""
    if found["digits"]:
        return "." + "".join(str(_COUNTS[word]) for word in found["digits"].lower().split()) + \
            " " * found["digits"].endswith(" ")
    if found["parts"]:
        return f"/{_PARTS[found['parts'].lower()]}"
    return f" {_COUNTS[found['count'].lower()]}/{_PARTS[found['part'].lower()]}{found['unit'] or ''}"


def quantities(text: str) -> list[Quantity]:
    """Every number of a `plain` text, in order. Ordinals (3rd), powers of units (m^2) and names (B12) are left out."""
    found = []
    for match in _QUANTITY.finditer(text):
        start, end = match.span()
        before, after = text[max(0, start - BEFORE):start], text[end:end + BEHIND]
        whole = match.start("whole")
        if text[max(0, whole - 1):whole].isalpha() or _ORDINAL.match(after) or re.search(r"[A-Za-z] ?\^-?$", before):
            continue
        in_formula = bool(not stands_alone(before, after) or (match["below"] and re.match(r" of [$€£]?[0-9]", after))
                          or (match["sign"] and (match["inner"] or _OPERAND.search(before)
                                                 or (before.endswith("|") and after.startswith("|")))))
        value = None if in_formula else _value(match, before)
        found.append(Quantity(value, match[0].strip(), start, end))
    return found


def _value(match: re.Match[str], before: str) -> Fraction | None:
    parts = [match[name] for name in ("whole", "below", "over", "under") if match[name]]
    if any(sum(char.isdigit() for char in part) > MAX_DIGITS for part in parts):
        return None
    value = _decimal(match["whole"])
    if match["below"]:
        below = _decimal(match["below"])
        if not below:
            return None
        value /= below
    if match["over"]:
        over, under = int(match["over"]), int(match["under"])
        if not over < under or value.denominator != 1:  # "72 3/2" is two numbers, not a mixed one
            return None
        value += Fraction(over, under)
    value *= Fraction(10) ** int(match["power"] or 0) * _scale(match["scale"])
    return -value if _is_negative(match, before) else value


def _scale(name: str | None) -> int:
    return _SCALES[name.lower().removesuffix("s")] if name else 1


def _is_negative(match: re.Match[str], before: str) -> bool:
    sign = match["sign"] or ""
    if match["inner"] or re.search(r"(?:^|[^A-Za-z])(?:minus|negative) ?$", before, re.IGNORECASE):
        return True
    # A dash glued to a word (Apollo-11) or spaced after one (Answer - 72) joins; it is not a sign.
    joins = before[-1:].isalnum() or (sign.endswith(" ") and before.rstrip()[-1:].isalnum())
    return sign.startswith("-") and not joins


def _decimal(text: str) -> Fraction:
    if re.fullmatch(_DOTTED, text):
        text = text.replace(".", "")
    elif re.fullmatch(_DECIMAL_COMMA, text):
        text = text.replace(".", "").replace(",", ".")
    whole, _, digits = re.sub(r"[,' ]", "", text).partition(".")
    return Fraction(int((whole or "0") + digits), 10 ** len(digits))
