"""What follows the reasoning equals the reference as text, up to surrounding white space and Unicode composition (NFC).

Known false negatives: anything else written around the answer, other case, other spelling. No false positives.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

from reasongym.verifiers.math.turn import after_thinking
from reasongym.verifiers.registration import verifier
from reasongym.verifiers.verdict import Verdict

__all__ = ["exact"]


@verifier("exact")
def exact(response: str, reference: object, *, example: Mapping[str, object]) -> Verdict:
    """1 when both texts are equal, else 0. reference: text, or a value that is compared as `str` writes it.

    Of the response, what stands after the last `</think>` is compared; an unclosed `<think>` leaves nothing. An empty
    response is unparsable, unless the reference is empty too.
    """
    given, wanted = (unicodedata.normalize("NFC", text).strip() for text in (after_thinking(response), str(reference)))
    if given == wanted:
        return Verdict.correct(given)
    return Verdict.wrong(given[:200], "differs from the reference") if given else Verdict.unparsable("empty")
