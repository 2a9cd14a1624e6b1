"""Whether a statement is taken back, doubted or made a condition.

`is_denied` looks at the words before a statement of an answer, `denies` at a value inside a sentence: "it isn't 7",
"7 is wrong". What stands around a box is read by `math.surroundings`.

"I doubt that the answer is B", "I don't think it is 7", "if the answer is 7" state nothing. A negation that a comma, a
line end, a full stop, a number or "so", "but", "and" divides from the statement is about something else ("A is not
right, so the answer is B"). Known false negatives: a double negation ("nobody doubts that the answer is 7").
"""

from __future__ import annotations

import re

__all__ = ["denies", "is_denied"]

_LOOKED_AT = 80
_JOINS = r"(?:so|but|and|then|thus|hence|therefore|because|since|instead|rather)"
_WORD = r"[^\W\d]['\u2019\w]{0,20}"
_NOT = r"(?:n['\u2019]t|\bnot(?!\s(?:hard|difficult|surpris|only|too|long))|\bnever|\bcannot)"
_THINKS = r"(?:think|believe|say|sure|certain|true|convinced|agree|mean|claim|likely|possible|case)"
_DENIAL = re.compile(
    rf"(?:{_NOT}(?: (?!{_JOINS}\b|(?:is|are|was|were|equals?|gives?|leaves?)\b(?! to\b)){_WORD}){{0,5}}"
    # What is doubted may hold a verb: "I do not think it is".
    rf"|(?:{_NOT}(?: {_WORD}){{0,3}} {_THINKS}"
    r"|(?<!no )(?<!without )\bdoubt(?:s|ed|ful)?|\bunlikely|\bhardly|\bfalse|\buntrue|\b(?:wrong|incorrect)(?=\sto\b)"
    r"|\bden(?:y|ies)|\bno\sway|\bimpossible|\bdisagree|\bunless|\bif|\bwhether|\bsuppos(?:e|ing)|\bassum(?:e|ing)"
    rf"|\bnobody|\bno one)(?: (?!{_JOINS}\b){_WORD}){{0,5}}) *\Z", re.IGNORECASE)
_BEFORE = re.compile(r"(?:\b(?:not|never|cannot|neither|nor|other than|anything but|except)\b|n't\b)"
                     r"(?![^.,;:]{0,60}(?:\b(?:is|are|was|were|equals?|gives?|get|have|leaves?|[a-z]{1,20}'s)\b"
                     r"(?! to\b)|[=:]))"
                     r"[^.,;:0-9]{0,40}$", re.IGNORECASE)
_BEHIND = re.compile(r"[^.,;:]{0,40}\b(?:wrong|incorrect|mistaken)\b"
                     r"|\W{0,4}(?:\w{1,15} )?(?:is|was|are|were|does|do|did|can|could|should|would|will)"
                     r"(?: not\b|n't\b|not\b)", re.IGNORECASE)


def is_denied(text: str, start: int) -> bool:
    """Whether the words just before `start` deny what begins there."""
    return _DENIAL.search(text[max(0, start - _LOOKED_AT):start]) is not None


def denies(sentence: str, start: int, end: int) -> bool:
    """Whether the sentence denies the value that stands in it from start to end. "Not divisible by 3 is 7" does not."""
    return bool(_BEFORE.search(sentence[max(0, start - 100):start]) or _BEHIND.match(sentence, end, end + 100))
