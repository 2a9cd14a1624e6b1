r"""One notation for what an answer is written in: ASCII, LaTeX names for symbols, no spacing macros, plain numerals.

Thousands are marked by a comma, `{,}`, `,\!`, a thin or a plain space, in groups of three. Those are joined here,
save the comma, which inside brackets separates (`(1,234)` is a pair) and is left to the lexer. Currency signs are
taken out and reported. Nothing is dropped that could change a value: what is not known stays, and fails to be read.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from reasongym.verifiers.math.units import CURRENCIES

__all__ = ["MAX_LENGTH", "Plain", "normalise"]

MAX_LENGTH = 2000
"""Characters of an answer that are read; a longer one is no answer."""

_GREEK = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu",
          "xi", "omicron", "pi", "rho", "", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega")
"""In the order of Unicode from U+03B1, where the final sigma is passed over."""

_SYMBOLS = {
    "\u00d7": r"\times ", "\u00b7\u22c5\u2219": r"\cdot ", "\u00f7\u2044\u2215": "/", "\u2217\uff0a": "*",
    "\u2212\u2010\u2011\u2012\u2013\u2014\ufe63": "-", "\u00b1": r"\pm ", "\u2213": r"\mp ", "\u221a": r"\surd ",
    "\u2264\u2a7d\u2266": "<=", "\u2265\u2a7e\u2267": ">=", "\u2260": "!=", "\u2248\u2243\u2245": r"\approx ",
    "\u2208": r"\in ", "\u222a\u22c3": r"\cup ", "\u2229\u22c2": r"\cap ", "\u2216": r"\setminus ",
    "\u2205": r"\emptyset ", "\u221e": r"\infty ", "\u2211": r"\sum ", "\u220f": r"\prod ", "\u222b": r"\int ",
    "\u211d": r"\mathbb{R}", "\u2124": r"\mathbb{Z}", "\u2115": r"\mathbb{N}", "\u211a": r"\mathbb{Q}",
    "\u2102": r"\mathbb{C}", "\u00b0\u02da\u00ba": r"\degree ", "\u2220": r"\angle ",
    "\u230a": r"\lfloor ", "\u230b": r"\rfloor ", "\u2308": r"\lceil ", "\u2309": r"\rceil ",
    "\u27e8\u3008": r"\langle ", "\u27e9\u3009": r"\rangle ", "\u2223\uff5c": "|",
    "\u25b3\u25b5": r"\triangle ", "\u2032\u2019\u2018": "'", "\u201c\u201d": '"', "\u3001": ",", "\u3002": ".",
}
_UNICODE: dict[int, str] = {
    **dict.fromkeys((*range(0x20), 0x7F, 0xA0, 0x3000, 0x202F, 0x205F, *range(0x2000, 0x200B)), " "),
    **dict.fromkeys((0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0x2061, 0x2062, 0xFEFF), ""),
    **{code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},
    **{0x3B1 + i: f"\\{name} " for i, name in enumerate(_GREEK) if name},
    **{0x391 + i: f"\\{name.capitalize()} " for i, name in enumerate(_GREEK) if name},
    **{ord(char): by for chars, by in _SYMBOLS.items() for char in chars},
    **{ord(char): rf"\frac{{{over}}}{{{under}}}" for char, over, under in (
        "½12", "⅓13", "⅔23", "¼14", "¾34", "⅕15", "⅖25", "⅗35", "⅘45", "⅙16", "⅚56", "⅛18", "⅜38", "⅝58", "⅞78")},
}
_SUPERSCRIPTS = dict(zip(map(ord, "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ"), "0123456789+-n", strict=True))
_SUBSCRIPTS = dict(zip(map(ord, "₀₁₂₃₄₅₆₇₈₉ₙ"), "0123456789n", strict=True))

_REWRITES: tuple[tuple[re.Pattern[str], str], ...] = tuple((re.compile(pattern), by) for pattern, by in (
    (r"\\(?:begin|end)\s?\{(?:align|equation|gather|displaymath|math)\*?\}", " "),
    (r"(?<!\\)\\[()\[\]]", " "),
    (r"(?<=\d)(?:,\s?\\!\s?|\{,\})(?=\d{3}(?!\d))", ""),
    (r"\{,\}", ","),
    (r"(?<=\d)\^\s?(?:\{\s?)?(?:\\text\s?\{)?(st|nd|rd|th)(?![A-Za-z])\}{0,2}", r"\1"),
    (r"\\!|\{\\!\}", ""),
    (r"(?<=\d)(?:(?<!\\)\\[,; ]|~)(?=\d{3}(?!\d))", ""),
    (r"\\(?:left|right|[bB]igg?[lrm]?)(?![A-Za-z])\s?\.?", ""),
    (r"\\(?:displaystyle|textstyle|limits|nolimits|q?quad|mathstrut|enspace|thinspace|allowbreak)(?![A-Za-z])", " "),
    (r"\\[hv]space\*?\s?\{[^{}]{0,20}\}", " "),
    (r"(?<!\\)\\[,;:> ]|~", " "),
    (r"\^\s?\{?\s?\\circ\s?\}?|\^\s?\{?\s?\\degree\s?\}?|\\degrees?(?![A-Za-z])", r"\\degree "),
    (r"\\%", "%"),
    (r"(?<=\d) ?[xX] ?(?=10 ?\^)", r"\\times "),
    (r"\*\*", "^"),
    (r"\+/-", r"\\pm "),
    (r"\s+", " "),
))
_TEXT = r"(?:\\(?:text|textrm|mathrm|mbox|rm) ?\{? ?)?"
_RARE: tuple[tuple[str, re.Pattern[str], str], ...] = tuple((mark, re.compile(pattern), by) for mark, pattern, by in (
    ("color", r"\\(?:text)?color ?(?:\[[^\]]{0,20}\] ?)?\{[^{}]{0,40}\}", ""),
    (r"\dot", r"(\.\d{0,60}) ?\\dot ?(?:\{ ?(\d) ?\}|(\d))(\d{0,60}) ?\\dot ?(?:\{ ?(\d) ?\}|(\d))",
     r"\1\\overline{\2\3\4\5\6}"),
    (r"\dot", r"(\.\d{0,60}) ?\\dot ?(?:\{ ?(\d) ?\}|(\d))", r"\1\\overline{\2\3}"),
    (r"\bar", r"(\.\d{0,60}) ?\\bar ?(?:\{ ?(\d{1,60}) ?\}|(\d))", r"\1\\overline{\2\3}"),
    (r"\overline", r"(\.\d{0,60}) ?\\overline ?(\d)", r"\1\\overline{\2}"),
    (r"\hat", r"\\hat ?(?=[ijk](?![A-Za-z])|\\[ij]math(?![A-Za-z]))(?:\\(?=[ij]math))?([ijk])(?:math)?", r"\\hat{\1}"),
    ("mod", rf"\( ?(?:\\[bp]?mod(?![A-Za-z])|{_TEXT}mod(?![A-Za-z])) ?\}}? ?\{{? ?([^(){{}}]{{1,40}}?) ?\}}? ?\)",
     r"\\pmod{\1}"),
    (")", r"\((\d{1,200})\) ?_", r"\1_"),
    ("_", r"_ ?\{? ?\((\d{1,2})\) ?\}?", r"_{\1}"),
    ("degree", rf"\\degrees? ?{_TEXT}C(?![A-Za-z]) ?\}}?", r"\\text{ celsius}"),
    ("degree", rf"\\degrees? ?{_TEXT}F(?![A-Za-z]) ?\}}?", r"\\text{ fahrenheit}"),
    (":", rf"(?<=:\d\d) ?{_TEXT}([aApP])\.? ?[mM]\b\.? ?\}}?", r"\\text{\1m}"),
    (".", rf"(?<=\d) ?{_TEXT}([aApP])\. ?[mM]\b\.? ?\}}?", r"\\text{\1m}"),
    ("angle", r"(?<![A-Za-z\\])m ?(?=\\angle)", ""),
))
"""Notations that few answers have, each with a text that all of its spellings hold: those without are not looked at."""

_SPACED_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3}){1,20}+(?![\d/]| ?/)")
_OPTION = re.compile(r"[A-Za-z] ?\)")
_OUTWARD = re.compile(r"([\[\]])([^\[\]()]{1,200}[,;][^\[\]()]{1,200})([\[\]])")
_SIGN = re.compile(r"\\\$|\\(?:pounds|euro|yen)(?![A-Za-z])|[$€£¥₹¢]")
_LATEX_SIGNS = {r"\$": "$", r"\pounds": "£", r"\euro": "€", r"\yen": "¥"}


class Plain(NamedTuple):
    """The text in one notation. currency: the unit that its signs name, empty without; `several` for different ones."""

    text: str
    currency: str


def normalise(text: str) -> Plain:
    """The answer in one notation. text: at most MAX_LENGTH characters, which the caller has seen to."""
    if not text.isascii():
        text = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ]{1,60}", lambda m: f"^{{{m[0].translate(_SUPERSCRIPTS)}}}", text)
        text = re.sub("[₀-₉ₙ]{1,60}", lambda m: f"_{{{m[0].translate(_SUBSCRIPTS)}}}", text)
        text = re.sub("[\U0001d400-\U0001d7ff]", lambda m: unicodedata.normalize("NFKC", m[0]), text)
        text = re.sub(r"[^\x00-\x7f]", _ascii_digit, text.translate(_UNICODE))
    else:
        text = text.translate(_UNICODE)
    if r"\begin" not in text:  # there a doubled backslash ends a row; elsewhere it is an escape written twice
        text = re.sub(r"\\\\(?=[A-Za-z(){}\[\]$%,;!])", r"\\", text)
    text, currency = _without_currency(text)
    for pattern, by in _REWRITES:
        text = pattern.sub(by, text)
    for mark, pattern, by in _RARE:
        if mark in text:
            text = pattern.sub(by, text)
    text = _SPACED_THOUSANDS.sub(lambda m: m[0].replace(" ", ""), text)
    return Plain(_in_usual_brackets(_trimmed(_completed(text))), currency)


def _in_usual_brackets(text: str) -> str:
    """`]-2,3]` as `(-2,3]`, and an option's letter without the bracket behind it."""
    if text[-1:] == ")" and _OPTION.fullmatch(text):
        return text[0]
    outward = _OUTWARD.fullmatch(text) if text[:1] == "]" or text[-1:] == "[" else None
    if outward is None:
        return text
    return f"{'(' if outward[1] == ']' else '['}{outward[2]}{')' if outward[3] == '[' else ']'}"


def _ascii_digit(match: re.Match[str]) -> str:
    digit = unicodedata.decimal(match[0], None)
    return match[0] if digit is None else str(digit)


def _without_currency(text: str) -> tuple[str, str]:
    """Bare dollar signs in pairs delimit mathematics; an odd one before or after a digit is money."""
    if not _SIGN.search(text):
        return text, ""
    bare = len(re.findall(r"(?<!\\)\$", text))
    money = bare % 2 == 1 and re.search(r"(?<!\\)\$ ?-?[\d.]|\d ?\$", text) is not None
    kinds = {CURRENCIES[sign] for found in _SIGN.findall(text)
             if (sign := _LATEX_SIGNS.get(found, found)) != "$" or found == r"\$" or money}
    return _SIGN.sub(" ", text), kinds.pop() if len(kinds) == 1 else "several" if kinds else ""


def _completed(text: str) -> str:
    """With the closing braces that are missing at its end, where few are."""
    missing = len(re.findall(r"(?<!\\)\{", text)) - len(re.findall(r"(?<!\\)\}", text))
    return text + "}" * missing if 0 < missing < 4 else text


def _trimmed(text: str) -> str:
    r"""Without white space, full stops and commas at its ends, and without a box or braces around the whole."""
    while True:
        before = text
        text = text.strip(" \n\t\"`").rstrip(".,;: ")
        text = re.sub(r"\\+$|^[=:] ?", "", text)
        box = re.match(r"\\f?box(?:ed)?(?![A-Za-z]) ?", text)
        if box and text.endswith("}") and text[box.end():box.end() + 1] == "{" and _closes_at_end(text[box.end():]):
            text = text[box.end() + 1:-1]
        if text == before:
            return text


def _closes_at_end(text: str) -> bool:
    """Whether the brace that opens the text closes with its last character."""
    depth = 0
    for match in re.finditer(r"\\.|[{}]", text):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.end() == len(text)
    return False
