"""Which code of a response counts, decided without compiling any of it here: untrusted source can crash a compiler.

1. Only what follows the reasoning: after the last `</think>`; an unclosed `<think>` leaves nothing.
2. Complete fences (``` or ~~~, three or more, closed by a line of the same) marked python, py, python3 or not marked.
   For a function the last one that compiles and defines it at its top level, and only where there is none one that
   imports its name, as tests of the answer's own do; for a whole program the last marked one that compiles, and where
   none is marked the last.
3. Where there is no fence at all, the whole text, on the same condition.
4. Where the row's field `prompt` holds the head of the function, as in HumanEval, code that continues the prompt counts
   too, when no code defines the function by itself.
A fence line inside a string of the code ends the block as far as Markdown is concerned; where what precedes it does not
compile, the text up to the next fence line is tried. What is drawn up here is tried in order inside the sandbox.

Known false negatives: a function whose helpers stand in another block; code in a fence that was never closed, or of
another label; more than 256 KiB of code. Known false positive: a draft that is followed by prose taking it back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from textwrap import dedent, indent
from typing import NamedTuple

from reasongym.verifiers.math.turn import after_thinking

__all__ = ["MAX_CHARS", "Choices", "choices", "is_head"]

MAX_CHARS = 2**18
_MOST_FENCES = 200
_MOST_TRIED = 40
_ENDS_TRIED = 4
_BODY = "    "
_LABEL = r"[^`\s](?:[^`\n]{0,80}[^`\s])?"
_FENCE = re.compile(rf"^[ \t]{{0,12}}+(`{{3,}}+|~{{3,}}+)[ \t]{{0,20}}+({_LABEL})?[ \t]{{0,20}}$", re.MULTILINE)
_PYTHON = re.compile(r"(?:python|py|python3)\b", re.IGNORECASE)


class Choices(NamedTuple):
    """sources: to be tried in this order. problem: why there are none."""

    sources: tuple[str, ...]
    problem: str = ""


class _Block(NamedTuple):
    code: str
    marked: bool


def is_head(prompt: str, entry_point: str) -> bool:
    """Whether a row's prompt may be the head of the function: in other data sets it is a sentence."""
    return len(prompt) <= MAX_CHARS and re.search(rf"^(?:async )?def {entry_point}\(", prompt, re.MULTILINE) is not None


def choices(response: str, entry_point: str | None, prompt: str = "") -> Choices:
    """prompt: the head of the function, where the row has one."""
    text = after_thinking(response).replace("\r\n", "\n")
    fences = list(_FENCE.finditer(text))
    if len(fences) > _MOST_FENCES:
        return Choices((), f"more than {_MOST_FENCES} fences")
    blocks = [_Block(text, False)] if not fences else list(_blocks(text, fences))[::-1]
    if not text.strip() or not blocks:
        return Choices((), "no complete fence of Python" if fences else "no code")
    if entry_point is None and any(block.marked for block in blocks):
        blocks = [block for block in blocks if block.marked]
    codes = [block.code.removeprefix("\ufeff") for block in blocks if len(block.code) <= MAX_CHARS]
    sources = _sources(codes, entry_point, prompt)
    if not sources:
        long = any(len(block.code) > MAX_CHARS for block in blocks)
        return Choices((), f"more than {MAX_CHARS} characters of code" if long else f"no {entry_point} is defined")
    return Choices(tuple(source for source, chars in zip(sources, accumulate(map(len, sources)), strict=True)
                         if chars <= 2 * MAX_CHARS)[:_MOST_TRIED])


def _blocks(text: str, fences: Sequence[re.Match[str]]) -> Iterator[_Block]:
    """Complete blocks in order; of one block its longer readings first, so that reversed the shortest comes first."""
    at = 0
    while at < len(fences):
        opening = fences[at]
        label = opening[2] or ""
        ends = [i for i in range(at + 1, len(fences)) if _closes(fences[i], opening)][:_ENDS_TRIED]
        if not ends:
            return
        if not label or _PYTHON.match(label):
            for end in reversed(ends):
                yield _Block(text[opening.end() + 1:fences[end].start()], bool(label))
        at = ends[0] + 1


def _closes(fence: re.Match[str], opening: re.Match[str]) -> bool:
    return not fence[2] and fence[1][0] == opening[1][0] and len(fence[1]) >= len(opening[1])


def _sources(codes: Sequence[str], entry_point: str | None, prompt: str) -> list[str]:
    whole = [dedent(code) for code in codes if entry_point is None or entry_point in code]
    if entry_point is None or not prompt:
        return whole
    head = prompt if prompt.endswith("\n") else f"{prompt}\n"
    continued = (head + body for code in codes for body in _as_bodies(code))
    return [*whole, *(version for version in continued if len(version) <= MAX_CHARS)]


def _as_bodies(code: str) -> tuple[str, ...]:
    """As it is, shifted as a whole, and with the first line's lost indentation given back."""
    return code, indent(dedent(code), _BODY), _BODY + code.lstrip()
