"""From one notation to tokens. Words are told from products of letters here, by `_run`."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal, NamedTuple

from reasongym.verifiers.math.notation import (
    ALPHABETS,
    DROPPED,
    FIGURES,
    FUNCTIONS,
    JOINERS,
    MARKS,
    NAMED,
    OPERATORS,
    SHORT_WORDS,
    STRUCTURES,
    STYLES,
    TEXTS,
)
from reasongym.verifiers.math.unit_words import is_product, is_unit_letter
from reasongym.verifiers.math.units import is_unit_word

__all__ = ["Token", "Unreadable", "tokens"]

MAX_EXPONENT_DIGITS = 3
_UNIT_VECTORS = {**{letter: letter for letter in "ijk"}, r"\imath": "i", r"\jmath": "j"}
"""What a hat is left out of, as bold type is."""


_NUMERAL = r"(?:\d++(?:\.\d++|\.(?=[ ]?\\overline))?|\.\d++)"
_TOKEN = re.compile(rf"""
    (?P<space>\ +)
  | (?P<number>(?P<thousands>[1-9]\d{{0,2}}(?:,\d{{3}}){{1,40}}+(?:\.\d++)?(?![,\d]))
      | {_NUMERAL}(?:[eE](?=[-+]?\d)[-+]?\d{{1,{MAX_EXPONENT_DIGITS}}}(?![\dA-Za-z]))?)
  | \\(?P<command>[A-Za-z]+)\*?
  | (?P<brace>\\[{{}}])
  | (?P<row>\\\\(?:\[[^\]]{{0,8}}\])?)
  | (?P<letters>[A-Za-z]+)
  | (?P<operator><=|>=|!=|==|=<|[-+*/^_!()\[\]{{}}|,;:=<>&%'])
""", re.VERBOSE)
_VERTICES = re.compile(
    r" ?\{ ?(?:[A-Za-z0-9][_0-9']{0,3} ?){1,6}\}| ?(?:[A-Z][_0-9']{0,3}){1,6}(?![a-z])| ?[0-9](?![0-9])")
_TEXT_ALONE = re.compile(r"\\text[a-z]{0,6} ?\{[^{}]{0,200}\}")
_LIST = re.compile(r",|\b(?:and|or)\b", re.IGNORECASE)
_CONTENT = re.compile(r" ?\{((?:[^{}\\]|\\[^\n]|\{[^{}]{0,100}\}){0,400})\}")


class Unreadable(ValueError):
    """The text is not mathematics in a notation that is read here; the message says where it stopped."""


class Token(NamedTuple):
    """text: of a number the numeral, of a word the content of `\\text{}` or a run of letters. spaced: after space."""

    kind: Literal["number", "name", "constant", "function", "structure", "operator", "word", "joiner", "end"]
    text: str
    spaced: bool = False

    @property
    def value(self) -> Fraction:
        """The number that a numeral writes, its exponent bounded by the pattern, its digits by the text's length."""
        return Fraction(self.text.replace(",", ""))


def tokens(text: str, *, grouped: bool = True) -> list[Token]:
    """The text's tokens, an `end` behind them. grouped: whether a comma outside brackets can mark thousands.

    Raises Unreadable at the first character that belongs to no token.
    """
    found = list[Token]()
    at, depth, spaced = 0, 0, False
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise Unreadable(f"{text[at]!r} is not read")
        at, kind = match.end(), match.lastgroup
        if match["thousands"] and (depth > 0 or not grouped):
            numeral = re.match(_NUMERAL, match[0])
            assert numeral is not None
            at = match.start() + numeral.end()
            found.append(Token("number", numeral[0], spaced))
        elif kind == "command":
            at = _command(match["command"], text, at, spaced, found)
        elif kind == "letters":
            found += _run(match[0], spaced, found)
        elif kind == "operator" or kind == "brace" or kind == "row":
            depth += {"(": 1, "[": 1, r"\{": 1, ")": -1, "]": -1, r"\}": -1}.get(match[0], 0)
            sign = {"==": "=", "=<": "<="}.get(match[0], r"\\" if kind == "row" else match[0])
            found.append(Token("operator", sign, spaced))
        elif kind != "space":
            found.append(Token("number", match[0], spaced))
        spaced = kind == "space"
    return [*found, Token("end", "")]


def _command(name: str, text: str, at: int, spaced: bool, found: list[Token]) -> int:
    """Append the tokens of a LaTeX command that ends at `at`, and return where its own arguments end."""
    content = _CONTENT.match(text, at) if name in TEXTS or name in MARKS or name in ALPHABETS else None
    if name in TEXTS and content:
        found += _worded(content[1].strip(), spaced, found, upright=name in ("mathrm", "operatorname"))
    elif name == "hat" and content and content[1].strip() in _UNIT_VECTORS:
        found += _letters(_UNIT_VECTORS[content[1].strip()], spaced=spaced)
    elif name in MARKS and content:
        mark = "repeat" if name == "overline" and content[1].strip().isdigit() else MARKS[name]
        found.append(Token("name", f"{mark} {content[1].strip()}", spaced))
    elif name in ALPHABETS:
        letter = content or re.compile(" ?([A-Z])").match(text, at)
        if letter is None:
            raise Unreadable(f"\\{name} of nothing")
        found.append(Token("name", f"{name} {letter[1].strip()}", spaced))
        return letter.end()
    elif name in FIGURES:
        return _figure(name, text, at, spaced, found)
    elif name in OPERATORS:
        sign = OPERATORS[name]
        found.append(Token("joiner" if sign in ("and", "or") else "operator", sign, spaced))
    elif name in STRUCTURES:
        found.append(Token("structure", {"dfrac": "frac", "tfrac": "frac", "cfrac": "frac"}.get(name, name), spaced))
    elif name in ("emptyset", "varnothing"):
        found += [Token("operator", r"\{", spaced), Token("operator", r"\}")]
    elif name in FUNCTIONS:
        found.append(Token("function", FUNCTIONS[name], spaced))
    elif name == "pi":
        found.append(Token("constant", "pi", spaced))
    elif name not in STYLES | DROPPED and not (name == "mathrm" and re.match(" ?d(?![A-Za-z])", text[at:at + 3])):
        found.append(Token("name", name, spaced))
    return content.end() if content else at


def _figure(name: str, text: str, at: int, spaced: bool, found: list[Token]) -> int:
    """Append the name of an angle or triangle with its vertices, an angle's from either end; return where it ends."""
    named = _VERTICES.match(text, at)
    vertices = re.findall(r"[A-Za-z0-9][_0-9']*", named[0]) if named else []
    vertices = vertices if name == "triangle" else min(vertices, vertices[::-1])
    found.append(Token("name", " ".join(["triangle" if name == "triangle" else "angle", *vertices]), spaced))
    return named.end() if named else at


def _worded(content: str, spaced: bool, found: list[Token], *, upright: bool) -> list[Token]:
    r"""Tokens for the content of `\text{}`: a joiner, a function, a number inside, or words."""
    bare = content.strip(" ,.;:")
    if bare.lower() in JOINERS:
        return [Token("joiner", JOINERS[bare.lower()], spaced)]
    if bare in FUNCTIONS:
        return [Token("function", FUNCTIONS[bare], spaced)]
    if bare.lower() in NAMED or _is_letters(bare, found):
        return _run(bare, spaced, []) if bare.lower() in NAMED else _letters(bare, spaced=spaced)
    if upright and re.fullmatch("d[a-z]?", bare) and (_in_integral(found) or _after_brace(found)):
        return _letters(bare, spaced=spaced)
    has_number = any(char.isdigit() for char in bare) and not re.search(r"[A-Za-z]\^?\d", bare)
    if has_number or "\\" in bare or _LIST.search(bare):  # mathematics, or a list that is written as text
        if "\\text" in bare and not _TEXT_ALONE.fullmatch(bare):
            raise Unreadable("text in text")
        return tokens(bare)[:-1]
    return [Token("word", re.sub(r"[\\{}]", "", content).strip() or " ", spaced)] if bare else []


def _is_letters(bare: str, found: list[Token]) -> bool:
    r"""Whether a text is a letter or product that was set upright: `2\mathrm{x}`, but not `5\text{m}`."""
    if len(bare) == 1:
        return bare.isalpha() and not (found and is_unit_letter(bare))
    return bool(found) and found[-1].kind != "operator" and is_product(bare)


def _run(run: str, spaced: bool, found: list[Token]) -> list[Token]:
    """Tokens for letters written together: a known name, a word, or a product of one-letter symbols."""
    after_value = bool(found) and (found[-1].kind in ("number", "constant") or found[-1].text in (")", "}", "]", "!"))
    if run.lower() in JOINERS:
        return [Token("joiner", run.lower(), spaced)]
    if run in FUNCTIONS:
        return [Token("function", FUNCTIONS[run], spaced)]
    if re.fullmatch("[a-z]{0,3}(?:d[a-z]){1,3}|d", run) and _in_integral(found):
        return _letters(run, spaced=spaced)
    if run.lower() in NAMED:
        name = NAMED[run.lower()]
        kind: Literal["structure", "constant", "name"] = (
            "structure" if name == "infty" else "constant" if name == "pi" else "name")
        return [Token(kind, name, spaced)]
    joined = re.fullmatch("or([A-Za-z])", run)
    if joined and after_value:  # `W(x)=1orW(x)=-1`
        return [Token("joiner", "or"), Token("name", joined[1])]
    called = re.fullmatch("(sin|cos|tan|cot|sec|csc|ln|log)([a-z])", run)
    if called:
        return [Token("function", called[1], spaced), *_letters(called[2], spaced=False)]
    if run.lower() == "mod":
        return [Token("operator", "mod", spaced)]
    if run in ("st", "nd", "rd", "th") and not spaced and found and found[-1].kind == "number":
        return [Token("word", run)]
    is_short_word = run.lower() in SHORT_WORDS and not run.isupper()  # NO and BO are segments
    is_word = len(run) > 3 or is_short_word or (after_value and is_unit_word(run) and (spaced or run != "in"))
    continues = bool(found) and found[-1].kind == "word" and (len(run) > 1 or spaced)
    if is_word or continues:
        return [Token("word", run, spaced)]
    return _letters(run, spaced=spaced)


def _in_integral(found: list[Token]) -> bool:
    """Whether letters such as `xdx` or `dxdy` can end with a differential."""
    return any(token.text == "int" for token in found)


def _after_brace(found: list[Token]) -> bool:
    return bool(found) and found[-1].text == "{"


def _letters(run: str, *, spaced: bool) -> list[Token]:
    return [Token("constant" if letter in "ei" else "name", letter, spaced and n == 0) for n, letter in enumerate(run)]
