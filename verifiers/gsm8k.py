"""The final number of a worked answer, compared exactly with the reference.

Which number is the answer is decided from the response alone, so listing many numbers never gains anything: the policy
stands at the head of `math.turn` (which part is read), `math.anchors` (which place counts) and `final_number` (which
number of it). Comparison is of exact rationals: 72.00 = 72 and 1/2 = 0.5, but 0.33 is not 1/3.

Known false positives: units, currencies and the percent sign are dropped (72 cents = $72; 72% = 72, never 0.72); the
list `5,72` without a space is the number 5.72.
Known false negatives: unevaluated sums, rounded answers, times of day, number words outside the marked places and in
other languages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from reasongym.verifiers.final_number import Final, final_number
from reasongym.verifiers.math.turn import LOOKED_AT, after_thinking, has_next_turn
from reasongym.verifiers.number_text import MAX_DIGITS, plain, quantities, same_characters
from reasongym.verifiers.registration import verifier
from reasongym.verifiers.verdict import Verdict

__all__ = ["gsm8k", "gsm8k_format", "reference_number"]

_REFERENCE = 400
"""Characters of a reference that are read."""

_INTEGER = re.compile(r"\s*(-?(?:[0-9]{1,15}|[0-9]{1,3}(?:,[0-9]{3}){1,5}))\s*")
_MARKUP = ("</", "<|", "<t", "<T", "<r", "<R", "<e", "<s", "<a", "<A", "<!", "<\uff5c", "[INST", "box", "####")
_ONE_NUMBER = re.compile(r"(?!-0\Z)-?(?:(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|0|[1-9][0-9]*)(?:\.[0-9]+)?"
                         r"|[1-9][0-9]*/[1-9][0-9]*)")


@verifier("gsm8k")
def gsm8k(response: str, reference: object, *, example: Mapping[str, object]) -> Verdict:
    """1 when the response's final number equals the reference exactly, else 0.

    reference: a number, its text, or a GSM8K answer whose gold follows `####`. One that holds no number is ERROR.
    """
    gold = reference_number(reference)
    if gold is None:
        return Verdict.error(f"the reference holds no number: {str(reference)[:80]!r}")
    final = _plain_final(response) or final_number(response)
    if final.problem == "several":
        return Verdict.wrong(final.text, "several different final numbers")
    if final.value is None:
        what = "the final number stands in a formula" if final.problem == "formula" else "no final number"
        return Verdict.unparsable(what)
    if final.value != gold:
        return Verdict.wrong(final.text, f"{_short(final.value)} is not {_short(gold)}")
    return Verdict.correct(final.text)


@verifier("gsm8k_format")
def gsm8k_format(response: str, reference: object, *, example: Mapping[str, object]) -> Verdict:
    """1 when the last line after any reasoning is `#### <one number>` and no other line starts with `####`, else 0.

    The line holds the number alone, as GSM8K writes it: a sign (not of zero), at most 60 digits without leading zeros,
    thousands marks, decimals or a plain fraction, and neither unit nor full stop. The space after `####` may be
    missing. What precedes the line is not judged, a bare final line included.
    """
    lines = [line.strip() for line in after_thinking(response).splitlines() if line.strip()]
    if not lines:
        return Verdict.unparsable("empty")
    if sum(line.startswith("####") for line in lines) != 1 or not lines[-1].startswith("####"):
        return Verdict.wrong(lines[-1][:80], "not exactly one `####` line, at the end")
    stated = lines[-1].removeprefix("####").strip()
    if not _ONE_NUMBER.fullmatch(stated[:2 * MAX_DIGITS]) or sum(map(str.isdigit, stated)) > MAX_DIGITS:
        return Verdict.wrong(stated[:80], "the `####` line is not one plain number")
    return Verdict.correct(stated)


def reference_number(reference: object) -> Fraction | None:
    """The gold number, or None when the reference holds none. A float counts as the decimal it prints as."""
    if not isinstance(reference, str | int | float | Fraction):
        return None
    text = str(reference).rsplit("####", 1)[-1][-_REFERENCE:]
    if whole := _INTEGER.fullmatch(text):
        return Fraction(int(whole[1].replace(",", "")))
    found = quantities(plain(text).strip())
    return found[0].value if len(found) == 1 else None


def _plain_final(response: str) -> Final | None:
    """What `final_number` says of a response that ends in its only `####` and an integer, at a fraction of the cost.

    None for any other response, and wherever something before that line may have to do with the answer.
    """
    before, mark, last = response.rpartition("####")
    whole = _INTEGER.fullmatch(last) if mark and len(last) < _REFERENCE else None
    if whole is None or len(before) > LOOKED_AT:
        return None
    before = same_characters(before)
    if any(mark in before for mark in _MARKUP) or has_next_turn(before):
        return None
    return Final(Fraction(int(whole[1].replace(",", ""))), whole[1], "")


def _short(value: Fraction) -> str:
    text = str(value)
    return text if len(text) <= 40 else text[:40] + "..."
