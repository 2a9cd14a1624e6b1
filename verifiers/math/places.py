r"""One place that states an answer, its bounds, and the braces of `\boxed{}`."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

__all__ = ["BOX", "MAX_ANSWER", "MAX_LINE", "MAX_PLACES", "Place", "braced", "breaks_off", "has_open_box",
           "last_matches"]

MAX_ANSWER = 2_000
"""Characters of an answer that are read."""

MAX_LINE = 400
"""Characters of a line or a gap that are read: an answer that starts later is not stated plainly."""

MAX_PLACES = 64
"""Occurrences of an anchor that are looked at, from the end."""

BOX = re.compile(r"\\f?box(?:ed)?\s?(?=[{0-9-])")
_BRACES = re.compile(r"[{}]|\\.", re.DOTALL)
_UNBRACED = re.compile(r"[^\s}]{1,60}")


class Place(NamedTuple):
    """One statement of an answer. kind `word`: a phrase that only a word follows. start, end: of the whole anchor."""

    kind: Literal["hash", "box", "tag", "phrase", "word"]
    content: str
    start: int
    end: int


def last_matches(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    """The last 64 matches, last first."""
    return list(pattern.finditer(text))[:-MAX_PLACES - 1:-1]


def braced(text: str, start: int) -> tuple[str, int]:
    """Content and end of the brace that opens at `start`, or of the bare word there; empty when it never closes."""
    if text[start] != "{":
        word = _UNBRACED.match(text, start)
        return (word[0], word.end()) if word else ("", start)
    depth = 0
    for token in _BRACES.finditer(text, start, start + MAX_ANSWER):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if depth == 0:
            return text[start + 1:token.start()], token.end()
    return "", start


def breaks_off(text: str) -> bool:
    r"""Whether the text ends inside `\boxed{` or `<answer>`."""
    lowered = text.lower() if "<" in text else ""
    return has_open_box(text) or lowered.rfind("<answer>") > lowered.rfind("</answer>")


def has_open_box(text: str) -> bool:
    r"""Whether the last `\boxed{` of the text never closes, as when the length limit cut it off."""
    last = max(text.rfind("\\boxed"), text.rfind("\\fbox"))
    match = BOX.match(text, last) if last >= 0 else None
    return match is not None and braced(text, match.end()) == ("", match.end())
