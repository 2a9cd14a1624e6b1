r"""The final mathematical answer of a response, and of a reference, as text for `compare`.

The places of `anchors` decide, and without any `last_sentence`. Within one place: the content of a box, the first
formula of a sentence with those joined to it ("$1$ and $2$"), or its words up to a remark ("because", "which", a full
stop).

Known false negatives: prose of three words and more inside `$...$`.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from reasongym.verifiers.denial import is_denied
from reasongym.verifiers.math.anchors import stated_places
from reasongym.verifiers.math.formulas import formulas
from reasongym.verifiers.math.last_sentence import LONGEST_ANSWER, masked, unmarked_answers
from reasongym.verifiers.math.places import MAX_ANSWER, Place, breaks_off, has_open_box
from reasongym.verifiers.math.turn import final_part
from reasongym.verifiers.math.wording import is_joined, joined_group, trimmed, without_lead
from reasongym.verifiers.number_context import stands_alone
from reasongym.verifiers.number_lists import gives_by_cases
from reasongym.verifiers.number_text import plain, same_characters

__all__ = ["Stated", "final_answers", "reference_answers"]

_REMARK = re.compile(
    r"(?<!\\)[.!?](?=\s|$)|\n|,? (?:because|since|as|which|where|when|while|so|but|not|instead|rather|after|hence|thus|"
    r"therefore|for|if)\b|,? with (?!respect)| - (?=[A-Za-z]{2})|\u2014| \((?=[A-Za-z]{2})", re.IGNORECASE)
_UNESCAPED_DOLLAR = re.compile(r"(?<!\\)\$")
_ANNOUNCED = re.compile(r"\A\s*\\text(?:bf|rm|it)?\s?\{(?:the )?(?:final )?answer(?: is)?\s?:?\s?\}\s?:?",
                        re.IGNORECASE)
_NUMBER = re.compile(r"[\s*_]{0,9}(-?[0-9][0-9,]{0,60}(?:\.[0-9]{1,60})?(?<!,))")
_FENCED = re.compile(r"```[a-z]{0,12}[ \t]*\n([^`]{1,2000})```")
_LAST_BOX = re.compile(r"\\f?box(?:ed)?\s?\{(?!.*\\f?box)", re.DOTALL)


class Stated(NamedTuple):
    """The answers a response states in one place. problem: why there is none, "" otherwise."""

    answers: tuple[str, ...]
    problem: str


def final_answers(response: str) -> Stated:
    """The final answer of a response by the policy above; several where one place states several."""
    text = _with_single_escapes(same_characters(final_part(response)))
    fenced = _FENCED.fullmatch(text.strip()) if text[:3] == "```" else None
    text = fenced[1].strip() if fenced else text
    places = stated_places(text, symbolic=True)
    if places:
        doubted = any(place.kind in ("phrase", "word") and is_denied(text, place.start) for place in places)
        answers = () if doubted else tuple(answer for place in reversed(places) if (answer := _content(place)))
        return Stated(answers, "" if answers else "nothing stands where the answer is due")
    if breaks_off(text):
        return Stated((), "the response breaks off inside its answer")
    answers = unmarked_answers(text)
    return Stated(answers, "" if answers else "no final answer can be told apart" if text else "empty")


def reference_answers(reference: object) -> tuple[str, ...]:
    r"""The answers a reference holds. A number; or a text: the answer alone, in `$...$`, or a worked solution.

    A solution gives its last `\boxed{}` (to its end where it never closes) and those joined to it, or what follows
    `####`. A float counts as the decimal it prints as.
    """
    if isinstance(reference, bool) or not isinstance(reference, str | int | float | Fraction):
        return ()
    text = _with_single_escapes(same_characters(str(reference)).strip())
    if "box" in text or "####" in text:
        unclosed = _LAST_BOX.search(text) if has_open_box(text) else None
        if unclosed:
            return (text[unclosed.end():],)
        places = [place for place in stated_places(text, symbolic=True) if place.kind in ("box", "hash")]
        if places:
            return tuple(_content(place) for place in reversed(places))
    found = formulas(text)
    if found and is_joined(text, found):
        return tuple(formula.content for formula in found)
    if found and len(text) > LONGEST_ANSWER:
        return unmarked_answers(text)
    return (text,) if text else ()


def _with_single_escapes(text: str) -> str:
    r"""`\\frac` as `\frac` where every backslash of the text is doubled, as in a JSON string that was never decoded."""
    if "\\\\" in text and re.search(r"\\\\[A-Za-z]", text) and not re.search(r"(?<!\\)(?:\\\\)*+\\(?!\\)", text):
        return text.replace("\\\\", "\\")
    return text


def _content(place: Place) -> str:
    """The answer that stands in a place, without what is around it; "" when there is none."""
    if place.kind == "box":
        content = _ANNOUNCED.sub("", place.content) if "nswer" in place.content else place.content
        return _UNESCAPED_DOLLAR.sub("", content).strip()
    if place.kind == "tag":
        return ", ".join(unmarked_answers(place.content.strip()))
    found = formulas(place.content)
    if gives_by_cases(masked(place.content, found)):
        return place.content.strip()  # read to its end or not at all: no case of it is the answer
    if found and not re.search(r"[0-9=]", place.content[:found[0].start]):
        group = joined_group(place.content, found)
        behind = masked(place.content, found)[max(formula.end for formula in group):]
        return ", ".join(formula.content for formula in group) if _may_be_followed_by(behind) else ""
    rest = without_lead(place.content)
    remark = _REMARK.search(rest, 1)
    answer = trimmed(rest[:remark.start() if remark else MAX_ANSWER])
    number = _NUMBER.match(rest)
    is_number = number is not None and number[1] == answer
    return answer if not (is_number and number and not _may_be_followed_by(rest[number.end():])) else ""


def _may_be_followed_by(behind: str) -> bool:
    """Whether an answer is whole with that text behind it, unlike `7 ... 8`, "7 with remainder 3", "7?"."""
    return stands_alone("", plain(re.sub("\ue000+", "3", behind.lstrip('\\"')[:60])))
