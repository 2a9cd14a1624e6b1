r"""Where a response states its final answer: `#### x`, `\boxed{x}`, `<answer>x</answer>`, "the answer is x".

Policy, so that exactly one statement is ever graded and listing or hedging gains nothing:
1. The last anchor that holds an answer stands, of whatever kind. A heading `#### Step 2` or `#### 1. First`, an empty
   `\boxed{}`, "the answer is found by adding" hold none.
2. Anchors divided from the last one by nothing but punctuation, "and", "or" or a unit belong to it: `\boxed{5} or
   \boxed{72}` states both. A phrase ("the answer is") joins phrases only, since many write it just above the `####`.
3. An anchor inside another is the one that counts: "the answer is \boxed{x}".
4. "Wait, actually 71" after an answer revises it, when it states nothing but the answer; on its line, behind a comma,
   semicolon or full stop (`#### 72; actually 71`), too. An answer with a question mark behind it (`#### 72?`) is none.
5. Values offered beside a box in plain words (`\boxed{7} or 8`) belong to it; a box that is denied is none, and a sign
   or exponent that is glued to a box is part of it: `surroundings` says which.
6. An unclosed `\boxed{` or `<answer>` was cut off by the length limit and holds no answer.

Known false positives: an anchor quoted from the prompt counts when no later one follows.
Known false negatives: those of `phrases`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reasongym.verifiers.math.phrases import correction, directness, phrase_places
from reasongym.verifiers.math.places import (
    BOX,
    MAX_ANSWER,
    MAX_LINE,
    MAX_PLACES,
    Place,
    braced,
    has_open_box,
    last_matches,
)
from reasongym.verifiers.math.surroundings import is_asked, is_denied, offered_beside, whole_of

__all__ = ["stated_places"]

_HASHES = re.compile(r"#{4,}+")
_TAG = re.compile(r"<answer>", re.IGNORECASE)
_TAG_END = re.compile(r"</answer>", re.IGNORECASE)
_BULLET = re.compile(r"\s*[-*•]\s+(?=\S)")
_NEXT_LINE = re.compile(r"\s*(?:[-*•]\s+(?=\S))?([^\n]*)")
_HEADING = re.compile(r"[*_ ]{0,4}([0-9]{1,2})(?:[.):]| -)[*_ ]{1,4}[A-Za-z]")
_QUESTION = re.compile(r"(?:[^.!?\n]|[.!?](?!\s|$|\*))*+\?")
_JOINS = re.compile(
    r"[^\w]*+(?:(?!(?:no|not|wait|wrong|so|then|actually|is|was)\b)[^\W\d]{1,20}[^\w]{1,3}){0,2}?"  # a unit
    r"(?:\\?\b(?:and|or|also|maybe|perhaps|possibly|alternatively|else|y|o|und|oder|et|ou|text|q?quad)\b[^\w]*+){1,6}"
    r"|[^\w]*+", re.IGNORECASE)


def stated_places(text: str, *, symbolic: bool) -> list[Place]:
    """The last statement in `text` and those joined to it, last first; empty where there is no anchor.

    symbolic: whether formulas and single words may be answers, or numbers alone.
    """
    strong = [*_boxes(text), *_hashes(text, symbolic), *_tags(text)]
    weak = [place for place in phrase_places(text, symbolic=symbolic) if not (strong and place.kind == "word")]
    readable = (place for place in strong + weak if place.kind == "box" or not has_open_box(place.content))
    places = _innermost(sorted(readable, key=lambda place: place.start))
    if not places:
        return []
    revised = correction(text, places[-1])
    if revised is not None:
        return [revised]
    final = [places.pop()]
    while places and len(final) < MAX_PLACES and _is_phrase(places[-1]) == _is_phrase(final[0]):
        between = text[places[-1].end:final[-1].start]
        if len(between) > MAX_LINE or not _JOINS.fullmatch(between):
            break
        final.append(places.pop())
    return _with_offers(text, final)


def _with_offers(text: str, final: list[Place]) -> list[Place]:
    """The places with what is offered in plain words before the first and behind the last of them; last first."""
    first, last = final[-1], final[0]
    before, behind = offered_beside(text, first.start, last.end)
    if behind and last.kind in ("box", "tag"):
        final = [Place("box", behind, last.end, last.end), *final]
    if before and first.kind in ("box", "tag"):
        final = [*final, Place("box", before, first.start, first.start)]
    return final


def _is_phrase(place: Place) -> bool:
    return place.kind in ("phrase", "word")


def _innermost(places: list[Place]) -> list[Place]:
    return [place for i, place in enumerate(places) if i + 1 == len(places) or places[i + 1].start >= place.end]


def _boxes(text: str) -> Iterator[Place]:
    for match in last_matches(BOX, text) if "box" in text else ():
        content, end = braced(text, match.end())
        if content.strip(" $\n.…_?") and not is_denied(text, match.start(), end):
            escaped = text[max(0, match.start() - 1):match.start()] == "\\"  # as in a JSON string
            place = Place("box", content.replace("\\\\", "\\") if escaped else content, match.start(), end)
            yield place._replace(content=whole_of(text, place))


def _hashes(text: str, symbolic: bool) -> Iterator[Place]:
    """Rests of lines after `####`, or the next line where nothing follows; numbered and worded headings left out."""
    numbered: set[int] = set()
    for place in reversed(_hash_lines(text)) if "####" in text else ():
        heading = _HEADING.match(place.content)
        if heading and (heading[1] == "1" or int(heading[1]) - 1 in numbered):
            numbered.add(int(heading[1]))
            continue
        follows = directness(place.content, symbolic=symbolic) if not _QUESTION.match(place.content) else ""
        # "#### even" ends a response, "#### Conclusion" opens a part of it.
        if follows == "answer" or (follows == "word" and not text[place.end:].strip()):
            yield place


def _hash_lines(text: str) -> list[Place]:
    """The last 64 rests of lines, last first."""
    places = []
    follows = len(text)
    for match in last_matches(_HASHES, text):
        newline = text.find("\n", match.end(), follows)
        end = newline if newline >= 0 else follows
        rest = text[match.end():end]
        if not rest.strip(" \t*_:"):
            line = _NEXT_LINE.match(text, end, follows)
            rest, end = (line[1], line.end()) if line else (rest, end)
        follows = match.start()
        places.append(Place("hash", rest[:MAX_LINE], match.start(), end))
    return places


def _tags(text: str) -> Iterator[Place]:
    ends = last_matches(_TAG_END, text)[::-1] if "</" in text else []
    for match in last_matches(_TAG, text) if ends else ():
        end = next((end for end in ends if end.start() >= match.end()), None)
        content = text[match.end():end.start()] if end else ""
        if end and content.strip() and len(content) <= MAX_ANSWER and not is_asked(text, end.end()):
            yield Place("tag", _BULLET.sub("", content, count=1) if _BULLET.match(content) else content,
                        match.start(), end.end())
