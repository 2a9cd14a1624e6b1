"""The response equals the reference as text, up to surrounding white space and Unicode composition (NFC).

Known false negatives: anything else written around the answer, other case, other spelling. No false positives.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

from reasongym.verifiers.registration import verifier
from reasongym.verifiers.verdict import Verdict

__all__ = ["exact"]


@verifier("exact")
def exact(response: str, reference: object, *, example: Mapping[str, object]) -> Verdict:
    """1 when both texts are equal, else 0. reference: text, or a value that is compared as `str` writes it.

    An empty response is unparsable, unless the reference is empty too.
    """
    given, wanted = (unicodedata.normalize("NFC", text).strip() for text in (response, str(reference)))
    if given == wanted:
        return Verdict.correct(given)
    return Verdict.wrong(given[:200], "differs from the reference") if given else Verdict.unparsable("empty")
