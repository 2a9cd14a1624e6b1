"""Text -> words, as they are compared: without case, punctuation, white space and forms of one character.

A sign of Chinese or Japanese is a word by itself, as nothing parts words there. GSM8K's calculator notes
(`<<48/2=24>>`) are left out: the task's solutions come without them, its files with them.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["template_of", "words_of"]

_NOTES = re.compile(r"<<[^<>]{0,200}>>")
_WORD = re.compile(r"\w+")
_UNPARTED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD_OR_SIGN = re.compile(rf"[{_UNPARTED}]|[^\W{_UNPARTED}]+")
_NUMBERS = re.compile(r"[0-9]+(?: [0-9]+)*")


def words_of(text: str) -> list[str]:
    """In order; "1,000" is two of them, on both sides."""
    if "<<" in text:
        text = _NOTES.sub("", text)
    if text.isascii():
        return _WORD.findall(text.lower())
    return _WORD_OR_SIGN.findall(unicodedata.normalize("NFKC", text).casefold())


def template_of(normal: str) -> str:
    """Words joined by blanks -> the same with 0 for each number: what problems that differ in numbers alone share."""
    return _NUMBERS.sub("0", normal)
