"""What all texts of a field begin and end with (an instruction, a label) is no part of a problem, and left out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

__all__ = ["Affixes", "affixes_of"]

_LEAST_TEXTS = 8
"""Two problems may begin alike by chance."""


class Affixes(NamedTuple):
    """Both end where a word ends."""

    prefix: str = ""
    suffix: str = ""

    def strip(self, text: str) -> str:
        """The text between them; the text as it is where it has not both."""
        if self.prefix == self.suffix == "" or len(text) < len(self.prefix) + len(self.suffix):
            return text
        if not (text.startswith(self.prefix) and text.endswith(self.suffix)):
            return text
        return text[len(self.prefix):len(text) - len(self.suffix)]

    def forms(self, text: str) -> tuple[str, ...]:
        """The text as a file may hold it: whole, bare, and with one of the two."""
        bare = self.strip(text)
        return tuple(dict.fromkeys((text, bare, *((self.prefix + bare, bare + self.suffix) if bare != text else ()))))


def affixes_of(texts: Sequence[str]) -> Affixes:
    """Of the different ones among them; none where these are fewer than 8."""
    different = set(texts)
    if len(different) < _LEAST_TEXTS:
        return Affixes()
    prefix = _common(different)
    prefix = prefix[:max((place + 1 for place, sign in enumerate(prefix) if sign.isspace()), default=0)]
    suffix = _common({text[len(prefix):][::-1] for text in different})[::-1]
    start = next((place for place, sign in enumerate(suffix) if sign.isspace()), len(suffix))
    return Affixes(prefix, suffix[start:])


def _common(texts: Collection[str]) -> str:
    """What all begin with: the first and the last in order differ soonest."""
    first, last = min(texts), max(texts)
    pairs = enumerate(zip(first, last, strict=False))
    return first[:next((place for place, (one, other) in pairs if one != other), len(first))]
