"""The sentences of a text that may state a result, and whether the text ends by asking for one.

Left out are questions, offers ("Let me know"), notes, checks and headings ("Step 7"). A text that ends in a question
("How many are left?") or in a task ("Simplify $\\sqrt{242}$.", "Express your answer as a fraction.") repeats what it
was asked: it states no answer, whatever numbers it holds. "Find the total: 48 + 24 = 72" is a step, not a task.

Known false negatives: an answer with a question of the same kind behind it ("It is 72. How many is that a week?"); a
last step that only names what it does ("Convert 4320 seconds to 72 minutes").
"""

from __future__ import annotations

import re

__all__ = ["STEP", "ends_by_asking", "result_sentences"]

_ZONE = 400
"""Characters of a sentence that are read: an answer that starts later is not stated plainly."""

_FILLER = "\ue000"
"""What `math.last_sentence` writes over formulas."""

_SENTENCE = re.compile(r"((?:[^.!?\n]|[.!?](?!\s|$))*+)([.!?]?)")
_LABEL = re.compile(
    r"\s*(?:[-*•]|(?:#{1,6} ?)?(?:[0-9]{1,3}[.)]|(?:step|part|case) ?[0-9]{1,3} ?[.):-]))\s+(?=\S)", re.IGNORECASE)
_NUMBERED = re.compile(r"^[#*_> \t]{0,8}([0-9]{1,3})[.):][*_ ]{1,4}(?=[A-Za-z])", re.MULTILINE)
STEP = re.compile(r"[\s*_#>-]{0,8}step ?[0-9]{1,3}\b", re.IGNORECASE)
_HEADING = re.compile(r"[\s*_#>-]{0,12}(?:step|part|case|section|problem|question|exercise) ?#?[0-9]{1,3}[\s*_:.]{0,8}",
                      re.IGNORECASE)
_BESIDE_THE_POINT = re.compile(
    r"[\s>*_(\[-]{0,6}(?:let me know|would you|do you|did you|if you|shall i|feel free|please|i hope|hope |thank|"
    r"what else|anything else|is there anything|how does (?:that|this)|how else|"
    r"(?:how )?(?:can|may) i|can you|could you|any (?:other |more )?questions|are there any|"
    r"(?:side |foot)?note\b|p\.?s\b|check\b|checking|verif|double.check|source|confidence|disclaimer|[0-9]{1,2}\] )",
    re.IGNORECASE)
_INQUIRES = re.compile(r"\b(?:how|what|which|who|whose|whom|when|where|find|compute)\b(?! (?:if|about|do you think)\b)",
                       re.IGNORECASE)
_SETS_A_TASK = re.compile(
    r"[\s>*_#(\"'-]{0,8}(?:(?:simplify|compute|evaluate|calculate|determine|expand|factor(?:i[sz]e)?|convert|rewrite|solve|"
    r"rationali[sz]e|differentiate|integrate)\b(?!,)"
    r"|(?:find|express|write|state|enter|prove|show|estimate)(?:\W{0,3}\Z|\W{0,3}[^\w\s]|\W{1,3}(?:[0-9]|(?:[A-Za-z]|"
    r"an|and|the|all|both|each|any|this|these|it|its|that|how|what|in|as|your)\b))"
    r"|(?:give|round|put|report|leave) (?:your|the|all|any)\b[^.\n]{0,40}\banswers?\b|reason step\b)", re.IGNORECASE)
_NAMED_STEP = re.compile(r"\W{0,8}[A-Za-z]+ (?!following|expression)[^:\n]{3,80}:[\s*$]{0,6}"
                         r"-?[$€£]?[0-9][0-9.,]{0,60}%?(?: [A-Za-z]{1,20}){0,3}[\s*$.]{0,6}")
_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{2,}|[:$]")
_COMMAND = re.compile(r"\\[A-Za-z]+")
_DRAWING = re.compile(r"\[asy\](?:(?!\[/?asy\]).)*+\[/asy\]", re.DOTALL)


def result_sentences(text: str) -> list[str]:
    """The sentences of a text that may state a result, at most 400 characters of each, without list marks.

    Offers, notes and checks are left out, unless nothing but questions and headings is beside them.
    """
    found = [(s[1], s[2]) for s in _SENTENCE.finditer(_without_list_numbers(text)) if s[1].strip()]
    stating = [words for words, end in found if end != "?" and not _HEADING.fullmatch(words)]
    kept = [words for words in stating if not _BESIDE_THE_POINT.match(words)]
    return [_without_label(words)[-_ZONE:] for words in kept or stating]


def ends_by_asking(text: str, masked: str) -> bool:
    """Whether the last sentence, offers and notes aside, asks or sets a task. masked: the text, its formulas hidden."""
    if "[asy]" in text:
        text, masked = (_DRAWING.sub(lambda drawing: " " * len(drawing[0]), one) for one in (text, masked))
    begin, end, mark = _last_sentence(masked)
    words = masked[begin:end]
    if mark == "?":
        return _INQUIRES.search(words) is not None
    return _SETS_A_TASK.match(words) is not None and not _is_step(text[begin:end])


def _last_sentence(masked: str) -> tuple[int, int, str]:
    """Where the last sentence stands, offers and notes aside, and its end mark.

    A value alone on its line goes with the line that leads in to it: "Simplify", below it the formula.
    """
    begin, end, mark = 0, 0, ""
    for sentence in _SENTENCE.finditer(masked):
        if re.search(rf"[^\W_]|{_FILLER}", sentence[1]) and not _BESIDE_THE_POINT.match(sentence[1]):
            led_in = not mark and not re.search("[A-Za-z]", sentence[1])
            begin, end, mark = begin if led_in else sentence.start(1), sentence.end(1), sentence[2]
    return begin, end, mark


def _is_step(sentence: str) -> bool:
    """Whether what begins like a task is carried out: "Calculate 48 + 24 = 72", but not "Find x if 2x + 3 = 7"."""
    left, equals, right = sentence.rpartition("=")
    if equals and re.search("[0-9]", right):
        calculated = _COMMAND.sub("", left[max((word.end() for word in _WORD.finditer(left)), default=0):])
        return re.search("[0-9]", calculated) is not None and not re.search("[A-Za-z]", calculated)
    return _NAMED_STEP.fullmatch(sentence) is not None


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
