"""Cases for one verifier: JSON lines as `reasongym verify` reads them, with what is expected where that is known."""

from __future__ import annotations

import json
import math
from pathlib import Path

from reasongym.checking.answers import Asked
from reasongym.errors import DataError, message
from reasongym.tasks import Example, Message
from reasongym.verifiers import Status

__all__ = ["read_cases"]


def read_cases(source: Path) -> list[Asked]:
    """Every line as an answer to a row of its own. `prompt`, where it is text, becomes the row's message.

    Raises DataError naming the line: not JSON, no object, no `response` text, no `reference`, an `expected` that is
    neither a score from 0 to 1, a bool nor a status.
    """
    try:
        lines = source.read_bytes().split(b"\n")
    except OSError as error:
        raise DataError(message(f"cannot read {source}", got=error.strerror, expected="a file of JSON lines",
                                remedy="check --input")) from error
    cases = [_case(line, f"{source}:{number}", number) for number, line in enumerate(lines, 1) if line.strip()]
    if not cases:
        raise DataError(message(f"{source} holds no cases", got="an empty file", expected="a case a line",
                                remedy='write lines such as {"response": "4", "reference": "4", "expected": 1}'))
    return cases


def _case(line: bytes, place: str, number: int) -> Asked:
    try:
        found = json.loads(line.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise _bad(place, "is not JSON", str(error)) from error
    if not isinstance(found, dict) or not isinstance(found.get("response"), str) or "reference" not in found:
        raise _bad(place, "is not a case", line[:80].decode("utf-8", "replace"))
    response, reference = found.pop("response"), found.pop("reference")
    known, expected = "expected" in found, found.pop("expected", None)
    prompt, name = found.pop("prompt", None), str(found.pop("id", number))
    messages = (Message(role="user", content=prompt),) if isinstance(prompt, str) else ()
    row = Example(task="case", split=name, index=number, messages=messages, reference=reference, fields=found)
    if not known:
        return Asked("expected", "case", response, row, "anything")
    return Asked("expected", "case", response, row, "stated", stated=_stated(expected, place))


def _stated(expected: object, place: str) -> float | Status:
    if isinstance(expected, str) and expected in {status.value for status in Status}:
        return Status(expected)
    if isinstance(expected, int | float) and math.isfinite(expected) and 0 <= expected <= 1:
        return float(expected)
    raise _bad(place, "expects what no verdict says", repr(expected)[:80],
               f"a score from 0 to 1, true, false, or one of {', '.join(Status)}")


def _refuse_constant(constant: str) -> float:
    raise ValueError(f"{constant} is not a JSON number")


def _bad(place: str, what: str, got: str, expected: str = "") -> DataError:
    wanted = expected or 'an object such as {"response": "#### 4", "reference": "4", "expected": 1}'
    return DataError(message(f"{place} {what}", got=got, expected=wanted, remedy="correct the line"))
