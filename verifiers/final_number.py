r"""The final number of a response, by the places of `math.anchors`, else by its last sentence that gives a number.

Within one place:
1. Several different numbers ("5 or 72", `72; 5`) are no answer, also when one is right. A remark ends the answer: "72
   because", "72 (or 5)", "72, which is 5 more than 67"; after an equals sign or "rounded to" the result is read.
2. A number inside a formula that is not evaluated (`4\sqrt{2}`, `70 + 2`, `3:30`, "half of 72") is never taken.
Without a place: the last sentence with a number that is neither a question nor an offer, a note or a check ("Let me
know", "Note:", "Check:"): the right side of its last "=", or its last number, leaving out a time span ("72 apples after
3 days"), "out of n" and "on day n". A last line or list of bare numbers offers each of them.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from reasongym.verifiers.math.anchors import stated_places
from reasongym.verifiers.math.places import breaks_off
from reasongym.verifiers.math.turn import final_part
from reasongym.verifiers.number_text import Quantity, plain, quantities, same_characters
from reasongym.verifiers.number_words import word_quantities

__all__ = ["Final", "final_number", "last_number", "result_sentences"]

_ZONE = 400
"""Characters of a place or a sentence that are read: an answer that starts later is not stated plainly."""

_REMARK = re.compile(
    r"[.!?](?=\s|$)| ?[(\[—]| ?;(?! ?[$€£]?[-+]?[0-9])| - (?![0-9])|,? (?:"
    r"because|since|as|which|where|when|while|if|so|but not|not|instead|rather|after|before|in|on|at|for|of|out of|"
    r"from|with|than|per|each|every|by|during|over|within|to(?! [$€£]?[0-9]))\b", re.IGNORECASE)
_JOINS_NUMBERS = re.compile(r"[\s,;.&$|]*(?:and|or)?[\s,;.&$|]*|[\s,;]*(?:and|or) [A-Za-z]\w{0,9} ?= ?", re.IGNORECASE)
_SENTENCE = re.compile(r"((?:[^.!?\n]|[.!?](?!\s|$))*+)([.!?]?)")
_EQUALS = re.compile(r"=+>?|≈|→|\bround(?:s|ed)?(?: (?:up|down|off))? to\b", re.IGNORECASE)
_LABEL = re.compile(
    r"\s*(?:[-*•]|(?:#{1,6} ?)?(?:[0-9]{1,3}[.)]|(?:step|part|case) ?[0-9]{1,3} ?[.):-]))\s+(?=\S)", re.IGNORECASE)
_NUMBERED = re.compile(r"^[#*_> \t]{0,8}([0-9]{1,3})[.):][*_ ]{1,4}(?=[A-Za-z])", re.MULTILINE)
_BARE_NUMBER = re.compile(r"\s*[-$]?[0-9][0-9,.]{0,60}\s*")
_ASIDE = re.compile(
    r"\b(?:(?:after|in|for|over|within|during|every|per|each|the (?:next|first|last)) "
    r"[0-9]{1,9} (?:more )?(?:second|minute|hour|day|night|week|month|year)s?"
    r"|out of [$€£]?[0-9,.]{1,20}"
    r"|(?:step|day|week|month|year|round|part|case|question|problem|example|option|page|row|level|grade) #?[0-9]{1,4}"
    r")\b", re.IGNORECASE)
_BESIDE_THE_POINT = re.compile(
    r"[\s>*_(\[-]{0,6}(?:let me know|would you|do you|did you|if you|shall i|feel free|please|i hope|hope |thank|"
    r"(?:side |foot)?note\b|p\.?s\b|check\b|checking|verif|double.check|source|confidence|disclaimer|[0-9]{1,2}\] )",
    re.IGNORECASE)


class Final(NamedTuple):
    """What a response states as its final number. value: None when nothing can be graded.

    text: as written. problem: why there is no value: "" , "several" (a wrong answer), "formula" or "none" (unparsable).
    """

    value: Fraction | None
    text: str
    problem: str


def final_number(response: str) -> Final:
    """The response's final number, by the policy at the head of this file."""
    text = same_characters(final_part(response))
    places = stated_places(text, symbolic=False)
    if places:
        return _agreed([_read_place(plain(place.content)) for place in places])
    return Final(None, "", "none") if breaks_off(text) else _last_sentence(plain(text))


def _agreed(finals: list[Final]) -> Final:
    """The one number that all of them state; they come last first."""
    if len({final.value for final in finals}) == 1:
        return finals[0]
    return Final(None, ", ".join(final.text for final in reversed(finals))[:80], "several")


def _read_place(content: str) -> Final:
    stated = content.strip()[:_ZONE]
    found = quantities(stated) or word_quantities(stated)
    if not found:
        return Final(None, stated[:80], "none")
    remark = _REMARK.search(stated, found[0].end)
    found = _after_equals(stated, [q for q in found if not remark or q.end <= remark.start()])
    if any(q.value is None for q in found):
        return Final(None, stated[:80], "formula")
    if len({q.value for q in found}) > 1:
        return Final(None, stated[:80], "several")
    return Final(found[0].value, found[0].text, "")


def _after_equals(text: str, found: list[Quantity]) -> list[Quantity]:
    """Those after the last equals sign, or "rounded to", that a number follows; all where there is none."""
    begins = max((sign.end() for sign in _EQUALS.finditer(text, 0, found[-1].start)), default=0)
    return [q for q in found if q.start >= begins]


def _last_sentence(text: str) -> Final:
    sentences = result_sentences(text)
    if len(sentences) > 1 and all(_BARE_NUMBER.fullmatch(s) for s in sentences[-2:]):
        return _agreed([_read_place(s) for s in sentences[:-3:-1]])  # a column of numbers offers each of them
    for sentence in reversed(sentences):
        if quantities(sentence):
            return last_number(sentence)
    return Final(None, "", "none")


def result_sentences(text: str) -> list[str]:
    """The sentences of a text that may state a result, at most 400 characters of each, without list marks.

    Questions, offers, notes and checks are left out, unless nothing else is there.
    """
    found = [(s[1], s[2]) for s in _SENTENCE.finditer(_without_list_numbers(text)) if s[1].strip()]
    kept = [words for words, end in found if end != "?" and not _BESIDE_THE_POINT.match(words)]
    return [_without_label(words)[-_ZONE:] for words in kept or [words for words, _ in found]]


def _without_label(words: str) -> str:
    label = _LABEL.match(words)
    return words[label.end() if label else 0:]


def _without_list_numbers(text: str) -> str:
    """Lines without "1.", "2." at their head, where those count up from 1: "72. That is all" keeps its number."""
    seen = {0}

    def kept(mark: re.Match[str]) -> str:
        number = int(mark[1])
        seen.update({number} if number - 1 in seen else ())
        return "" if number in seen else mark[0]

    return _NUMBERED.sub(kept, text)


def last_number(sentence: str) -> Final:
    """The number a sentence ends in, or formula where it stands in one. The sentence is `plain` and holds a number."""
    found = quantities(sentence)
    reason = sentence.find(" because ", found[0].end)
    asides = [aside.span() for aside in _ASIDE.finditer(sentence)]
    kept = [q for q in found if not any(start <= q.start < end for start, end in asides)
            and not 0 <= reason < q.start] or found
    result = _after_equals(sentence, kept)
    # After an equals sign the result comes first ("= 8 years old 4 years from now"); in a sentence it comes last.
    first = len(result) < len(kept) or bool(_EQUALS.search(sentence, 0, result[0].start))
    final, *beside = result if first else result[::-1]
    if first and len(result) < len(kept):  # "x = 1 and x = 2" gives two results
        beside = beside or [kept[-len(result) - 1]]
    if final.value is None:
        return Final(None, final.text, "formula")
    if beside and beside[0].value != final.value:
        left, right = sorted((final, beside[0]), key=lambda q: q.start)
        if _JOINS_NUMBERS.fullmatch(sentence, left.end, right.start):
            return Final(None, sentence.strip()[:80], "several")
    return Final(final.value, final.text, "")
