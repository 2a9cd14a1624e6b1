r"""The final answer of a response, compared with the reference as mathematics.

Which text is the answer is decided from the response alone, by the policies at the heads of `turn` (which part is
read), `anchors` (which place counts) and `answers` (what of it); whether it equals the reference, by `compare`.
Several different answers in one place are compared as the list they are, so that one right among them is wrong.

An answer that equals the reference but is still the question, `\log_2 64` for 6 or a formula of the prompt, is wrong:
`unfinished` says which. Bare arithmetic is not held to that (`70+2` is 72) where the prompt is not known.

Known false positives and negatives: those of `anchors`, `answers`, `compare` and `unfinished`, at
their heads.
"""

from __future__ import annotations

from collections.abc import Mapping

from reasongym.verifiers.math.answers import final_answers, reference_answers
from reasongym.verifiers.math.compare import Outcome, compare
from reasongym.verifiers.math.unfinished import leaves_work, prompt_of, repeats_prompt
from reasongym.verifiers.registration import verifier
from reasongym.verifiers.verdict import Verdict

__all__ = ["math"]


@verifier("math")
def math(response: str, reference: object, *, example: Mapping[str, object]) -> Verdict:
    r"""1 when the response's final answer equals the reference, else 0.

    reference: a number, or text: the answer alone, in `$...$`, or a worked solution that ends in `\boxed{}`. One that
    holds no answer, or is not read, is ERROR. example: may hold the prompt (`unfinished` says where). An answer whose
    comparison had to be stopped is TIMEOUT.
    """
    wanted = _united(reference_answers(reference))
    if not wanted.strip():
        return Verdict.error(f"the reference holds no answer: {str(reference)[:80]!r}")
    stated = final_answers(response)
    if not stated.answers:
        return Verdict.unparsable(stated.problem)
    given = ", ".join(stated.answers)
    outcome = _judge(wanted, stated.answers)
    match outcome.status:
        case "equal" if leaves_work(wanted, given):
            return Verdict.wrong(given[:200], "an operation is left that the reference has carried out")
        case "equal" if example and repeats_prompt(prompt_of(example), wanted, given):
            return Verdict.wrong(given[:200], "it repeats a formula of the prompt")
        case "equal":
            return Verdict.correct(given[:200], outcome.reason)
        case "different":
            return Verdict.wrong(given[:200], outcome.reason)
        case "unreadable":
            return Verdict.unparsable(f"{outcome.reason}: {given[:80]!r}")
        case "reference":
            return Verdict.error(f"{outcome.reason}: {wanted[:80]!r}")
        case "timeout":
            return Verdict.timeout(outcome.reason)


def _united(answers: tuple[str, ...]) -> str:
    """A reference's answers as one text: the last, where all are forms of it, or the list of them."""
    if len(answers) > 1 and all(compare(answers[-1], other).status == "equal" for other in answers[:-1]):
        return answers[-1]
    return ", ".join(answers)


def _judge(wanted: str, answers: tuple[str, ...]) -> Outcome:
    """One answer, however often and in whichever form it stands, or all of them as one list."""
    first = compare(wanted, answers[0])
    if len(answers) == 1 or first.status in ("reference", "timeout"):
        return first
    if first.status == "equal" and all(compare(wanted, other).status == "equal" for other in answers[1:]):
        return first
    return compare(wanted, ", ".join(answers))
