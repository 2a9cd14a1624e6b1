"""Text of a model or a data set, made safe to show: nothing in it moves a cursor, rings a bell or reorders a line."""

from __future__ import annotations

import unicodedata

__all__ = ["printable", "shorten"]


def printable(text: str) -> str:
    """The text, every character that acts instead of showing written as its escape (`\\x1b`); newlines and tabs stay.

    Covers control characters, format characters (the bidirectional overrides among them), lone surrogates, and line
    separators. Zero-width joiners stay: emoji and several scripts are spelt with them.
    """
    return "".join(map(_shown, text))


def _shown(character: str) -> str:
    if character in "\n\t\u200c\u200d" or character.isprintable():
        return character
    if unicodedata.category(character) == "Zs":  # a no-break space is no "printable" character to Python
        return " "
    return character.encode("unicode_escape").decode("ascii")


def shorten(text: str, limit: int) -> str:
    """The text, or its head and tail with the number of characters left out between them. Answers stand at the end, so
    the tail is kept too."""
    if len(text) <= limit:
        return text
    head, tail = limit - limit // 3, limit // 3
    return f"{text[:head]}\n[... {len(text) - head - tail:,} characters left out ...]\n{text[-tail:]}"
