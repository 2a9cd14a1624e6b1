"""The named extractors against what lm-evaluation-harness's filters and metric say of the same texts."""

from __future__ import annotations

import pytest

from reasongym.verifiers import Status
from reasongym.verifiers.lm_eval_gsm8k import gsm8k_flexible_extract, gsm8k_strict_match

# response, reference, strict, flexible: by hand, from the published patterns; each was tried on the harness's own code
CASES = [
    ("8 * 9 = 72\n#### 72", "72", True, True),
    ("#### 72.", "72", True, True),  # one full stop at the end goes
    ("#### 72.00", "72", False, False),  # text, not a number
    ("#### $72", "72", None, True),  # strict wants a digit behind the space
    ("#### 1,234", "1234", True, True),
    ("#### 1,234", "1,234", True, True),
    ("The answer is 72", "72", None, True),
    ("#### 72\n\n#### 5", "72", True, False),  # strict takes the first, flexible the last
    ("#### 5\n\n#### 72", "72", False, True),
    ("#### 72 apples and 3 pears", "72", True, False),
    ("#### 72 ...", "72", True, False),  # "..." counts as a number
    ("#### 72 for $,", "72", True, False),
    ("It is 72, so", "72", None, True),
    ("#### -5", "-5", True, True),
    ("10-5", "-5", None, True),  # the minus sign of a difference
    ("#### 7 2", "72", False, False),
    ("####72", "72", None, True),
    ("A 7", "7", None, True),  # one digit is matched by the second pattern
    ("$", "72", None, None),
    ("", "72", None, None),
    ("#### 72", "so 8 * 9 = 72\n#### 72", True, True),  # the whole solution as reference
    ("٧٢", "72", None, None),  # ASCII digits alone
]


@pytest.mark.parametrize(("response", "reference", "strict", "flexible"), CASES)
def test_verdicts_are_the_harness_s(response: str, reference: str, strict: bool | None, flexible: bool | None) -> None:
    wanted = {True: Status.CORRECT, False: Status.WRONG, None: Status.UNPARSABLE}
    assert gsm8k_strict_match(response, reference, example={}).status is wanted[strict]
    assert gsm8k_flexible_extract(response, reference, example={}).status is wanted[flexible]


def test_a_reference_that_is_none_is_an_error_of_ours() -> None:
    for reference in (None, "", "  ", [72]):
        assert gsm8k_strict_match("#### 72", reference, example={}).status is Status.ERROR


def test_a_long_response_takes_no_long_time() -> None:
    for text in ("1," * 500_000, "#### " * 200_000, "-" * 1_000_000, "$." * 500_000):
        gsm8k_strict_match(text, "72", example={})
        gsm8k_flexible_extract(text, "72", example={})
