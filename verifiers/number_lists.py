r"""Several values that one text hands out: by cases ("7 if n is even, 8 if n is odd") or by names ("Tom 5, Ann 7").

Neither is a final answer where one value was asked for, and no value of them is taken for it. Names are single words
with nothing but `:`, `=` or a space before their numbers: "Tom has 5 and Ann has 7" is a sentence, whose last number
counts.
Every pattern is bounded; a text is read for at most `ZONE` characters.
"""

from __future__ import annotations

import re

from reasongym.verifiers.number_context import SPELLED

__all__ = ["gives_by_cases", "gives_by_names"]

ZONE = 400

_VALUE = rf"[-+$€£\\(]{{0,3}}(?:[0-9\ue000]|{SPELLED}\b|[a-z](?![a-z'])|\\?[a-z]{{3,5}}(?=[{{(]))"
_CONDITION = (r"(?:if|when|whenever|unless|provided|in case"
              r"|for\s(?:even|odd|positive|negative|all|any|every|[b-hj-z](?![a-z'])|\ue000))"
              r"(?![a-z])")
_CASES = re.compile(
    rf"\b{_CONDITION}(?:[^.!?\n]|\.(?=[0-9])){{1,80}}?(?:[,;:]|\s(?:and|or|but|while|whereas)\b)\s?(?:and\s|or\s|but\s)?"
    rf"(?:(?:(?:it(?:'s|\sis)|is|the\sanswer\sis)\s)?{_VALUE}[^.,;!?\n]{{0,30}}?\b(?:{_CONDITION}|(?:otherwise|else)\b)"
    rf"|(?:otherwise|else)\b\W{{0,3}}(?:it\sis\s|it's\s)?{_VALUE})", re.IGNORECASE)
_NUMBER = r"[-+]?[$€£]?[0-9]++(?:[.,][0-9]++)*+%?"
_ITEM = (r"(?!(?:not|but|or|and|to|from|is|are|was|than|plus|minus|times|by|of|in|on|at|for|only|about|over|under|until"
         r"|around|exactly|has|have|had|gives?|equals|US|USD|EUR)\b)"
         rf"[A-Za-z]{{1,15}}+(?:\s?[:=])?\s?\*{{0,2}}{_NUMBER}(?:\s?(?!and\b|or\b)[a-z]{{1,15}})??")
_BETWEEN = r"(?:[\s.,;|*_)]{1,5}+(?:(?:and|or)\s)?)"
_NAMED = re.compile(rf"[\s#*_>(-]{{0,8}}+{_ITEM}(?:{_BETWEEN}{_ITEM}){{1,20}}[\s.,;|*_)]{{0,5}}", re.IGNORECASE)


def gives_by_cases(text: str) -> bool:
    """Whether the text gives another value under another condition, or otherwise."""
    return _CASES.search(text[:ZONE]) is not None


def gives_by_names(text: str) -> bool:
    """Whether the text is nothing but names, each with a number of its own."""
    return _NAMED.fullmatch(text[:ZONE]) is not None
