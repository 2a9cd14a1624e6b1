r"""Phrases that announce an answer: "the final answer is", "Answer:", `"answer":`, "wait, actually".

A phrase counts where the answer follows directly: "the answer is about $72", not "the answer is found by adding 5".
Known false negatives: languages without an entry in `_ANSWER`; an answer that starts after other words.
"""

from __future__ import annotations

import re
from typing import Literal

from reasongym.verifiers.math.places import MAX_ANSWER, MAX_LINE, Place, last_matches
from reasongym.verifiers.math.surroundings import is_asked
from reasongym.verifiers.number_words import word_quantities

__all__ = ["correction", "directness", "phrase_places"]

_HINTS = ("ans", "respuesta", "ponse", "antwort", "risposta", "resposta", "答", "正解", "정답", "ответ")
"""One of these is in every phrase, in lower case: looking for them costs a tenth of looking for phrases."""

_ANSWER = "answer|ans|respuesta|r[ée]ponse|antwort|risposta|resposta"
_BEFORE = (r"(?:^|[.,;:!?*#_|\"'{(\n]) ?"
           r"|(?<!check )(?<!checking )(?<!verify )(?<!confirm )\b"  # "we may check our answer: 17 * 44 = 748"
           r"(?:the|final|my|our|correct|numerical|so|thus|hence|therefore|la|die|l'|a) ")
_IS = (r"is|are|was|would be|should be|will be|must be|comes (?:out )?to(?: be)?|equals|es|est|ist|è|é"
       r"|[=:]|[-=]>|→")
_PHRASE = re.compile(
    rf"(?:{_BEFORE})(?:(?:final|correct)[ _])?(?:{_ANSWER})[*_\"']{{0,3}}"
    r"(?: (?:to|for|of) (?:the|this|your|our) (?:\w{1,20} ){0,3}(?:question|problem))?"
    r"(?:,? (?:therefore|thus|then|hence),?)?"
    rf"(?: ?(?:{_IS})(?![a-z])[*_]{{0,3}}){{1,3}}"
    r"|^[#*_> \t]{0,10}(?:final )?answer[*_: \t]{0,6}$"
    r"|(?:答案|答え|正解|정답|ответ)\s?(?:是|为|は|[:=—-]){0,2}", re.IGNORECASE | re.MULTILINE)
_UP_TO_THE_ANSWER = re.compile(r"(?:[ :*\"_\t]|\n\s*(?:[-*•]\s+(?=\S))?)*+")

_REVISES = r"it is|it's|that is|that's|(?:it )?should (?:be|have been)|the (?:correct |right |final )?answer is"
_TAKES_BACK = r"no|wait|actually|sorry|i mean|i meant|make that"
_CORRECTION = re.compile(
    rf"\b(?:{_TAKES_BACK}|correction|oops|scratch that|hold on|it should be|rather)\b(?! than\b)"
    rf"(?:[\s,.:;!-]{{0,3}}\b(?:{_TAKES_BACK}|{_REVISES})\b){{0,4}}[\s,.:;!-]{{1,3}}", re.IGNORECASE)
_PARTED = re.compile(r"[0-9$)}a-z][*_]{0,3}\s?[,;:.!(\u2014-]{1,3}\s?\Z")
_ONLY_AN_ANSWER = re.compile(
    r"[^\w]{0,6}(?:[A-Za-z]{1,20}[^\w]{1,3})?[\d.,/]{1,60}(?:[^\w\d]{0,3}[A-Za-z]{1,20}){0,3}[^\w]{0,6}"
    r"|[^\w]{0,4}(?:\$[^$\n]{1,300}\$|\\\([^$\n]{1,300}\\\))[^\w]{0,4}")

_LEAD_IN = re.compile(
    r"(?:[\s\"'(\[{:=~≈$€£¥₹₩₽₱₫₺₦₴฿|_>*-]|an?(?=\s)|(?:"
    r"the|final|correct|answer|is|are|total|of|about|approximately|roughly|around|exactly|only|just|so|simply|now|"
    r"therefore|equals?|equal to|to|minus|negative|us|usd|eur|gbp|inr|cad|aud|chf|rs|"
    r"set|interval|point|(?:ordered )?pair|triple|vector|matrix|equation|function|expression|number|value|fraction|"
    r"ratio|polynomial)(?![a-z])\.?|[a-z]\w{0,20} ?=)*+", re.IGNORECASE)
_NUMBER_AHEAD = re.compile(r"[.+]?\s?[0-9]|\\[^\s]|[√±<≤≥\u00bc-\u00be\u2150-\u215e]")
_SYMBOL_AHEAD = re.compile(
    r"[∞π∅|]|[A-Za-z](?![A-Za-z])|(?:sqrt|sin|cos|tan|cot|sec|csc|log|ln|exp|pi|arc[a-z]{3}|inf(?:inity)?)(?![a-z])")
_WORD_ALONE = re.compile(
    r"(?!(?:(?:in)?correct|right|wrong|clear|obvious|below|above|found|here|it|this|that|as|not|given|unique|step|"
    r"\w{1,20}ing)\b)[^\W\d_][\w-]{1,30}[^\w]{0,6}", re.IGNORECASE)
_SENTENCE = re.compile(r"(?:\$[^$\n]{0,400}\$|\\[^\n]|[^.!?\n]|[.!?](?!\s|$|\*))*+")


def phrase_places(text: str, *, symbolic: bool) -> list[Place]:
    """The rest of the sentence after each last "answer is", while what stands there is an answer.

    A later "the answer is that she has 72" keeps earlier ones from counting: the last sentence will be read.
    """
    places: list[Place] = []
    lowered = text.lower()
    for match in last_matches(_PHRASE, text) if any(hint in lowered for hint in _HINTS) else ():
        skipped = _UP_TO_THE_ANSWER.match(text, match.end())
        begin = skipped.end() if skipped else match.end()
        place = _phrase_place(text, match.start(), begin, is_json=match[0].rstrip(" :").endswith('"'))
        if place.content.rstrip().endswith("?") or is_asked(text, place.end):
            continue
        follows = directness(place.content, symbolic=symbolic)
        if follows:
            places.append(place._replace(kind="word") if follows == "word" else place)
        elif re.search("[0-9]", place.content):
            break
    return places


def _phrase_place(text: str, start: int, begin: int, *, is_json: bool) -> Place:
    zone = text[begin:begin + MAX_ANSWER]
    for opener, closer in (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)")):
        closes = zone.find(closer, len(opener)) if zone.startswith(opener) else -1
        if closes >= 0:
            tail = zone[closes + len(closer):].partition("\n")[0]
            zone = zone[:closes + len(closer)] + tail
            return Place("phrase", zone, start, begin + len(zone))
    zone = _json_value(zone, in_quotes=text[begin - 1] == '"') if is_json else zone
    sentence = _SENTENCE.match(zone)
    zone = sentence[0] if sentence else ""
    return Place("phrase", zone, start, begin + len(zone))


def _json_value(zone: str, *, in_quotes: bool) -> str:
    r"""The value of {"answer": 72, "unit": "apples"} or {"answer": "\\frac{1}{2}"}: to its quote, comma or brace."""
    if in_quotes:
        closing = re.search(r"(?<!\\)(?:\\\\)*+\"", zone)
        return zone[:closing.end() - 1] if closing else zone
    depth = 0
    for token in re.finditer(r"[{}]|,\s*\"", zone):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if depth < 0 or (depth == 0 and token[0] not in "{}"):
            return zone[:token.start()]
    return zone


def correction(text: str, place: Place) -> Place | None:
    """The last "wait, actually 71" behind the place whose sentence states nothing but an answer.

    The rest of a line or sentence may revise itself: there something must part the two ("72; actually 71").
    """
    start = place.end if place.kind in ("box", "tag") else place.start
    for match in last_matches(_CORRECTION, text[start:place.end + MAX_ANSWER]):
        begin = start + match.end()
        if start + match.start() < place.end and not _PARTED.search(text[start:start + match.start()]):
            continue
        sentence = _SENTENCE.match(text, begin, begin + MAX_LINE)
        if sentence and _ONLY_AN_ANSWER.fullmatch(sentence[0]):
            return Place("phrase", sentence[0], start + match.start(), sentence.end())
    return None


def directness(zone: str, *, symbolic: bool) -> Literal["answer", "word", ""]:
    """Whether an answer follows at once, or (symbolic) a word alone that may be one, or neither."""
    lead = _LEAD_IN.match(zone[:MAX_LINE])
    rest = zone[lead.end() if lead else 0:]
    if _NUMBER_AHEAD.match(rest) or (symbolic and _SYMBOL_AHEAD.match(rest)):
        return "answer"
    spoken = word_quantities(rest[:60])
    if spoken and spoken[0].start == 0:
        return "answer"
    return "word" if symbolic and _WORD_ALONE.fullmatch(rest) else ""
