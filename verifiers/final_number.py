r"""The final number of a response, by the places of `math.anchors`, else by its last sentence that gives a number.

Within one place, in digits and in words alike:
1. Several different numbers ("5 or 72", `72; 5`, "5 to 72", "7, eight") are no answer, also when one is right. A remark
   ends the answer: "72 because", "72 (or 5)", "72, which is 5 more than 67"; after an equals sign or "rounded to" the
   result is read, unless a different number alone stands before the sign (`73 = 72`, `73 → 72`).
2. A number inside a formula that is not evaluated (`4\sqrt{2}`, `70 + 2`, `3:30`, "half of 72") or one that is denied
   ("not 7", "7 is wrong") is never taken. What stands around a box belongs to it: `-\boxed{7}`, `\boxed{7}^2`,
   `\sqrt{\boxed{7}}`, `\boxed{7} or 8`. "I doubt the answer is 7" and "if the answer is 7" state nothing.
Without a place: the last sentence with a number that is neither a question nor an offer, a note or a check ("Let me
know", "Note:", "Check:"): the right side of its last "=", or its last number, leaving out a time span ("72 apples after
3 days"), a year ("in May 2023"), "out of n" and "on day n". A last line or list of bare numbers offers each of them,
lines of numbered steps do not.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from reasongym.verifiers.denial import is_denied
from reasongym.verifiers.math.anchors import stated_places
from reasongym.verifiers.math.places import Place, breaks_off
from reasongym.verifiers.math.turn import final_part
from reasongym.verifiers.number_context import SPELLED, stands_alone
from reasongym.verifiers.number_lists import gives_by_cases, gives_by_names
from reasongym.verifiers.number_sentences import STEP, ends_by_asking, result_sentences
from reasongym.verifiers.number_text import Quantity, plain, quantities, same_characters
from reasongym.verifiers.number_words import word_quantities

__all__ = ["Final", "final_number", "last_number"]

_ZONE = 400
"""Characters of a place or a sentence that are read: an answer that starts later is not stated plainly."""

_REMARK = re.compile(
    r"[.!?](?=\s|$)| ?[(\[—]| ?;(?! ?(?:[$€£]?[-+]?[0-9]|" + SPELLED + r"\b))| - (?![0-9])|,? (?:"
    r"because|since|as|which|where|when|while|if|so|but not|not|instead|rather|after|before|in|on|at|for|of|out of|"
    rf"from|with|than|per|each|every|by|during|over|within|to(?! [$€£]?(?:[0-9]|{SPELLED}\b)))\b", re.IGNORECASE)
_UNSURE = r"(?: (?:maybe|perhaps|possibly|even|just|else))"
_JOINS_NUMBERS = re.compile(
    rf"[\s,;.&$|(]*(?:and|or|to|through|thru|up to|vs\.?|versus)?{_UNSURE}?[\s,;.&$|]*"
    rf"| [a-z]{{1,15}},? (?:or|to){_UNSURE}? \$?|,? or (?:else|it(?:'s| is)) \$?"
    r"|[\s,;]*(?:and|or) [A-Za-z]\w{0,9} ?= ?", re.IGNORECASE)
_JOINS_SPELLED = re.compile(rf",? ?\(?(?:or|and|to|through){_UNSURE}? |, ", re.IGNORECASE)
_ALTERNATIVE = re.compile(rf"[\s$,*.)\]]{{0,6}}\(?(?:or|and|to|vs\.?|versus|maybe|perhaps|possibly){_UNSURE}{{0,2}}"
                          rf" ?[$(*]*-?(?:[0-9]|{SPELLED}\b)", re.IGNORECASE)
_AFTER_ALTERNATIVE = re.compile(rf"(?:[0-9]|\b{SPELLED}),? (?:or|and|to|vs\.?|versus){_UNSURE}? ?[$*(]*\Z",
                                re.IGNORECASE)
_BEHIND_A_BOX = re.compile(
    r"\\(?:end\s?\{[a-z*]{1,20}\}|(?:black)?square|qed|checkmark|tag\s?\{[^{}]{0,9}\}|\\)|\$|\A[$}]{1,4}")
_EQUALS = re.compile(r"=+>?|≈|→|\bround(?:s|ed)?(?: (?:up|down|off))? to\b", re.IGNORECASE)
_REASON = re.compile(r",? \(?(?:because|since|given that)\b"
                     r"(?!.{0,300}, (?:so|then|we|thus|hence|therefore|the|it|he|she)\b)", re.IGNORECASE)
_REASON_FIRST = re.compile(r"\W{0,9}(?:because|since|as|given that)\b(?:[^,]|,(?! )){1,200}+, ", re.IGNORECASE)
_WORKING = re.compile(r"(?<=[0-9A-Za-z%] )\((?![=≈→])[^()\n]{1,120}=[^()\n]{1,120}\)")
"""How the number before it was found, in brackets: "18 (3 * 4 = 12 less)". `(= 72)` is a result."""

_BARE_NUMBER = re.compile(r"\s*[-$]?[0-9][0-9,.]{0,60}\s*")
_ASIDE = re.compile(
    r"\b(?:(?:after|in|for|over|within|during|every|per|each|the (?:next|first|last)) "
    r"[0-9]{1,9} (?:more )?(?:second|minute|hour|day|night|week|month|year)s?"
    r"|(?:in|since|by|until|during|of|(?:january|february|march|april|may|june|july|august|september|october|november|"
    r"december),?(?: [0-9]{1,2}(?:st|nd|rd|th)?,?)?) (?:19|20)[0-9]{2}"
    r"|out of [$€£]?[0-9,.]{1,20}"
    r"|(?:step|day|week|month|year|round|part|case|question|problem|example|option|page|row|level|grade) #?[0-9]{1,4}"
    r")\b", re.IGNORECASE)


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
        begins = [*(place.end for place in places[1:]), 0]
        ends = [len(text), *(place.start for place in places[:-1])]
        return _agreed([_in_context(text, *each) for each in zip(places, begins, ends, strict=True)])
    return Final(None, "", "none") if breaks_off(text) else _last_sentence(plain(text))


def _in_context(text: str, place: Place, begin: int, end: int) -> Final:
    """What a place states, seen together with the text around it from the place before up to the next one."""
    final = _read_place(plain(place.content))
    if final.value is None:
        return final
    is_phrase = place.kind in ("phrase", "word")
    if is_phrase and is_denied(text, place.start):
        return Final(None, final.text, "none")
    before = "" if is_phrase else plain(text[max(begin, place.start - 60):place.start]).rpartition("\n")[2]
    behind = _BEHIND_A_BOX.sub(" ", text[place.end:min(end, place.end + 60)])
    if _ALTERNATIVE.match(plain(behind)) or _AFTER_ALTERNATIVE.search(before):
        return Final(None, final.text, "several")
    if place.content.startswith("-"):  # it may have been the box's own
        before = before.removesuffix("-")
    is_whole = place.kind != "box" or (not place.content.rstrip().endswith("!") and _may_precede_a_box(before)
                                       and _may_follow_a_box(behind.partition("\n")[0]))
    return final if is_whole else Final(None, final.text, "formula")


def _may_precede_a_box(before: str) -> bool:
    r"""Whether a number behind that text of its line stands by itself, unlike `-\boxed{7}`, `x \neq \boxed{7}`."""
    bare = re.sub(r"\A[\s>]{1,9}|<[a-z]{1,12}>\s?\Z", "", before.rstrip("$"))
    return stands_alone(bare, "") and not re.search(r"[0-9]\s?\Z|[-+]\Z|[0-9=)}$] ?[-+] ?\Z", bare)


def _may_follow_a_box(behind: str) -> bool:
    r"""Whether 7 is still 7 with that text behind it, unlike `7^2`, "7 million", "7 and a half", "7 is wrong"."""
    found = quantities(plain("7" + behind)) if behind.strip() else []
    return not found or found[0].value == 7


def _agreed(finals: list[Final]) -> Final:
    """The one number that all of them state; they come last first."""
    if len({final.value for final in finals}) == 1:
        return finals[0]
    return Final(None, ", ".join(final.text for final in reversed(finals))[:80], "several")


def _read_place(content: str) -> Final:
    stated = content.strip()[:_ZONE]
    found = _numbers(stated)
    if not found:
        return Final(None, stated[:80], "none")
    if _hands_out(stated, found):
        return Final(None, stated[:80], "several")
    remark = _REMARK.search(stated, found[0].end)
    found = _after_equals(stated, [q for q in found if not remark or q.end <= remark.start()])
    if any(q.value is None for q in found):
        return Final(None, stated[:80], "formula")
    if len({q.value for q in found}) > 1:
        return Final(None, stated[:80], "several")
    return Final(found[0].value, found[0].text, "")


def _hands_out(text: str, found: list[Quantity]) -> bool:
    """Whether it gives different numbers to different cases or names."""
    return gives_by_cases(text) or (gives_by_names(text) and len({q.value for q in found}) > 1)


def _numbers(text: str) -> list[Quantity]:
    """In digits and in words, in order. Words before the first digits count where they are joined to them.

    "The four birds are 51 years old" states 51. "One" beside digits is a pronoun, "five-dollar bills" hold no number.
    """
    found, spelled = quantities(text), word_quantities(text)
    if found and spelled:
        spelled = [q for q in spelled if q.text.lower() != "one" and not re.match("-[A-Za-z]", text[q.end:q.end + 2])
                   and not any(q.start < other.end and other.start < q.end for other in found)
                   and (q.start > found[0].start or _JOINS_SPELLED.fullmatch(text, q.end, found[0].start))]
    return sorted([*found, *spelled], key=lambda q: q.start)


def _after_equals(text: str, found: list[Quantity]) -> list[Quantity]:
    """Those after the last equals sign, or "rounded to", that a number follows; all where there is none.

    All too where a different number stands alone right before the sign: `73 = 72` says nothing.
    """
    signs = list(_EQUALS.finditer(text, 0, found[-1].start)) if found else []
    if not signs:
        return found
    behind = [q for q in found if q.start >= signs[-1].end()]
    left = next((q for q in found if text[q.end:signs[-1].start()].strip() == ""), None) \
        if signs[-1][0][0] in "=→" else None
    return found if left and left.value is not None and behind and behind[0].value not in (None, left.value) \
        else behind


def _last_sentence(text: str) -> Final:
    sentences = [] if ends_by_asking(text, text) else result_sentences(text)
    if len(sentences) > 1 and all(_BARE_NUMBER.fullmatch(s) for s in sentences[-2:]) and not STEP.match(
            text.rstrip().rpartition("\n")[2]):
        return _agreed([_read_place(s) for s in sentences[:-3:-1]])  # a column of numbers offers each of them
    for sentence in reversed(sentences):
        if quantities(sentence):
            return last_number(sentence)
    return Final(None, "", "none")


def last_number(sentence: str) -> Final:
    """The number a sentence ends in, or formula where it stands in one. The sentence is `plain` and holds a number."""
    lead = _REASON_FIRST.match(sentence)
    sentence = sentence[lead.end():] if lead and quantities(sentence[lead.end():]) else sentence
    found = quantities(sentence)
    if _hands_out(sentence, found):
        return Final(None, sentence.strip()[:80], "several")
    reason = _REASON.search(sentence, found[0].end)
    asides = [aside.span() for pattern in (_ASIDE, _WORKING) for aside in pattern.finditer(sentence)]
    results = [q for q in found if not any(start <= q.start < end for start, end in asides)]
    stated = [q for q in results if not (reason and reason.start() < q.start)]
    sentence = sentence[:reason.start()] if reason and stated else sentence
    kept = stated or results or found
    result = _after_equals(sentence, kept)
    # After an equals sign the result comes first ("= 8 years old 4 years from now"); in a sentence it comes last.
    first = len(result) < len(kept) or bool(_EQUALS.search(sentence, 0, result[0].start))
    final, *beside = result if first else result[::-1]
    if first and len(result) < len(kept):  # "x = 1 and x = 2" gives two results
        beside = beside or [kept[-len(result) - 1]]
    if final.value is None:
        return Final(None, final.text, "formula")
    if is_denied(sentence, final.start):
        return Final(None, final.text, "none")
    if (beside and _are_joined(sentence, final, beside[0])) or _is_joined_to_a_word(sentence, final):
        return Final(None, sentence.strip()[:80], "several")
    return Final(final.value, final.text, "")


def _are_joined(sentence: str, final: Quantity, beside: Quantity) -> bool:
    """Whether two different numbers are offered side by side."""
    left, right = sorted((final, beside), key=lambda q: q.start)
    return beside.value != final.value and _JOINS_NUMBERS.fullmatch(sentence, left.end, right.start) is not None


def _is_joined_to_a_word(sentence: str, final: Quantity) -> bool:
    """Whether a number in words is offered beside it: "7 or eight", "seven to 8"; a comma joins one that follows."""
    begin = max(0, final.start - 40)
    window = sentence[begin:final.end + 40]
    start, end = final.start - begin, final.end - begin
    for q in word_quantities(window):
        if q.value == final.value or (q.start < end and start < q.end):
            continue
        joins = _JOINS_SPELLED.fullmatch(window, min(end, q.end), max(start, q.start))
        if joins and (joins[0] != ", " or (q.start >= end and not re.match(r" (?:more|less|fewer|of|times)\b",
                                                                          window[q.end:]))):
            return True
    return False
