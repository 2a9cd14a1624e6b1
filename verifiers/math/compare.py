r"""Whether two mathematical answers are the same.

Both texts are brought to one notation (`normalise`), read into trees (`reader`) and compared from the outside in by
kind (`same`), values by `identity`; `symbolic` asks SymPy what that leaves open. There is no guess: what is not read to
its end is unreadable, and no part of it counts. Two texts that are the same after normalisation are equal, readable or
not.

Policies:
- Numbers are exact. A decimal is the rational it writes: 0.5 is 1/2, 0.33 is not 1/3, 3.14 is not pi, and a rounded
  reference wants its own digits. Alone a fraction without a finite decimal equals what a machine prints of it, 15
  significant digits or more. `1e3` and `3.5 \times 10^8` are numbers; `1\frac{4}{5}` and `11 5/6` are mixed
  numbers.
- Thousands: `1,234`, `1{,}234`, `1\,234`, `1 234` are one number; in brackets a comma separates. `2,74` is a decimal
  only beside a number with a point, two numbers otherwise, and `1,000` is never 1.
- A unit may be missing on one side; two units must measure the same and are converted (1 km = 1000 m, never 10 cm =
  10 km). Two plain words must share one (5 apples, 5 red apples). Currency signs and degrees are units.
- Percent is a unit: 50% = 50. Besides, it is its hundredth written as a decimal (0.5), never as a fraction (1/2).
- `x = 5` equals `5`, not `y = 5`; of a chain the last member counts. Equations up to exchange of sides and a constant
  factor; inequalities up to direction and a positive factor, and as the sets of numbers they describe.
- Bare lists and sets have no order; lists of numbers keep repetitions, sets and lists of tuples do not. Tuples and
  vectors have an order. A bare list equals a tuple in the same order. Nothing is equal to a part of itself: 1/2 is
  not "1/2 or 3/4".
- `(0,1)` is a pair beside a pair and an interval beside a set. A vector equals the tuple of its entries, a row no
  column.
- `\pm a` is the list of both. `e`, `i`, `\pi` are the constants; `\log` without a base is to base ten.
- An integral, limit, derivative or infinite sum equals its value; an indefinite integral what has the same derivative,
  where both sides write `+ C` or neither. A comparison that SymPy does not finish is a time-out.
- `204_5` equals that numeral to that base alone. 9:30 is compared with another ratio literally; 2:4 is 1:2.
- Words are compared without case and punctuation; `\text{(B)}`, `(B)`, `B` are one.

Known false positives: `50%` for a reference of 50 where 0.5 was meant; units dropped on one side; those of
`identity` and `symbolic_child`. Known false negatives: rounded decimals; those of `calculus`; piecewise definitions
other than as equal text; equations that need solving; quadratic and higher inequalities beside intervals; number
words; one letter for a unit directly behind its number (`5m`) beside a bare number.
"""

from __future__ import annotations

import decimal
import re
from fractions import Fraction
from typing import Literal, NamedTuple

from reasongym.verifiers.math.exact import TooLarge
from reasongym.verifiers.math.identity import MIN_DIGITS
from reasongym.verifiers.math.lexer import Unreadable
from reasongym.verifiers.math.nodes import Node, Quantity
from reasongym.verifiers.math.normalise import MAX_LENGTH, Plain, normalise
from reasongym.verifiers.math.numeric import carrying
from reasongym.verifiers.math.reader import read
from reasongym.verifiers.math.same import same
from reasongym.verifiers.math.symbolic import evaluated, is_worked_out
from reasongym.verifiers.math.symbolic_process import Overtime

__all__ = ["Outcome", "compare", "leaves_work"]

_PLAIN = re.compile(r"\s{0,9}(-?[0-9]{1,300}(?:\.[0-9]{1,14}|/0{0,9}[1-9][0-9]{0,300})?)\s{0,9}")
_AMBIGUOUS = re.compile(r"(?<![\d.,])\d{1,60},\d{1,60}(?![\d,.])")
_DECIMAL_COMMA = re.compile(r"(?<![\d.,])(?![1-9]\d{0,2},\d{3}(?!\d))\d{1,60},\d{1,60}(?![\d,.])")
_OPERATOR = re.compile(r"\\(?:i{1,3}nt|lim|sum|prod|partial)|[\u222b\u2211\u220f\u2202]|d[a-z]|d\^|d\{|lim")
_IDLE_SPACE = re.compile(r"(?<![0-9A-Za-z]) | (?![0-9A-Za-z])")


class Outcome(NamedTuple):
    """status: `reference` when the reference itself cannot be used. reason: one line for a person."""

    status: Literal["equal", "different", "unreadable", "reference", "timeout"]
    reason: str


class _Answer(NamedTuple):
    """One answer: its normal form, its tree (None where it is not mathematics read here) and why there is none."""

    plain: Plain
    tree: Node | None
    problem: str


def compare(reference: str, given: str) -> Outcome:
    """Whether the answer `given` equals `reference`; both are answers alone, in LaTeX or plain text. Never raises."""
    wanted, stated = _PLAIN.fullmatch(reference), _PLAIN.fullmatch(given)
    if wanted and stated:
        equal = wanted[1] == stated[1] or Fraction(wanted[1]) == Fraction(stated[1])
        return Outcome("equal", "the same number") if equal else Outcome("different", "different numbers")
    if len(reference) > MAX_LENGTH and len(reference.strip()) > MAX_LENGTH:
        return Outcome("reference", f"the reference is longer than {MAX_LENGTH} characters")
    if len(given) > MAX_LENGTH and len(given.strip()) > MAX_LENGTH:
        return Outcome("unreadable", f"longer than {MAX_LENGTH} characters")
    return _compared(reference.strip(), given.strip())


def leaves_work(reference: str, given: str) -> bool:
    r"""Whether `given` states an integral, derivative, limit, sum or product where `reference` does not:
    `\int_0^1 x\,dx` equals 1/2, but who was asked for it has answered nothing by it."""
    if not _OPERATOR.search(given[:MAX_LENGTH]):
        return False
    trees = [_answer(normalise(text.strip())).tree for text in (given, reference) if len(text.strip()) <= MAX_LENGTH]
    stated, wanted = [tree is None or is_worked_out(tree) for tree in trees] if len(trees) == 2 else (True, True)
    return wanted and not stated


def _compared(reference: str, given: str) -> Outcome:
    plain_reference, plain_given = normalise(reference), normalise(given)
    if not plain_reference.text:
        return Outcome("reference", "the reference is empty")
    if not plain_given.text:
        return Outcome("unreadable", "empty")
    units = {plain_reference.currency, plain_given.currency} - {""}
    if len(units) < 2 and _spelling(plain_reference) == _spelling(plain_given):
        return Outcome("equal", "the same text")
    wanted, stated = _answer(plain_reference), _answer(plain_given)
    if stated.tree is None:
        return Outcome("unreadable", stated.problem)
    if wanted.tree is None:
        return Outcome("different", f"differs from the reference, whose text is not read: {wanted.problem}")
    return _judged(wanted, stated)


def _spelling(plain: Plain) -> str:
    return _IDLE_SPACE.sub("", plain.text)


def _answer(plain: Plain, *, grouped: bool = True) -> _Answer:
    try:
        tree = read(plain.text, grouped=grouped)
    except Unreadable as error:
        return _Answer(plain, None, str(error))
    if plain.currency == "several":
        return _Answer(plain, None, "money of several kinds")
    if plain.currency:
        tree = Quantity(tree, plain.currency)
    return _Answer(plain, tree, "")


def _judged(wanted: _Answer, stated: _Answer) -> Outcome:
    assert wanted.tree is not None
    assert stated.tree is not None
    try:
        with decimal.localcontext(carrying(MIN_DIGITS)):  # whatever the caller's own context is
            equal = same(*evaluated(wanted.tree, stated.tree)) or _same_with_other_commas(wanted, stated)
    except Overtime as error:
        return Outcome("timeout", str(error))
    except TooLarge as error:
        return Outcome("different", str(error))
    except ArithmeticError as error:
        return Outcome("different", f"no value: {error}")
    return Outcome("equal", "the same value") if equal else Outcome("different", "another value")


def _same_with_other_commas(wanted: _Answer, stated: _Answer) -> bool:
    """`1,5` is a decimal beside one with a point, `1,234` is two numbers beside a list, where those are unambiguous."""
    for here, there in ((wanted, stated), (stated, wanted)):
        text, beside = here.plain.text, there.plain.text
        if there.tree is None or not _AMBIGUOUS.search(text) or _AMBIGUOUS.search(beside):
            continue
        other = here
        if re.search(r"\.\d", beside):
            pointed = _DECIMAL_COMMA.sub(lambda match: match[0].replace(",", "."), text)
            other = _answer(here.plain._replace(text=pointed))
        elif re.search(",|and|or", beside):
            other = _answer(here.plain, grouped=False)
        if other is not here and other.tree is not None and same(other.tree, there.tree):
            return True
    return False
