"""The part of a response that can state its answer: after the reasoning, before an invented next turn.

Known false negatives: an answer inside an unfinished `<think>`; an answer more than 20,000 characters before the end.
"""

from __future__ import annotations

import re

__all__ = ["LOOKED_AT", "after_thinking", "before_next_turn", "final_part", "has_next_turn"]

LOOKED_AT = 20_000
"""Characters that are read, from the end: an answer is stated there, and the time to read them is bounded."""

_THINKING = re.compile(r"<(/?)(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_NEXT_TURN = re.compile(
    r"^(?=[ \t>*#neaqphui])[ \t>*#]{0,8}(?:(?:next|new|another) )?"
    r"(?:question|problem|exercise|q|human|user|instruction)(?: ?#?[0-9]{1,4})?\*{0,2} ?:"
    r"|^#{1,6} ?(?:human|user|instruction|input)s?:?[ \t]{0,8}$"
    r"|<\|im_start\|>|<\|start_header_id\|>|<\|user\|>|<start_of_turn>|\[INST\]", re.IGNORECASE | re.MULTILINE)
_END_OF_TURN = re.compile(
    r"<\|(?:im_end|endoftext|eot_id|eom_id|end|end_of_text)\|>|</s>|<eos>|<end_of_turn>|<\uff5cend.of.sentence\uff5c>")
_INVISIBLE = re.compile(r"\\[hv]?phantom\s?\{(?:[^{}]|\{[^{}]{0,100}\}){0,400}+\}")

_STRUCK_OUT = re.compile(
    r"(?:(?<=[\s*_:>(\[#])|\A)~~(?=[^\s~])[^~\n]{1,300}(?<=[^\s~])~~(?![~\w])"
    r"|<(del|strike)>[^<>\n]{1,300}</\1>", re.IGNORECASE)


def after_thinking(response: str) -> str:
    """What follows the last closed `<think>` (or thinking, thought, reasoning); an unclosed one hides the rest.

    A closing tag counts without its opening one, which a chat template may have written into the prompt.
    """
    if "<" not in response:
        return response
    rest, opened = 0, -1
    for tag in _THINKING.finditer(response):
        if tag[1]:
            rest, opened = tag.end(), -1
        elif opened < 0:
            opened = tag.start()
    return response[rest:opened] if opened >= 0 else response[rest:]


def final_part(response: str) -> str:
    """The last 20,000 characters of what the response says after its reasoning.

    Without what a reader never sees, and without what is struck out (`~~7~~`).
    """
    text = _without_next_turn(after_thinking(response).strip())[-LOOKED_AT:]
    text = _INVISIBLE.sub(" ", _without_comments(text)) if "phantom" in text or "<!--" in text else text
    return _STRUCK_OUT.sub(" ", text) if "~~" in text or "</" in text else text


def before_next_turn(text: str, start: int) -> str:
    """What stands before the first head of another turn at or behind `start`."""
    if not has_next_turn(text):
        return text
    found = _NEXT_TURN.search(text, start)
    return text[:found.start()].rstrip() if found else text


def _without_comments(text: str) -> str:
    """HTML comments, an unclosed one up to the end, left out."""
    kept, comment, rest = text.partition("<!--")
    pieces = [kept]
    while comment:
        kept, comment, rest = rest.partition("-->")[2].partition("<!--")
        pieces.append(kept)
    return " ".join(pieces)


def _without_next_turn(text: str) -> str:
    """A marker counts once a number has been written: before that, the response may be restating its own question."""
    if "<" in text:
        ended = _END_OF_TURN.search(text, 1)
        text = text[:ended.start()].rstrip() if ended else text
    if not has_next_turn(text):
        return text
    number = re.search(r"\d", text)
    head = 1 if _NEXT_TURN.match(text) else 0
    following = _NEXT_TURN.finditer(text, number.start() + head) if number else iter(())
    return text[:next((m.start() for m in following), len(text))].rstrip()


def has_next_turn(text: str) -> bool:
    """Whether anything in the text looks like the head of another turn; fast where nothing does."""
    return (":" in text or "<" in text or "[INST]" in text or "#" in text) and _NEXT_TURN.search(text) is not None
