"""Sentences that say what the answer is not: "it isn't 7", "7 is wrong"."""

from __future__ import annotations

import re

__all__ = ["denies"]

_BEFORE = re.compile(r"(?:\b(?:not|never|cannot|neither|nor|other than|anything but|except)\b|n't\b)"
                     r"(?![^.,;:]{0,60}(?:\b(?:is|are|was|were|equals?|gives?|get|have|leaves?|[a-z]{1,20}'s)\b"
                     r"(?! to\b)|[=:]))"
                     r"[^.,;:0-9]{0,40}$", re.IGNORECASE)
_BEHIND = re.compile(r"[^.,;:]{0,40}\b(?:wrong|incorrect|mistaken)\b"
                     r"|\W{0,4}(?:\w{1,15} )?(?:is|was|are|were|does|do|did|can|could|should|would|will)"
                     r"(?: not\b|n't\b|not\b)", re.IGNORECASE)


def denies(sentence: str, start: int, end: int) -> bool:
    """Whether the sentence denies the value that stands in it from start to end. "Not divisible by 3 is 7" does not."""
    return bool(_BEFORE.search(sentence[max(0, start - 100):start]) or _BEHIND.match(sentence, end, end + 100))
