"""A response's final number within a stated tolerance of the reference; exact where none is stated.

The reference is a number, its text, or an object:
    {"value": 6.02e23, "rel_tol": 1e-3}     |answer - value| <= rel_tol x |value|; 0 <= rel_tol < 1
    {"value": 0, "abs_tol": 0.01}           |answer - value| <= abs_tol; with rel_tol too, either is enough
    {"value": 2.71828, "decimals": 2}       both rounded to that many decimals are equal; at a tie (2.715) either side
                                            counts, since both ways of rounding are taught; -2 rounds to hundreds
Every comparison is of exact rationals; a float counts as the decimal it prints as. Which number is the answer:
`final_number`, which is shown a number times a power of ten (6.02 x 10^23, the same in LaTeX) as one number. "nan",
"inf" and numbers beyond 10^999 are never read.

Known false positives: a unit or percent sign beside the number is dropped (72% = 72).
Known false negatives: an exponent above 99 beside other text (`1e120` alone is read); an unevaluated sum or root.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from reasongym.verifiers.final_number import final_number
from reasongym.verifiers.gsm8k import reference_number
from reasongym.verifiers.math.turn import final_part
from reasongym.verifiers.registration import verifier
from reasongym.verifiers.verdict import Verdict

__all__ = ["numeric"]

_PLAIN = re.compile(r"\s*[-+]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][-+]?[0-9]{1,3})?\s*")
_LARGEST_DECIMALS = 100
_RAISED = str.maketrans("\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207b\u207a", "0123456789-+")
_POWER = re.compile(
    # Not the end of another number or formula ("1/6 x 10^2", "2^3 x 10^2"), nor the beginning of one ("x 10^2!").
    r"(?:(?<=boxed\{)|(?<![\w.,^/{}\\)])(?<!/ ))(?P<factor>[0-9]{1,40}(?:\.[0-9]{1,40})?)\s?(?:\\times|\\cdot|"
    r"[x\u00d7\u00b7*])\s?10(?:\s?\^\s?(?:\{\s?(?P<braced>[-+\u2212]?[0-9]{1,3})\s?\}|(?P<bare>[-+\u2212]?[0-9]{1,3}))"
    r"|(?P<raised>[\u207a\u207b]?[\u2070\u00b9\u00b2\u00b3\u2074-\u2079]{1,3}))"
    r"(?![\w!^({\u2070\u00b9\u00b2\u00b3\u2074-\u2079]|\.?[0-9])")


class _Rule(NamedTuple):
    """What counts as equal to `value`. decimals: None where nothing is rounded."""

    value: Fraction
    rel_tol: Fraction
    abs_tol: Fraction
    decimals: int | None


@verifier("numeric")
def numeric(response: str, reference: object, *, example: Mapping[str, object]) -> Verdict:
    """1 when the final number agrees with the reference within its tolerance, else 0.

    A reference that is no number, or states a tolerance that is none, is ERROR.
    """
    try:
        rule = _rule(reference)
    except ValueError as error:
        return Verdict.error(f"{error}: {str(reference)[:120]}")
    bare = final_part(response)
    if len(bare) < _LARGEST_DECIMALS * 10 and _PLAIN.fullmatch(bare):
        return _compared(Fraction(bare), bare.strip(), rule)
    final = final_number(_with_exponents(response))
    if final.problem == "several":
        return Verdict.wrong(final.text, "several different final numbers")
    if final.value is None:
        what = "the final number stands in a formula" if final.problem == "formula" else "no final number"
        return Verdict.unparsable(what)
    return _compared(final.value, final.text, rule)


def _with_exponents(response: str) -> str:
    """6.02e23 for `6.02 \\times 10^{23}` and its like, which a sentence does not hold as one number."""
    return _POWER.sub(_as_exponent, response) if "10" in response else response


def _as_exponent(found: re.Match[str]) -> str:
    exponent = found["braced"] or found["bare"] or found["raised"].translate(_RAISED)
    return f"{found['factor']}e{exponent.replace(chr(0x2212), '-').lstrip('+')}"


def _compared(given: Fraction, text: str, rule: _Rule) -> Verdict:
    if rule.decimals is not None:
        agrees = bool(_roundings(given, rule.decimals) & _roundings(rule.value, rule.decimals))
        return Verdict.correct(text[:80]) if agrees else \
            Verdict.wrong(text[:80], f"differs when rounded to {rule.decimals} decimals")
    off = abs(given - rule.value)
    if off <= max(rule.abs_tol, rule.rel_tol * abs(rule.value)):
        return Verdict.correct(text[:80])
    return Verdict.wrong(text[:80], "differs" if not (rule.abs_tol or rule.rel_tol) else "outside the tolerance")


def _roundings(value: Fraction, decimals: int) -> set[int]:
    """The value in units of its last decimal: one integer, or both neighbours of a tie."""
    scaled = value * Fraction(10) ** decimals
    below = scaled.numerator // scaled.denominator
    past = scaled - below - Fraction(1, 2)
    return {below, below + 1} if past == 0 else {below + (past > 0)}


def _rule(reference: object) -> _Rule:
    """Raises ValueError saying what is wrong."""
    if not isinstance(reference, Mapping):
        return _Rule(_number(reference, "the reference"), Fraction(0), Fraction(0), None)
    unknown = set(reference) - {"value", "rel_tol", "abs_tol", "decimals"}
    if unknown or "value" not in reference:
        raise ValueError(f"the reference has {sorted(unknown)} beside value, rel_tol, abs_tol and decimals" if unknown
                         else "the reference has no value")
    rel_tol, abs_tol = (_tolerance(reference.get(key, 0), key) for key in ("rel_tol", "abs_tol"))
    if not 0 <= rel_tol < 1 or abs_tol < 0:
        raise ValueError("rel_tol is from 0 to below 1, abs_tol from 0")
    decimals = reference.get("decimals")
    if decimals is not None and (isinstance(decimals, bool) or not isinstance(decimals, int)
                                 or abs(decimals) > _LARGEST_DECIMALS):
        raise ValueError(f"decimals is an integer up to {_LARGEST_DECIMALS}")
    if decimals is not None and (rel_tol or abs_tol):
        raise ValueError("decimals and a tolerance say two different things")
    return _Rule(_number(reference["value"], "value"), rel_tol, abs_tol, decimals)


def _tolerance(value: object, key: str) -> Fraction:
    """A number or its digits: "10%" and "5 cm" would lose what makes them a tolerance."""
    if isinstance(value, str) and not _PLAIN.fullmatch(value):
        raise ValueError(f"{key} is no plain number")
    return _number(value, key)


def _number(value: object, what: str) -> Fraction:
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        text = str(value) if not isinstance(value, int) or abs(value) < 10**400 else ""
        number = Fraction(text) if _PLAIN.fullmatch(text) else reference_number(text)
        if number is not None:
            return number
    raise ValueError(f"{what} is no finite number")
