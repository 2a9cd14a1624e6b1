r"""What stands around a boxed answer and makes another one of it.

`\boxed{7} or 8` and `8 or \boxed{7}` offer both; `\boxed{7}, 8.` lists both. `-\boxed{7}` and `\boxed{7}^2` mean the
whole. `x \neq \boxed{7}`, "not \boxed{7}" and "\boxed{7} is wrong" deny it: such a box is none. Anything else around a
box is work: `\sqrt{\boxed{7}}` states 7, as `3 + \boxed{4} = 7` states 4.

Known false negatives: a rounded value behind the box ("\boxed{1/3} or 0.33").
"""

from __future__ import annotations

import re

from reasongym.verifiers.math.places import MAX_LINE, Place

__all__ = ["is_asked", "is_denied", "offered_beside", "whole_of"]

_VALUE = (r"(?>(?:[A-Za-z] ?= ?)?(?:\$[^$\n]{1,60}\$|\\\([^\n]{1,60}?\\\)"
          r"|[-+]?[$€£]?\d(?:[\d.,/]{0,30}\d)?(?![\d.,/]*\d)"
          r"|\\[dt]?frac ?\{[^{}\n]{1,20}\} ?\{[^{}\n]{1,20}\}))")
"""A number or short formula. Atomic: its commas could be shared out between values in many ways."""

_CLOSING = r"[\s$*_)\\\]}]{0,8}"
_OR = r"(?:or|alternatively|maybe|perhaps|possibly)(?: (?:else|maybe|perhaps|possibly|even))?"
_OFFERED = re.compile(
    rf"{_CLOSING}(?P<values>(?:, ?{_VALUE}){{0,8}}[,;]? ?\(?{_OR}[\s$]{{1,3}}{_VALUE})"
    rf"|{_CLOSING}(?P<list>(?:, ?{_VALUE}){{1,8}}(?:,? and {_VALUE})?|,? and {_VALUE}){_CLOSING}"
    r"(?:[.;!?](?=\s|$)|\n|$)", re.IGNORECASE)
_LEAD = re.compile(rf"[\s,;(]*(?:(?:and|{_OR})[\s$]{{1,3}})?", re.IGNORECASE)
_BEFORE = re.compile(rf"(?<![\w.,/$]){_VALUE}{_CLOSING},? or [\s$*_(\\\[]{{0,4}}$", re.IGNORECASE)
_ENDS_IN_OR = re.compile(r"or[\s$*_(\\\[]{1,5}$", re.IGNORECASE)
_SIGNED = re.compile(r"(?:^|[=$(\[{,:;&<>\n] ?|(?<![\\A-Za-z])[A-Za-z]{2,} \$?)-$")
_POWER = re.compile(r" ?\^ ?(?:\{[^{}\n]{1,40}\}|\\circ|[\w*'])")
_DENIAL = re.compile(r"(?:\\neq?|\\not ?=|(?<![\w)}\]])!=|≠|\b(?:not|never|cannot be|isn't|wasn't|can't be)"
                     r"(?: (?:be|equal to|equal|simply|just|actually))?)[\s$*_(\\\[]{0,4}$", re.IGNORECASE)
_DENIED = re.compile(r"[\s$*_)\\\]]{0,6}(?:is|was|would be|must be|seems)"
                     r"(?: (?:the )?(?:wrong|incorrect|false|mistaken)"
                     r"|(?:n't| not) (?:the )?(?:right|correct|answer))\b", re.IGNORECASE)

_ASKED = re.compile(r"[\s$*_)\\\]}\"'.]{0,8}\?")


def is_asked(text: str, end: int) -> bool:
    """Whether a question mark follows what ends there: "Could it be 7?", "Is it $7$?"."""
    return _ASKED.match(text, end, end + MAX_LINE) is not None


def is_denied(text: str, start: int, end: int) -> bool:
    """Whether the text says that what stands from start to end is not the answer, or asks whether it is."""
    denial = _DENIAL.search(text[max(0, start - 40):start])
    return is_asked(text, end) or bool(denial or _DENIED.match(text, end, end + MAX_LINE))


def whole_of(text: str, place: Place) -> str:
    """The box's content with the sign before it and the exponent behind it."""
    content, power = place.content, _POWER.match(text, place.end)
    if power:
        content = content + power[0] if "circ" in power[0] else f"({content}){power[0]}"
    if text[place.start - 1:place.start] == "-" and _SIGNED.search(text[max(0, place.start - 40):place.start]):
        content = f"-{content}" if re.fullmatch(r"[\w.]+", content) else f"-({content})"
    return content


def offered_beside(text: str, start: int, end: int) -> tuple[str, str]:
    """Other answers offered directly before and behind the places from start to end; empty without."""
    ends_in_or = _ENDS_IN_OR.search(text[max(0, start - 8):start])
    before = _BEFORE.search(text[max(0, start - MAX_LINE):start]) if ends_in_or else None
    behind = _OFFERED.match(text, end, end + MAX_LINE)
    values = (behind["values"] or behind["list"]) if behind else ""
    return (re.sub(r"\W*\bor\W*$", "", before[0]).strip() if before else ""), _LEAD.sub("", values, count=1)
