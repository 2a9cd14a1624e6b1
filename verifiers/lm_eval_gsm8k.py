r"""The two answers that lm-evaluation-harness reads out of a GSM8K response (its task `gsm8k`, version 3), verdict for
verdict, to compare with published numbers. To judge a model take `gsm8k`.

`gsm8k_strict_match`      the first `#### ` followed by characters of a number
`gsm8k_flexible_extract`  the last run of two or more of `$ 0-9 . ,`, or of digits, a minus sign before it included
What is read and the reference then lose every `,` and `$`, all up to the last `#### ` and one full stop at the end,
and are compared as text in any case.

Known false negatives: `...` or `$,` behind the answer is the last "number"; 72.00 is not 72; of several `####` the
first counts, which may be of a shown problem that the response repeats. Known false positives: any number that happens
to stand last.
Not covered: the harness cuts a response at its stop words, `Question:` among them; that is for whoever samples.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from reasongym.verifiers.registration import verifier
from reasongym.verifiers.verdict import Verdict

__all__ = ["gsm8k_flexible_extract", "gsm8k_strict_match"]

_STRICT = re.compile(r"#### (-?[0-9.,]+)")
_FLEXIBLE = re.compile(r"-?[$0-9.,]{2,}|-?[0-9]+")
_FULL_STOP = re.compile(r"\.$")


@verifier("gsm8k_strict_match")
def gsm8k_strict_match(response: str, reference: object, *, example: Mapping[str, object]) -> Verdict:
    """1 where the number behind the first `#### ` is the reference's text."""
    found = _STRICT.search(response)
    return _compared(found[1] if found else None, reference)


@verifier("gsm8k_flexible_extract")
def gsm8k_flexible_extract(response: str, reference: object, *, example: Mapping[str, object]) -> Verdict:
    """1 where the last thing that looks like a number is the reference's text."""
    found = _FLEXIBLE.findall(response)
    return _compared(found[-1] if found else None, reference)


def _compared(found: str | None, reference: object) -> Verdict:
    if not isinstance(reference, str | int | float) or not str(reference).strip():
        return Verdict.error(f"the reference is no text: {reference!r:.80}")
    if found is None:
        return Verdict.unparsable("nothing that looks like a number")
    said, gold = _bare(found), _bare(str(reference))
    return Verdict.correct(said) if said == gold else Verdict.wrong(said, f"{said[:40]!r} is not {gold[:40]!r}")


def _bare(text: str) -> str:
    """The harness removes `(?s).*#### ` as a pattern, which takes the square of the length where there is none."""
    text = text.replace(",", "").replace("$", "").rpartition("#### ")[2]
    return _FULL_STOP.sub("", text).lower()
