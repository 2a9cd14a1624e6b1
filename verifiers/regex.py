"""The response, or what follows its reasoning, matches a pattern of the task's author.

The reference is a pattern, or an object {"pattern", "flags", "mode"}: `flags` out of "imsxa" (Python's letters), `mode`
"fullmatch" (the default: the whole text, up to white space at its ends) or "search" (anywhere). Python's syntax. Text
after the last `</think>` is matched, its last 20,000 characters. One without a character that is seen is empty.

A pattern that does not compile is ERROR. Nothing here bounds the time of one that backtracks without end, such as
`(a+)+$`: the scoring pool kills it, and the answer gets TIMEOUT. Write possessive (`a++`) or bounded repeats.

Known false positives: everything that the pattern matches, which with "search" is soon more than was meant.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

from reasongym.verifiers.math.turn import LOOKED_AT, after_thinking
from reasongym.verifiers.registration import verifier
from reasongym.verifiers.verdict import Verdict

__all__ = ["regex"]

_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE, "a": re.ASCII}
_MODES = ("fullmatch", "search")
_FILLERS = "\u115f\u1160\u2800\u3164\uffa0\ufe0f\ufe0e\u034f"
"""Letters and marks that are drawn as nothing."""

_LONGEST_PATTERN = 10_000


@verifier("regex")
def regex(response: str, reference: object, *, example: Mapping[str, object]) -> Verdict:
    """1 when the pattern matches, else 0. An empty response is unparsable, also where the pattern matches it."""
    try:
        pattern, mode = _rule(reference)
    except ValueError as error:
        return Verdict.error(f"{error}: {str(reference)[:120]}")
    text = after_thinking(response).strip()[-LOOKED_AT:]
    if is_blank(text):
        return Verdict.unparsable("empty")
    match = pattern.fullmatch(text) if mode == "fullmatch" else pattern.search(text)
    return Verdict.correct(match[0][:200]) if match else Verdict.wrong(text[:200], "does not match")


def is_blank(text: str) -> bool:
    """Whether nothing is seen: white space, and characters that only direct or join others (U+200B, U+2060, NUL)."""
    return all(char.isspace() or unicodedata.category(char) in ("Cc", "Cf") or char in _FILLERS for char in text)


def _rule(reference: object) -> tuple[re.Pattern[str], str]:
    """Raises ValueError saying what is wrong."""
    fields: Mapping[str, object] = reference if isinstance(reference, Mapping) else {"pattern": reference}
    unknown = set(fields) - {"pattern", "flags", "mode"}
    pattern, flags, mode = fields.get("pattern"), fields.get("flags", ""), fields.get("mode", "fullmatch")
    if unknown:
        raise ValueError(f"the reference has {sorted(unknown)} beside pattern, flags and mode")
    if not isinstance(pattern, str) or not 0 < len(pattern) <= _LONGEST_PATTERN:
        raise ValueError(f"the pattern is no text of 1 to {_LONGEST_PATTERN} characters")
    if not isinstance(flags, str) or not set(flags) <= _FLAGS.keys():
        raise ValueError(f"flags are letters of {''.join(_FLAGS)}")
    if mode not in _MODES:
        raise ValueError(f"mode is one of {', '.join(_MODES)}")
    return _compiled(pattern, flags), str(mode)


@lru_cache(maxsize=256)
def _compiled(pattern: str, flags: str) -> re.Pattern[str]:
    combined = re.RegexFlag(0)
    for letter in flags:
        combined |= _FLAGS[letter]
    try:
        return re.compile(pattern, combined)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"the pattern does not compile ({error})") from error
