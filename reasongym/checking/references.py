"""From a row's reference to the answers that state it: bare, in the form its prompt asks for, and nearly right ones."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from fractions import Fraction

from reasongym.tasks import Example

__all__ = ["as_asked", "forms", "near_misses", "numbers_in", "own_rule", "prompt_of", "same_answer"]

_NO_ANSWER = frozenset({"code", "regex"})
"""Verifiers whose references say what is right without being an answer: tests, a pattern."""

_HOLDERS = ("value", "rows", "answer")
_PLACEHOLDER = re.compile(r"<([a-z][a-z _-]{0,30})>")
_ANNOUNCED = re.compile(r"####|\\boxed\{|\b[Aa]nswer ?(?:is|:)")
_NUMBER = re.compile(r"(-?)([0-9][0-9,]{0,30})(\.[0-9]{1,30})?")
_FRACTION = re.compile(r"\\[dt]?frac(?:\{([0-9]{1,30})\}\{([0-9]{1,30})\}|([0-9])([0-9]))")
_THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3})")


def forms(reference: object, verifier: str = "") -> tuple[str, ...]:
    """The texts that a reference may be written as; none where it holds no answer (tests, a pattern, a schema alone).

    A mapping's answer is what it has under "value", "rows" or "answer".
    """
    if verifier in _NO_ANSWER or reference is None:
        return ()
    if isinstance(reference, Mapping):
        held = [reference[key] for key in _HOLDERS if key in reference]
        # A gold value that is text is a JSON document where a schema stands beside it, and an answer elsewhere.
        return (json.dumps(held[0]),) if held and "schema" in reference else forms(held[0]) if held else ()
    if isinstance(reference, str):
        return (reference,)
    if isinstance(reference, bool):
        return (str(reference), json.dumps(reference))
    try:
        return tuple(dict.fromkeys((json.dumps(reference), str(reference))))
    except (TypeError, ValueError, RecursionError):
        return ()


def own_rule(reference: object, verifier: str) -> bool:
    """Whether a row's own rule says what is right, so that a text which is wrong elsewhere may be right here."""
    schema_alone = isinstance(reference, Mapping) and "schema" in reference and "value" not in reference
    return verifier == "regex" or schema_alone


def prompt_of(example: Example) -> str:
    """The last message, or empty text."""
    return str(example.messages[-1]["content"]) if example.messages else ""


def as_asked(prompt: str, answer: str) -> str:
    r"""The answer in the form that the prompt asks for, bare where it names none that is known.

    Known: a placeholder (`#### <number>`, `Answer: <letter>`, `<answer>...</answer>`), a `####` line, `\boxed{}`.
    """
    for line in reversed(prompt.splitlines()):
        for holder in reversed(list(_PLACEHOLDER.finditer(line))):
            if f"</{holder[1]}>" in prompt:
                return f"<{holder[1]}>{answer}</{holder[1]}>"
            announced = list(_ANNOUNCED.finditer(line, 0, holder.start()))
            lead = line[announced[-1].start():holder.start()] if announced else ""
            return f"{lead}{answer}{'}' if '{' in lead else ''}"
    if "\\boxed" in prompt:
        return f"\\boxed{{{answer}}}"
    return f"#### {answer}" if "####" in prompt else answer


def near_misses(answer: str) -> Iterator[str]:
    """Wrong numbers beside a right one: a digit more in front or behind, the other sign. None for what is no number.

    A digit after a decimal point is left alone: a tolerance may be part of the task.
    """
    number = _NUMBER.fullmatch(answer.strip())
    if number is None:
        return
    sign, whole, decimals = number[1], number[2], number[3] or ""
    yield f"{sign}1{whole.replace(',', '')}{decimals}"
    if not decimals:
        yield f"{sign}{whole.replace(',', '')}1"
    if re.search("[1-9]", answer):
        yield f"{'' if sign else '-'}{whole}{decimals}"


def numbers_in(text: str) -> Iterator[str]:
    """Every plain number that stands in a text, with its sign and without: `1e-999` holds 1, -999 and 999."""
    for found in re.finditer(r"-?([0-9]{1,30}(?:\.[0-9]{1,30})?)", text):
        yield from dict.fromkeys((found[0], found[1]))


def same_answer(left: str, right: str) -> bool:
    """Whether two texts differ in no more than notation: case, composition, white space, LaTeX's marks, or the way a
    number is written. Verifiers are not asked, for they are what is being checked."""
    values = {_number(_normal(text)) for text in (left, right)}
    return _normal(left) == _normal(right) or (len(values) == 1 and None not in values)


def _normal(text: str) -> str:
    joined = "".join(unicodedata.normalize("NFKC", text[:100_000]).casefold().split())
    return _THOUSANDS.sub("", _FRACTION.sub(r"\1\3/\2\4", joined.strip("$")))


def _number(text: str) -> Fraction | None:
    """The value of a plain decimal or fraction."""
    found = re.fullmatch(r"(-?[0-9]{1,30}(?:\.[0-9]{1,30})?)(?:/([1-9][0-9]{0,30}))?", text)
    return Fraction(found[1]) / int(found[2] or 1) if found else None
