"""The one JSON document that a response offers, decided from the response alone.

1. Only text after the last `</think>` counts; an opened and never closed `<think>` leaves nothing. A tag within a
   string of a document is text. What follows an end-of-turn token is cut off, and so is an invented next turn
   ("Question: ...") behind the first document.
2. The last complete fence labelled `json` decides, also when its content is not JSON. Without any, the last complete
   fence of another label, or none, whose content is JSON.
3. Without such a fence, the last object or array that stands in the text at top level; what is nested in another, or in
   brackets of any other meaning (`{{"a": 1}, "b": 2}`, `{b: {"a": 1}}`; those of a LaTeX command aside), never counts.
   One that begins as JSON, or as what is often taken for it (`{a: 2}`, `['x']`, `[NaN]`), and breaks off or breaks the
   rules, behind the last good one, leaves nothing.
   An array counts where it begins a line, follows a colon or is the whole text: "[1]" in a sentence is a remark.
4. Else a scalar, where it is the whole text.
Several different documents are one answer only where the last clearly revises the others. It does not when it is
joined to another by nothing but white space, punctuation, "and" or "or"; when, unfenced, more text follows it; or when
a different object or array stands behind the final fence. The response is then refused as several, also when one of
them is right.

Known false negatives: JSON with comments or trailing commas, two fences for two halves, text on another document after
the answer, a document within braces of prose or code.
Known false positive: a draft in prose is passed over in favor of the last.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from reasongym.verifiers.json_schema.strict_json import MAX_CHARS, JsonProblem, canonical, closing, parse, parse_at
from reasongym.verifiers.math.turn import before_next_turn

__all__ = ["Extracted", "extract"]

# At the end of a line or before another token: within a JSON string, which may hold </s>, something else follows.
_END_OF_TURN = re.compile(r"(?:<\|(?:im_end|endoftext|eot_id|end)\|>|</s>|<eos>|<end_of_turn>)(?=[ \t]*+(?:\Z|\n|<))")
# At the start of a line with the document beside it or below, or anywhere with nothing behind it on its line: a JSON
# string may hold "```json", but neither begins a line nor holds a line end.
_TICKS = r"(?<![`~])(?:`{3,16}+|~{3,16}+)(?![`~])"
_FENCE = re.compile(rf"^[ \t>]{{0,16}}(?:[-*+] |[0-9]{{1,3}}[.)] )?(?P<a>{_TICKS})[ \t]*+(?P<la>[\w+/.-]{{0,40}}+)"
                    rf"|(?P<b>{_TICKS})[ \t]*+(?P<lb>[\w+/.-]{{0,40}}+)[ \t]*+$", re.MULTILINE)
_OPENER = re.compile(r'\{\s*+["}]|\[\s*+["\[\]{0-9tfn-]')
_BRACKET = re.compile(r"(\\(?:[A-Za-z]{1,20}\s?)?|[\^_])?[{\[]")
# What is taken for JSON and is none: a key without quotes or in single ones, a comment, a literal of another language.
_NEARLY = re.compile(r"\{\s*+(?:[A-Za-z_$][\w$]{0,60}+\s?:(?!:)|'|//|/\*|\{|\[|,)"
                     r"|\[\s*+(?:NaN|-?Infinity|undefined|'|,|//|/\*)")
_THINK = re.compile(r"<(/?)think>")
_JOINED = re.compile(r"[\s,;.:&|/*_#>-]*+(?:and|or)?[\s,;.:&|/*_#>-]*+", re.IGNORECASE)
_NOTHING_MORE = re.compile(r"[\s.,;!`*_~)>-]*+")
_SPACE = re.compile(r"[\ufeff \t\r\n]*+")
_MOST = 1000
"""Fences, or brackets tried as documents: more are refused, for each may take a while."""
_MOST_ODD = 5000
"""Brackets of prose before a document: more are refused."""
_MOST_TRIED = 32
"""Brackets tried as documents that hold a tag of reasoning; behind them every tag is one."""


class Extracted(NamedTuple):
    """value: the document; meaningless where there is a problem. problem: "" or why there is none; several: whether
    that is because of several different ones. text: the document as written."""

    value: object
    text: str
    problem: str = ""
    several: bool = False


class _Found(NamedTuple):
    """A candidate from `start` to `end`. problem: "" or why it is no JSON; then `value` is meaningless."""

    value: object
    start: int
    end: int
    text: str
    problem: str = ""
    label: str = ""

    def differs(self, other: _Found) -> bool:
        if self.problem or other.problem:
            return self.problem != other.problem
        return canonical(self.value) != canonical(other.value)


def extract(response: str) -> Extracted:
    """The document, by the policy at the head of this file."""
    text = _answer_part(response)
    if not text:
        return _none("empty")
    if len(text) > MAX_CHARS:
        return _none(f"{len(text)} characters are more than {MAX_CHARS}")
    fences = _fences(text)
    if len(fences) == _MOST:
        return _none(f"{_MOST} fences or more")
    labelled = [fence for fence in fences if fence.label.lower() == "json"]
    chosen = labelled or [fence for fence in fences if not fence.problem]
    return _final_fence(text, chosen) if chosen else _unfenced(text)


def _answer_part(response: str) -> str:
    rest = (_after_thinking(response) if "think>" in response else response).lstrip("\ufeff \t\r\n")
    ended = _END_OF_TURN.search(rest, 1)
    rest = rest[:ended.start()].rstrip() if ended else rest.rstrip()
    # A JSON string holds no line end, so what begins a line like the head of another turn stands outside of it. Before
    # any document it may restate the question.
    opened = _OPENER.search(rest)
    return before_next_turn(rest, opened.start()) if opened else rest


def _after_thinking(response: str) -> str:
    """What follows the last `</think>`, up to an unclosed `<think>`; within a document's string they are text."""
    rest = at = tries = 0
    while (tag := _THINK.search(response, at)) is not None:
        end = None
        while tries < _MOST_TRIED and end is None and (opener := _OPENER.search(response, at, tag.start())) is not None:
            tries += 1
            at, end = _past_document(response, opener.start(), tag.start())
        if end is not None:
            at = end
        elif tag[1]:
            rest = at = tag.end()
        else:
            closes = response.find("</think>", tag.end())
            if closes < 0:
                return response[rest:tag.start()]
            rest = at = closes + len("</think>")
    return response[rest:]


def _past_document(text: str, start: int, tag: int) -> tuple[int, int | None]:
    """Where to look on behind the bracket at `start`, and the end of the document there if `tag` is within it."""
    try:
        end = parse_at(text, start).end
    except JsonProblem:
        return start + 1, None
    return end, end if end > tag else None


def _fences(text: str) -> list[_Found]:
    """Complete fences in order, with what their content is read as."""
    found: list[_Found] = []
    at = 0
    while len(found) < _MOST and (opening := _FENCE.search(text, at)) is not None:
        fence = _fence(text, opening)
        if fence is None:
            break
        found.append(fence)
        at = fence.end
    return found


def _fence(text: str, opening: re.Match[str]) -> _Found | None:
    """The fence that begins there, or None where it is never closed.

    Its content is read first and the close looked for behind it, so that backticks within a string close nothing.
    """
    ticks, label = opening["a"] or opening["b"], opening["la"] or opening["lb"] or ""
    close = re.compile(rf"\s*+{ticks[0]}{{{len(ticks)},}}+")
    space = _SPACE.match(text, opening.end())
    start = space.end() if space else opening.end()
    try:
        value, end = parse_at(text, start)
    except JsonProblem as problem:
        value, end, why = None, start, str(problem)
    else:
        why = ""
        if (closed := close.match(text, end)) is not None:
            return _Found(value, start, closed.end(), text[start:end], "", label)
        why = "the fence holds more than one JSON document"
    end_of_line = re.compile(rf"(?<!{ticks[0]}){ticks[0]}{{{len(ticks)},}}+[ \t]*+$", re.MULTILINE)
    closed = end_of_line.search(text, opening.end())
    if closed is None:
        return None
    return _Found(None, start, closed.end(), text[start:closed.start()], why, label)


def _final_fence(text: str, fences: list[_Found]) -> Extracted:
    final = fences[-1]
    before = fences[-2] if len(fences) > 1 else None
    if before and before.differs(final) and _JOINED.fullmatch(_between(text, before, final)):
        return _several(before, final)
    behind = [found for found in _documents(text, final.end) if not found.problem and found.value not in ({}, [])]
    if not final.problem and any(found.differs(final) for found in behind if type(found.value) is type(final.value)):
        return _several(final, behind[-1])
    return _as_extracted(final)


def _between(text: str, before: _Found, final: _Found) -> str:
    """What stands between two fences, less the opening of the second."""
    return re.sub(r"[`~]{3,}[ \t]*[\w+/.-]{0,40}\s*\Z", "", text[before.end:final.start][:4000])


def _unfenced(text: str) -> Extracted:
    found = _documents(text, 0)
    if not found:
        return _scalar(text)
    final = found[-1]
    others = [other for other in found[:-1] if not other.problem and other.differs(final)]
    if final.problem or not others:
        return _as_extracted(final)
    joined = _JOINED.fullmatch(text[others[-1].end:final.start][:4000]) and others[-1] is found[-2]
    if joined or not _NOTHING_MORE.fullmatch(text, final.end):
        return _several(others[-1], final)
    return _as_extracted(final)


def _documents(text: str, start: int) -> list[_Found]:
    """Objects and arrays at top level from `start` on, and what begins as one and is none."""
    found: list[_Found] = []
    for _ in range(_MOST):
        opener = _OPENER.search(text, start)
        odd = _odd_brackets(text, start, opener.start() if opener else len(text))
        if odd is not None:
            found.append(odd)
            start = odd.end
            continue
        if opener is None:
            return found
        start = opener.start()
        try:
            value, end = parse_at(text, start)
        except JsonProblem as problem:
            end = _end_of_broken(text, start, problem)
            if end > start + 1:
                found.append(_Found(None, start, end, text[start:end], str(problem)))
        else:
            if _is_plausible(text, start, end, value):
                found.append(_Found(value, start, end, text[start:end]))
        start = end
    return [_Found(None, start, start, "", f"{_MOST} brackets or more")]


def _odd_brackets(text: str, start: int, until: int) -> _Found | None:
    """Brackets that open before `until` and are no JSON, though taken for it or around the document at `until`."""
    for _ in range(_MOST_ODD):
        bracket = _BRACKET.search(text, start, until)
        if bracket is None:
            return None
        start = bracket.end()
        if bracket[1]:
            continue
        end = _closed(text, start - 1)
        never_closed = end is None and bracket[0] == "{"  # "[" may be an interval's: [0, 1)
        if never_closed or _NEARLY.match(text, start - 1) or (end is not None and until < end):
            end = end or len(text)
            return _Found(None, start - 1, end, text[start - 1:end], "brackets that are no JSON")
        start = end or start
    return _Found(None, start, len(text), "", f"{_MOST_ODD} brackets or more")


def _closed(text: str, start: int) -> int | None:
    try:
        return closing(text, start)
    except JsonProblem:
        return None


def _end_of_broken(text: str, start: int, problem: JsonProblem) -> int:
    """Where to go on: behind its closing bracket if it begins as JSON does or holds JSON, else behind its opening one.

    As JSON begins: an object with a quoted key, an array with a container, a text or a second element.
    """
    head = text[start + 1:start + 200].lstrip()[:1]
    begins = head == '"' if text[start] == "{" else head in ('"', "{", "[") and head != ""
    if not begins and not (text[start] == "[" and "," in text[start:problem.position][:200] and head != ""
                           and head in "-0123456789tfn"):
        end = _closed(text, start)
        return end if end is not None and _OPENER.search(text, start + 1, end) else start + 1
    return _closed(text, start) or len(text)


def _is_plausible(text: str, start: int, end: int, value: object) -> bool:
    """Whether it is offered as a document. "{}" and "[1]" within a sentence are not."""
    if isinstance(value, dict) and value:
        return True
    line = text[max(text.rfind("\n", 0, start), start - 100) + 1:start] if start else ""
    return not line.strip(" \t>*-") or line.rstrip().endswith((":", "=")) or (start == 0 and end == len(text))


def _scalar(text: str) -> Extracted:
    try:
        return Extracted(parse(text), text)
    except JsonProblem as problem:
        return _none(f"no JSON document: {problem}")


def _as_extracted(found: _Found) -> Extracted:
    return Extracted(None, found.text, f"not JSON: {found.problem}") if found.problem else Extracted(found.value,
                                                                                                     found.text)


def _several(first: _Found, second: _Found) -> Extracted:
    return Extracted(None, f"{first.text[:60]} ... {second.text[:60]}", "several different documents", several=True)


def _none(problem: str) -> Extracted:
    return Extracted(None, "", problem)
