"""JSON as RFC 8259 has it, read strictly and within bounds; equality as JSON Schema has it.

Refused, where Python's own reader is lenient or fails late: a key that stands twice in an object, NaN and Infinity, a
number that a float cannot hold (1e400, 1e-400), an integer of over 1,000 digits, nesting deeper than 64. A lone
surrogate is read as it stands; a byte order mark is skipped by whoever cuts the text out.

Known limit: a fraction is read as the nearest double, so 0.1 and 0.10000000000000000001 are one number.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple, NoReturn

__all__ = ["MAX_CHARS", "MAX_DEPTH", "MAX_DIGITS", "JsonProblem", "Parsed", "canonical", "closing", "parse",
           "parse_at", "type_name"]

MAX_CHARS = 1_000_000
MAX_DEPTH = 64
MAX_DIGITS = 1000

# A string that never closes reaches to the end of the text: else `\"\"\"...` would be scanned anew from each quote.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.?)*+"?|[\[\]{}]', re.DOTALL)
_SPACE = re.compile(r"[ \t\n\r]*+")


class JsonProblem(ValueError):
    """Text that is not the JSON asked for. position: the character at which that shows."""

    def __init__(self, problem: str, position: int) -> None:
        super().__init__(problem)
        self.position = position


class Parsed(NamedTuple):
    """A value and the position just behind it."""

    value: object
    end: int


class _Refused(ValueError):
    """What a hook of the decoder refuses; it does not know where that stands."""


def parse(text: str) -> object:
    """The value that the whole text is, white space around it left aside. Raises JsonProblem."""
    parsed = parse_at(text, _after_space(text, 0))
    rest = _after_space(text, parsed.end)
    if rest < len(text):
        raise JsonProblem(f"text follows the document: {text[rest:rest + 20]!r}", rest)
    return parsed.value


def parse_at(text: str, start: int) -> Parsed:
    """The value that begins exactly at `start`. Raises JsonProblem."""
    if len(text) - start > MAX_CHARS:
        raise JsonProblem(f"{len(text) - start} characters are more than {MAX_CHARS}", start)
    closing(text, start)
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise JsonProblem(f"{error.msg} at character {error.pos}", error.pos) from error
    except _Refused as error:
        raise JsonProblem(str(error), len(text)) from error
    return Parsed(value, end)


def closing(text: str, start: int) -> int | None:
    """The position behind the bracket that closes the one at `start`, strings passed over; None where none does.

    A text that begins with no bracket is closed at once. Raises JsonProblem for nesting deeper than 64.
    """
    if text[start:start + 1] not in ("{", "["):
        return start
    depth = 0
    for token in _TOKEN.finditer(text, start):
        if token[0] in ("{", "["):
            depth += 1
            if depth > MAX_DEPTH:
                raise JsonProblem(f"nested deeper than {MAX_DEPTH}", token.start())
        elif token[0] in ("}", "]"):
            depth -= 1
            if depth == 0:
                return token.end()
    return None


def canonical(value: object) -> str:
    """A text that two values share exactly when JSON Schema calls them equal: 1 and 1.0 do, 1 and true do not.

    A text and not nested tuples: numbers that collide in Python's hash are easily made, colliding texts are not.
    """
    return json.dumps(_whole_numbers_as_int(value), sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def type_name(value: object) -> str:
    """`object`, `array`, `string`, `number`, `boolean` or `null`."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, dict):
        return "object"
    return "array" if isinstance(value, list) else "string" if isinstance(value, str) else "number"


def _whole_numbers_as_int(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_whole_numbers_as_int(item) for item in value]
    if isinstance(value, dict):
        return {name: _whole_numbers_as_int(item) for name, item in value.items()}
    return value


def _after_space(text: str, start: int) -> int:
    space = _SPACE.match(text, start)
    return space.end() if space else start


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    read = dict(pairs)
    if len(read) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in read if names.count(name) > 1)
        raise _Refused(f"the key {twice[:80]!r} stands twice in one object")
    return read


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise _Refused(f"an integer of {len(digits)} digits, more than {MAX_DIGITS}")
    return int(digits)


def _fraction(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")) or (value == 0 and re.search("[1-9]", re.split("[eE]", text)[0])):
        raise _Refused(f"{text[:40]} is out of the range of a double")
    return value


def _constant(name: str) -> NoReturn:
    raise _Refused(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_float=_fraction,
                            parse_constant=_constant)
