"""The words around an answer: what leads in to it, what is a plain word, what may stand between two answers."""

from __future__ import annotations

import re

from reasongym.verifiers.math.formulas import Formula

__all__ = ["is_joined", "joined_group", "plain_words", "trimmed", "without_lead", "without_names"]

_AROUND = " \t\n*_\"`|,:;"
"""What may stand around an answer. A full stop only after it: `.5` is a number."""

_LEAD = re.compile(
    r"(?:[\s:*_\"'`|]|~(?!~)|(?:"
    r"the|final|correct|answer|is|are|an?|total of|about|approximately|roughly|exactly|only|just|so|simply|now|"
    r"therefore|thus|equals|equal to|either|given by|that|set|interval|point|(?:ordered )?pair|triple|vector|matrix|"
    r"equation|function|expression|number|value|fraction|ratio|polynomial)(?=[\s:*$\\]))*+", re.IGNORECASE)
_JOINS = re.compile(r"[\s,;.\\\"]*(?:(?:and|or|\\text\{ ?(?:and|or) ?\})[\s,;]*)?", re.IGNORECASE)
_WORD = re.compile(r"(?<![A-Za-z\\])(?:[A-Za-z]{2,}(?:'[a-z]{1,2})?|[A-Za-z]'[a-z]{1,2})")
_NAMED = re.compile(r"\\[A-Za-z]{1,30}(?:\s?\{[A-Za-z ,.()]{1,80}\})?")
_OF_MATHEMATICS = frozenset({
    "and", "arccos", "arcsin", "arctan", "cos", "cot", "csc", "exp", "gcd", "in", "inf", "infinity", "lcm", "ln", "log",
    "max", "min", "mod", "oo", "or", "pi", "sec", "sin", "sqrt", "tan"})


def trimmed(text: str) -> str:
    """The text without emphasis, quotes and punctuation around it."""
    return text.lstrip(_AROUND).rstrip(_AROUND + ".")


def without_lead(text: str) -> str:
    """The text without "the interval", "about", "equal to" before its answer."""
    lead = _LEAD.match(text)
    return text[lead.end() if lead else 0:]


def without_names(text: str) -> str:
    r"""The text with spaces in place of LaTeX commands and their words (`\text{cm}`)."""
    return _NAMED.sub(lambda named: " " * len(named[0]), text)


def plain_words(text: str) -> list[re.Match[str]]:
    """The words of prose in a text, names of functions and "and", "or" left out."""
    return [word for word in _WORD.finditer(text) if word[0].lower() not in _OF_MATHEMATICS]


def is_joined(text: str, found: list[Formula]) -> bool:
    """Whether nothing but punctuation, "and", "or" stands around the formulas of the text."""
    ends = [0, *(formula.end for formula in found)]
    starts = [*(formula.start for formula in found), len(text)]
    return all(_JOINS.fullmatch(text[end:start][:80]) for end, start in zip(ends, starts, strict=True))


def joined_group(text: str, found: list[Formula]) -> list[Formula]:
    """The first formula and those joined to it; the last ones when the list is given last first."""
    group = found[:1]
    for formula in found[1:]:
        left, right = sorted((group[-1], formula), key=lambda one: one.start)
        if not _JOINS.fullmatch(text[left.end:right.start][:80]):
            break
        group.append(formula)
    return group
