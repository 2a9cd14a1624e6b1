r"""One option of several: the letter or the text that a response states as its final answer.

The reference is a letter, an index from 0, or an option's text; the row's options stand in its field `choices`: a list
of texts, {"text": [...]}, or {"A": ..., "B": ...}; up to 26. Without options only letters are compared. The policy:
1. Only what follows the reasoning counts, and of it the last statement: `\boxed{B}`, `#### B`, `<answer>B</answer>`,
   "(the) answer/option/choice is B", "Answer: B) Paris", "I choose B", "Actually, C". One that names no option is none,
   and so is one that the words before it deny ("I doubt that the answer is B").
2. Without any, a response that is an option ("B", "(b)", "Paris"), or else its last line that is one or ends in "(B)",
   or its first line that is one, where an "Explanation:" follows. A list of the options is no answer.
3. Different options stated at once ("A or B", `\boxed{A} \boxed{B}`, "B) London" where London is C) are wrong.
What is a letter and what a word: `choice_text`.

Known false positives: a letter stated for another purpose after the answer ("Answer: B ... option A: see above").
Known false negatives: an answer in free words ("the second one", "the French capital"), a letter in a running sentence
without "answer", "option" or "choice" before it, options' texts in other words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import NamedTuple

from reasongym.verifiers.choice_text import Named, named_option, option_texts
from reasongym.verifiers.denial import is_denied
from reasongym.verifiers.math.anchors import stated_places
from reasongym.verifiers.math.turn import final_part
from reasongym.verifiers.registration import verifier
from reasongym.verifiers.verdict import Verdict

__all__ = ["choice"]

_PLACES = 32
_ZONE = 400
_STATES = re.compile(
    r"\b(?:answer|ans|option|choice|alternative|letter)s?\b[\"*_]{0,3}(?:"
    r"\s(?:is|are|was|would be|should be|must be|will be)(?![a-z'\u2019])"
    r"|\s?[:=\uff1a]|(?<![:=])\s?-(?=\s)|(?=\s?\(?[A-Z]\)?[.!]?\s*$)){1,3}"
    r"|(?:答案|答え|正解|정답|\b(?:ответ|respuesta|r[ée]ponse|antwort|risposta|resposta))(?:\s(?:correcta|es|est|ist|è|é)\b|"
    r"是|为|は|은|\s?[:=\uff1a]){1,3}"
    r"|\b(?:i(?:['\u2019]ll| will| would)?|we|let['\u2019]s|to)\s(?:choose|select|pick|go with|chose|answer)\b"
    r"(?:\s(?:option|choice|answer))?"
    r"|(?P<revises>\b(?:wait|actually|correction|no|sorry|rather|oops|hmm)\b[\s,:.!-]{1,3}"
    r"(?:(?:it|that)(?:['\u2019]s|\sis)\s)?(?=\(?[A-Z]\)?[.!]?\s*$)"
    r"|\b(?:wait|actually|correction|no|sorry|rather|oops|hmm|I meant?|make that)\b\s?[,:.!-]{1,3}\s"
    r"(?:(?:it|that)(?:['\u2019]s|\sis)\s)?)",
    re.IGNORECASE | re.MULTILINE)
_UP_TO_IT = re.compile(r"(?:[\s*_:>\uff1a\"']|-(?=\s+[^\s\d$.(\\]))*+")
_END = re.compile(r"[.!?](?=\s[A-Z])(?!\s(?:Or|And|Also|Maybe|Perhaps|Possibly|Alternatively|Otherwise|If not)\b)|\n")
_ASKED = re.compile(r"[\s$*_)\].\"']{0,6}\?")
_ASKED_BOX = re.compile(r"\\boxed\s?\{[^{}]{0,80}\}" + _ASKED.pattern)
_BETWEEN = re.compile(r"[\s.,;:!?*_#>$-]*+(?:(?:or|and|but|also|maybe|perhaps|the|my|correct|final|another|possible)"
                      r"(?![A-Za-z])[\s.,;:*_-]*+)*+", re.IGNORECASE)
_NEXT_TURN = re.compile(r"^[ \t>*#]{0,8}(?:next |new )?(?:question|problem|q|human|user)(?: ?[0-9]{1,4})?\*{0,2} ?:",
                        re.IGNORECASE | re.MULTILINE)
_BEFORE_OR = re.compile(r"(?<![\w'\u2019])\(?(?P<letter>[A-HJ-Z])\)?,?\s?(?:or|and|nor|/|maybe|perhaps)\s"
                        r"(?:(?:the|my|maybe|perhaps|possibly)\s)*\Z")
_BULLET = re.compile(r"(?:[-*\u2022>]\s+|>(?=\D))+")
_EXPLAINS = re.compile(r"[*_#\s]{0,6}(?:explanation|reason(?:ing)?|justification|rationale|because|why)\b",
                       re.IGNORECASE)
_CLOSING = re.compile(r"\(([A-Za-z])\)[.!*_\s]{0,6}\Z")


class _Statement(NamedTuple):
    """revises: "Actually, C", which takes back what was stated before it."""

    named: Named
    start: int
    end: int
    revises: bool = False


@verifier("choice")
def choice(response: str, reference: object, *, example: Mapping[str, object]) -> Verdict:
    """1 when the response's final option is the reference, else 0.

    A reference that is none of the options, or could be several, is ERROR; so are options of another form.
    """
    options = _options(example.get("choices"))
    if options is None:
        return Verdict.error(f"choices is no list of options: {str(example.get('choices'))[:60]!r}")
    texts = option_texts(options)
    gold = _gold(reference, texts)
    if gold is None:
        return Verdict.error(f"the reference names no single option: {str(reference)[:60]!r} of {len(options)} options")
    named = _final(response, texts, len(options) or len(ascii_uppercase))
    if named.kind == "none":
        return Verdict.unparsable("no option is stated")
    if named.kind == "several":
        return Verdict.wrong(named.text, "several different options")
    if named.kind == "foreign":
        return Verdict.wrong(named.text, f"no such option: there are {len(options)}")
    same = named.option == gold or (bool(options) and texts[named.option] == texts[gold])
    letters = ascii_uppercase[named.option], ascii_uppercase[gold]
    return Verdict.correct(letters[0]) if same else Verdict.wrong(letters[0], f"{letters[0]} is not {letters[1]}")


def _options(value: object) -> list[str] | None:
    """The row's options; empty where the row has none, None where it has them in a form that is not read."""
    if value is None:
        return []
    if isinstance(value, Mapping) and "text" in value:
        value = value["text"]
    elif isinstance(value, Mapping):
        letters = ascii_uppercase[:len(value)]
        value = [value[letter] for letter in letters] if set(value) == set(letters) else None
    if not isinstance(value, list | tuple) or not 0 < len(value) <= len(ascii_uppercase):
        return None
    return [str(item) for item in value] if all(isinstance(item, str | int | float) for item in value) else None


def _gold(reference: object, texts: Sequence[str]) -> int | None:
    num_options = len(texts) or len(ascii_uppercase)
    if isinstance(reference, bool) or not isinstance(reference, int | str):
        return None
    if isinstance(reference, int):
        return reference if 0 <= reference < num_options else None
    named = named_option(reference, texts, num_options=num_options)
    text = option_texts([reference])[0]
    same = [i for i, option in enumerate(texts) if option == text]
    if named.kind != "one" or any(texts[i] != texts[named.option] for i in same):
        return None
    return named.option


def _final(response: str, texts: Sequence[str], num_options: int) -> Named:
    text = _first_turn(final_part(response), texts, num_options)
    phrases = _phrases(text, texts, num_options)
    places = [place for place in stated_places(text, symbolic=True) if place.kind in ("box", "hash", "tag")]
    end = max((place.end for place in places), default=0)
    if places and (_ASKED.match(text, end) or _ASKED_BOX.search(text, end)):
        return Named("none", 0, "")
    marked = [_Statement(named_option(place.content, texts, num_options=num_options), place.start, place.end)
              for place in places]
    marked = [statement for statement in marked if statement.named.kind != "none"]
    if marked and (not phrases or phrases[0].start < marked[-1].end):
        return _agreed(marked)
    if phrases:
        return _agreed(_adjoining(text, phrases))
    return _unmarked(text, texts, num_options)


def _first_turn(text: str, texts: Sequence[str], num_options: int) -> str:
    """Without an invented next question: one that begins after an answer was stated."""
    for match in list(_NEXT_TURN.finditer(text, 1))[:8]:
        before = text[:match.start()]
        if _STATES.search(before) or stated_places(before, symbolic=True) \
                or _unmarked(before.rstrip(), texts, num_options).kind == "one":
            return before
    return text


def _phrases(text: str, texts: Sequence[str], num_options: int) -> list[_Statement]:
    """Statements in words, the last first."""
    found = []
    for match in list(_STATES.finditer(text))[:-_PLACES - 1:-1]:
        zone = text[match.end():match.end() + _ZONE]
        skipped = _UP_TO_IT.match(zone)
        lead = skipped.end() if skipped else 0
        end = _END.search(zone, lead)
        said = zone[lead:end.start() if end else len(zone)]
        named = named_option(said, texts, num_options=num_options)
        if named.kind == "one" and _is_one_of_two(text[max(0, match.start() - 60):match.start()], named, texts):
            named = Named("several", 0, named.text)
        takes_back = bool(match["revises"])
        if named.kind == ("one" if takes_back else named.kind) != "none" and not is_denied(text, match.start()):
            found.append(_Statement(named, match.start(), match.end() + lead + len(said),
                                    takes_back))
    return found


def _is_one_of_two(before: str, named: Named, texts: Sequence[str]) -> bool:
    """Whether another option stands before the statement, joined to it: "option A or option B", "Rome, or option B"."""
    letter = _BEFORE_OR.search(before)
    if letter:
        return ascii_uppercase.index(letter["letter"]) != named.option
    said = before.casefold().rstrip()
    return said.endswith(" or") and any(text and said.removesuffix(" or").rstrip(",").endswith(text.casefold())
                                        for i, text in enumerate(texts) if i != named.option)


def _adjoining(text: str, statements: list[_Statement]) -> list[_Statement]:
    """The last statement, and those before it with nothing between: "The answer is A. The answer is B."."""
    final = statements[:1]
    for statement in statements[1:]:
        if final[-1].revises:
            break
        between = text[statement.end:final[-1].start]
        if statement.end < final[-1].start and not (len(between) <= _ZONE and _BETWEEN.fullmatch(between)):
            break
        final.append(statement)
    return final


def _agreed(statements: list[_Statement]) -> Named:
    """What all name, or several."""
    first = statements[0].named
    different = {(statement.named.kind, statement.named.option) for statement in statements}
    return first if len(different) == 1 else Named("several", 0, first.text)


def _unmarked(text: str, texts: Sequence[str], num_options: int) -> Named:
    lines = [line.strip() for line in text.splitlines() if line.strip(" *_#>`-")]
    if not lines:
        return Named("none", 0, "")
    named = [_line(line, texts, num_options) for line in lines[-2:]]
    if len(named) == 2 and named[0].kind == "one" and named[1].kind != "none" and named[0].option != named[1].option:
        return Named("none", 0, "")  # the options, listed
    if named[-1].kind != "none" and not lines[-1].endswith("?"):
        return named[-1]
    if len(lines) > 1 and _EXPLAINS.match(lines[1]):
        return _line(lines[0], texts, num_options)
    closing = _CLOSING.search(lines[-1])
    labels = set(re.findall(r"\(([A-Za-z])\)", lines[-1]))
    if closing and len(labels) == 1 and not re.search(r"n['\u2019]t|\bnot\b", lines[-1], re.IGNORECASE):
        return named_option(closing[0], texts, num_options=num_options)
    return Named("none", 0, "")


def _line(line: str, texts: Sequence[str], num_options: int) -> Named:
    """What a line names, its bullet left out, unless that may be the sign of another option: "- 20"."""
    bullet = _BULLET.match(line)
    rest = line[bullet.end():] if bullet else line
    if bullet and "-" in bullet[0] and f"-{rest}" in texts:
        return Named("none", 0, line[:200])
    return named_option(rest, texts, num_options=num_options)
