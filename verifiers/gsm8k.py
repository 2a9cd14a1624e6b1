r"""The final number of a worked answer, compared exactly with the reference.

Which number is the answer is decided from the response alone, so listing many numbers never gains anything:
1. Only text after the last `</think>` counts; an opened and never closed `<think>` leaves nothing. A continuation into
   an invented next question ("Question:", "Human:", "<|im_start|>user"), or anything after an end-of-turn token, is cut
   off. Of what remains the last 20,000 characters are looked at.
2. The first of these that is present decides, and its last occurrence: `#### n`, `\boxed{n}`, `<answer>n</answer>`,
   "(final) answer is/: n". Without any, the last sentence with a number: the right side of its last "=", or its last
   number, leaving out a time span ("72 apples after 3 days") and "out of n".
3. Several different numbers offered in one such place ("5 or 72", `\boxed{5}, \boxed{72}`, `#### 5` directly followed
   by `#### 72`) are wrong, also when one is right. A later place that revises an earlier one stands.
4. A number inside a formula that is not evaluated (`4\sqrt{2}`, `70 + 2`, `3:30`) is never taken: unparsable. A
   fraction or a mixed number is a number.
Comparison is of exact rationals: 72.00 = 72 and 1/2 = 0.5, but 0.33 is not 1/3.

Known false positives: units, currencies and the percent sign are dropped (72 cents = $72; 72% = 72, never 0.72).
Known false negatives: decimal commas, unevaluated sums, rounded answers, number words outside the four marked places; a
markdown heading `#### Step 2` is told from an answer by its first word alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from reasongym.verifiers.number_text import MAX_DIGITS, Quantity, plain, quantities, words
from reasongym.verifiers.registration import verifier
from reasongym.verifiers.verdict import Verdict

__all__ = ["Final", "final_number", "gsm8k", "gsm8k_format", "reference_number"]

_LOOKED_AT = 20_000
_ZONE = 400
"""Characters of a line or a box that are read: an answer that starts later is not stated plainly."""

_PLACES = 64
"""Occurrences of an anchor that are looked at, from the end."""

_NEXT_QUESTION = re.compile(
    r"^[ \t>*#]{0,8}(?:(?:next|new) )?(?:question|problem|q|human|user|instruction)(?: ?[0-9]{1,4})?\*{0,2} ?:"
    r"|<\|im_start\|>|<\|start_header_id\|>|<\|user\|>", re.IGNORECASE | re.MULTILINE)
_END_OF_TURN = re.compile(r"<\|im_end\|>|<\|endoftext\|>|<\|eot_id\|>|<\|end\|>|</s>|<eos>|<end_of_turn>")
_TAG = re.compile(r"<answer>(.{0,400}?)</answer>", re.IGNORECASE | re.DOTALL)
_PHRASE = re.compile(r"(?:^|[.,;:!?*\n] ?|\b(?:the|final|my|our|correct) )"
                     r"answer(?: ?(?:is|are|was|would be|should be|=|:)){1,3}", re.IGNORECASE)
_LEAD_IN = re.compile(
    r"(?:[\s\"'(\[{:=~≈$€£¥₹|_>*-]|(?:the|final|correct|answer|is|are|a|total|of|about|approximately|roughly|around|exactly|"
    r"only|just|so|equals?|equal to|to|minus|negative|us|usd|rs)(?![a-z])\.?|[a-z]\w{0,20} ?=)*+", re.IGNORECASE)
_REMARK = re.compile(
    r"[.!?](?=\s|$)| ?[(\[;—]| - (?![0-9])|,? (?:because|since|as|which|where|when|while|if|so|but not|not|instead|"
    r"rather|after|before|in|on|at|for|of|out of|from|with|than|per|each|every|by|during|over|within|"
    r"to(?! [$€£]?[0-9]))\b",
    re.IGNORECASE)
_JOINS_ANSWERS = re.compile(r"[\s,;.&$|]*(?:and|or)?[\s,;.&$|]*", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?](?=\s)|\n")
_EQUALS = re.compile(r"=+>?|≈|→|\bround(?:s|ed)?(?: (?:up|down|off))? to\b", re.IGNORECASE)
_BULLET = re.compile(r"^\s*(?:[-*•]|[0-9]{1,3}[.)])\s+(?=\S)")
_BARE_NUMBER = re.compile(r"\s*[-$]?[0-9][0-9,.]{0,60}\s*")
_ASIDE = re.compile(r"(?:\b(?:after|in|for|over|within|during|every|per|each|the (?:next|first|last)) "
                    r"[0-9]{1,9} (?:more )?(?:second|minute|hour|day|night|week|month|year)s?"
                    r"|\bout of [$€£]?[0-9,.]{1,20})\b",
                    re.IGNORECASE)


class Final(NamedTuple):
    """What a response states as its final number. value: None when nothing can be graded.

    text: as written. problem: why there is no value: "" , "several" (a wrong answer), "formula" or "none" (unparsable).
    """

    value: Fraction | None
    text: str
    problem: str


@verifier("gsm8k")
def gsm8k(response: str, reference: object, *, example: Mapping[str, object]) -> Verdict:
    """1 when the response's final number equals the reference exactly, else 0.

    reference: a number, its text, or a GSM8K answer whose gold follows `####`. One that holds no number is ERROR.
    """
    gold = reference_number(reference)
    if gold is None:
        return Verdict.error(f"the reference holds no number: {str(reference)[:80]!r}")
    final = final_number(response)
    if final.problem == "several":
        return Verdict.wrong(final.text, "several different final numbers")
    if final.value is None:
        what = "the final number stands in a formula" if final.problem == "formula" else "no final number"
        return Verdict.unparsable(what)
    if final.value != gold:
        return Verdict.wrong(final.text, f"{_short(final.value)} is not {_short(gold)}")
    return Verdict.correct(final.text)


@verifier("gsm8k_format")
def gsm8k_format(response: str, reference: object, *, example: Mapping[str, object]) -> Verdict:
    """1 when the last line after any reasoning is `#### <one number>` and no other line starts with `####`, else 0.

    The line holds the number alone: a sign, thousands marks, decimals or a fraction, and neither unit nor full stop.
    What precedes it is not judged, a bare final line included.
    """
    lines = [line.strip() for line in _after_thinking(response).splitlines() if line.strip()]
    if not lines:
        return Verdict.unparsable("empty")
    if sum(line.startswith("####") for line in lines) != 1 or not lines[-1].startswith("####"):
        return Verdict.wrong(lines[-1][:80], "not exactly one `####` line, at the end")
    stated = lines[-1].removeprefix("####").strip()
    if not re.fullmatch(r"-?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+|/[0-9]+)?", stated[:2 * MAX_DIGITS]):
        return Verdict.wrong(stated[:80], "the `####` line is not one plain number")
    return Verdict.correct(stated)


def reference_number(reference: object) -> Fraction | None:
    """The gold number, or None when the reference holds none. A float counts as the decimal it prints as."""
    if not isinstance(reference, str | int | float | Fraction):
        return None
    text = plain(str(reference).rsplit("####", 1)[-1][-_ZONE:]).strip()
    found = quantities(text)
    return found[0].value if len(found) == 1 else None


def final_number(response: str) -> Final:
    """The response's final number, by the policy at the head of this file."""
    text = plain(_without_continuation(_after_thinking(response))[-_LOOKED_AT:])
    for find in (_hash_zones, _boxed_zones, _tag_zones, _phrase_zones):
        zones = find(text)
        if zones:
            return _read(zones)
    return _last_sentence(text)


def _after_thinking(response: str) -> str:
    closed = response.rfind("</think>")
    rest = response[closed + len("</think>"):] if closed >= 0 else response
    return rest.partition("<think>")[0]


def _without_continuation(text: str) -> str:
    """A marker counts once a number has been written: before that, the response may be restating its own question."""
    ended = _END_OF_TURN.search(text.lstrip(), 1)
    text = text.lstrip()[:ended.start()] if ended else text.lstrip()
    number = re.search(r"\d", text)
    head = 1 if _NEXT_QUESTION.match(text) else 0
    following = _NEXT_QUESTION.finditer(text, number.start() + head) if number else iter(())
    return text[:next((m.start() for m in following), len(text))]


def _hash_zones(text: str) -> list[str]:
    """Rests of the last `####` lines that state an answer, those directly above the last one included."""
    lines = [line for line in text.splitlines() if line.strip()]
    zones: list[str] = []
    for i in range(len(lines) - 1, -1, -1):
        _, mark, rest = lines[i].partition("####")
        if mark and not rest.strip() and i + 1 < len(lines) and not zones:
            rest = lines[i + 1]
        if mark and _is_direct(rest.replace("#", " ")):
            zones.append(rest.replace("####", " , ")[:_ZONE])
        if zones and (not mark or len(zones) == _PLACES):
            break
    return zones


def _boxed_zones(text: str) -> list[str]:
    r"""Contents of the last `\boxed{}`, and of those joined to it by nothing but punctuation, "and", "or"."""
    zones: list[str] = []
    follows = len(text)
    for match in list(re.finditer(r"\\f?box(?:ed)?\s?(?=[{0-9-])", text))[:-_PLACES - 1:-1]:
        content, end = _braced(text, match.end())
        if not content.strip():
            continue
        if zones and not _JOINS_ANSWERS.fullmatch(text[end:follows][:_ZONE]):
            break
        zones.append(content)
        follows = match.start()
    return zones


def _braced(text: str, start: int) -> tuple[str, int]:
    """Content and end of the brace that opens at `start`, or of the bare word there; empty when it never closes."""
    if text[start] != "{":
        word = re.compile(r"[^\s}]{1,60}").match(text, start)
        return (word[0], word.end()) if word else ("", start)
    depth = 0
    for i in range(start, min(len(text), start + _ZONE)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return text[start + 1:i], i + 1
    return "", start


def _tag_zones(text: str) -> list[str]:
    found = [m[1] for m in _TAG.finditer(text) if m[1].strip()]
    return found[-1:]


def _phrase_zones(text: str) -> list[str]:
    """The sentence after the last "answer is", when the number follows directly."""
    for match in list(_PHRASE.finditer(text))[:-_PLACES - 1:-1]:
        rest = text[match.end():match.end() + _ZONE].lstrip(" :\n*")
        zone = rest.partition("\n")[0]
        if _is_direct(zone):
            return [zone]
        if re.search("[0-9]", zone):
            return []
    return []


def _is_direct(zone: str) -> bool:
    lead = _LEAD_IN.match(zone[:_ZONE])
    rest = zone[lead.end() if lead else 0:]
    return re.match(r"[.+]?\s?[0-9]|\\[a-z]|[√±<≤≥]", rest) is not None or words(rest) is not None


def _read(zones: list[str]) -> Final:
    """The one number that all zones state."""
    finals = [_read_zone(zone) for zone in zones]
    values = {final.value for final in finals}
    return finals[0] if len(values) == 1 else Final(None, ", ".join(f.text for f in reversed(finals))[:80], "several")


def _read_zone(zone: str) -> Final:
    stated = zone.strip()[:_ZONE]
    found = quantities(stated)
    if not found:
        lead = _LEAD_IN.match(stated)
        value = words(stated[lead.end() if lead else 0:])
        return Final(value, stated[:80], "" if value is not None else "none")
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
    sentences = [s for s in _SENTENCE_END.split(text) if s.strip()]
    if len(sentences) > 1 and all(_BARE_NUMBER.fullmatch(s) for s in sentences[-2:]):
        return _read(sentences[:-3:-1])  # a column of numbers offers each of them
    for sentence in reversed(sentences):
        sentence = _BULLET.sub("", sentence)[-_ZONE:]
        if quantities(sentence):
            return _last_number(sentence)
    return Final(None, "", "none")


def _last_number(sentence: str) -> Final:
    found = quantities(sentence)
    reason = sentence.find(" because ", found[0].end)
    asides = [aside.span() for aside in _ASIDE.finditer(sentence)]
    kept = [q for q in found if not any(start <= q.start < end for start, end in asides)
            and not 0 <= reason < q.start] or found
    result = _after_equals(sentence, kept)
    # After an equals sign the result comes first ("= 8 years old 4 years from now"); in a sentence it comes last.
    first = len(result) < len(kept) or bool(_EQUALS.search(sentence, 0, result[0].start))
    final, *beside = result if first else result[::-1]
    if final.value is None:
        return Final(None, final.text, "formula")
    if beside and beside[0].value != final.value:
        left, right = (final, beside[0]) if first else (beside[0], final)
        if _JOINS_ANSWERS.fullmatch(sentence, left.end, right.start):
            return Final(None, sentence.strip()[:80], "several")
    return Final(final.value, final.text, "")


def _short(value: Fraction) -> str:
    text = str(value)
    return text if len(text) <= 40 else text[:40] + "..."
