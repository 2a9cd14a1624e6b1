r"""Whether two mathematical answers are the same.

Both texts are brought to one notation (`normalise`), read into trees (`reader`) and compared from the outside in by
kind (`same`), values by `identity`; `symbolic` asks SymPy what that leaves open. There is no guess: what is not read to
its end is unreadable, and no part of it counts. Two texts that are the same after normalisation are equal, readable or
not.

Policies:
- Numbers: rationals exactly, others to 65 digits and more. A decimal is the rational it writes: 0.5 is 1/2, 0.33 is not
  1/3, 3.14 is not pi, and a rounded reference wants its own digits. Alone a fraction without a finite decimal equals
  what a machine prints of it, 15 significant digits or more. `1e3` and `3.5 \times 10^8` are numbers; `1\frac{4}{5}`
  and `11 5/6` are mixed numbers; `0.\overline{3}`, `0.\bar{3}` and `0.\dot{3}` are 1/3.
- Thousands: `1,234`, `1{,}234`, `1\,234`, `1 234` are one number; in brackets a comma separates. What else a comma may
  be, `commas` says: `3,5` is two numbers, `1000,99` and `2,5 cm` are decimals.
- A unit may be missing on one side; two units must measure the same and are converted (1 km = 1000 m, never 10 cm =
  10 km). Two plain words must share one (5 apples, 5 red apples). Currency signs and degrees are units. Words that
  could change the value are none (`unit_words`): 2 million is 2,000,000, and 2 fifths is not read.
- Percent is a unit: 50% = 50. Besides, it is its hundredth written as a decimal (0.5), as a fraction (1/2) only where
  that has no decimal (33 1/3%).
- `x = 5` equals `5`, not `y = 5`; of a chain the last member counts. `x = y` is a line, not y; `6 = 5` says nothing.
  Equations up to exchange of sides and a constant factor; inequalities up to direction and a positive factor, and as
  the sets of numbers they describe. Between conditions "and" is not "or"; between values of one unknown it is.
- Bare lists and sets have no order; lists of numbers keep repetitions, sets and lists of tuples do not. Tuples and
  vectors have an order. A bare list equals a tuple in the same order, unless it says "or" or plus-minus; values with
  names go by their names (`naming`). Nothing is equal to a part of itself: 1/2 is not "1/2 or 3/4".
- `(0,1)` is a pair beside a pair and an interval beside a set. A vector equals the tuple of its entries, a row no
  column. Capitals written together, and the vertices of an angle or triangle, keep their order.
- `\pm a` is the list of both. `e`, `i`, `\pi` are the constants; `\log` without a base is to base ten.
- An integral, limit, derivative or infinite sum equals its value; an indefinite integral what has the same derivative
  and a constant (`+ C`). A comparison that SymPy does not finish is a time-out.
- `204_5` equals that numeral to that base alone; 3 modulo 7 is no number. 9:30 is compared with another ratio
  literally; 2:4 is 1:2 and the fraction 1/2, but 5:1 is not 5.
- Words are compared without case and punctuation; `\text{(B)}`, `(B)`, `B` are one.

Known false positives: `50%` for a reference of 50 where 0.5 was meant; units dropped on one side; a wrong chain behind
a name (`x = 6 = 5`); `x \approx 5` for 5; those of `identity` and `symbolic_child`. Known false negatives: rounded
decimals; those of `calculus` and `unit_words`; piecewise definitions other than as equal text; equations that need
solving; quadratic and higher inequalities beside intervals; one letter for a unit directly behind its number (`5m`)
beside a bare number.
"""

from __future__ import annotations

import decimal
import re
from fractions import Fraction
from typing import Literal, NamedTuple

from reasongym.verifiers.math.commas import is_bare_pair, may_be_two, with_point
from reasongym.verifiers.math.exact import TooLarge
from reasongym.verifiers.math.identity import MIN_DIGITS
from reasongym.verifiers.math.lexer import Unreadable
from reasongym.verifiers.math.matrices import with_determinants
from reasongym.verifiers.math.naming import with_letters_in_order
from reasongym.verifiers.math.nodes import Group, Matrix, Node, Quantity, Relation
from reasongym.verifiers.math.normalise import MAX_LENGTH, Plain, normalise
from reasongym.verifiers.math.numeric import carrying
from reasongym.verifiers.math.one_sided import as_answer, is_unsolved, option_of
from reasongym.verifiers.math.reader import read
from reasongym.verifiers.math.same import same
from reasongym.verifiers.math.symbolic import evaluated
from reasongym.verifiers.math.symbolic_process import Overtime

__all__ = ["Outcome", "compare"]

_PLAIN = re.compile(r"\s{0,9}(-?[0-9]{1,300}(?:\.[0-9]{1,14}|/0{0,9}[1-9][0-9]{0,300})?)\s{0,9}")
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
    return _compared(reference.strip(), option_of(reference, given) or given.strip())


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
    if wanted.tree is None:
        return Outcome("reference", f"the reference is not read: {wanted.problem}")
    if stated.tree is None:
        return Outcome("unreadable", stated.problem)
    return _judged(wanted, stated)


def _spelling(plain: Plain) -> str:
    return _IDLE_SPACE.sub("", plain.text)


def _answer(plain: Plain, *, grouped: bool = True) -> _Answer:
    """As it is compared: determinants written out, capitals written together in their order, money with its unit."""
    found = _read(plain, grouped=grouped)
    if found.tree is None:
        return found
    tree = with_determinants(with_letters_in_order(found.tree))
    if plain.currency and isinstance(tree, Relation):
        tree = Relation((*tree.items[:-1], Quantity(tree.items[-1], plain.currency)), tree.signs)
    elif plain.currency:
        tree = Quantity(tree, plain.currency)
    return found._replace(tree=tree)


def _read(plain: Plain, *, grouped: bool = True) -> _Answer:
    try:
        tree = read(plain.text, grouped=grouped)
    except Unreadable as error:
        return _Answer(plain, None, str(error))
    if plain.currency == "several":
        return _Answer(plain, None, "money of several kinds")
    return _Answer(plain, tree, "")


def _judged(wanted: _Answer, stated: _Answer) -> Outcome:
    assert wanted.tree is not None
    assert stated.tree is not None
    try:
        with decimal.localcontext(carrying(MIN_DIGITS)):  # whatever the caller's own context is
            equal = not _is_made_a_tuple(wanted, stated) and not is_unsolved(wanted.tree, stated.tree) and (
                same(*evaluated(wanted.tree, as_answer(stated.tree, wanted.tree)))
                or _same_with_other_commas(wanted, stated))
    except Overtime as error:
        return Outcome("timeout", str(error))
    except TooLarge as error:
        return Outcome("different", str(error))
    except ArithmeticError as error:
        return Outcome("different", f"no value: {error}")
    return Outcome("equal", "the same value") if equal else Outcome("different", "another value")


def _is_made_a_tuple(wanted: _Answer, stated: _Answer) -> bool:
    return isinstance(stated.tree, Group | Matrix) and is_bare_pair(wanted.plain.text)


def _same_with_other_commas(wanted: _Answer, stated: _Answer) -> bool:
    """The other readings that `commas` allows, of one side at a time."""
    for here, there in ((wanted, stated), (stated, wanted)):
        text, beside = here.plain.text, there.plain.text
        if "," not in text or isinstance(there.tree, Group | Matrix):
            continue
        pointed = with_point(text, has_unit=bool(here.plain.currency))
        if pointed:
            other = _answer(here.plain._replace(text=pointed))
        elif may_be_two(text, beside):
            other = _answer(here.plain, grouped=False)
        else:
            continue
        if other.tree is not None and there.tree is not None and same(other.tree, there.tree):
            return True
    return False
