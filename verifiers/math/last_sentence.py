r"""The answer of a text without anchors.

A text that is an answer alone ("x = 5", "(1, 2)", "28 percent", "east") is it. Otherwise the last sentence that gives a
result (`final_number` says which) states, whichever comes last, its last formula in `$...$`, `\(...\)`, `\[...\]`, the
expression that ends it (its right side, unless "=" assigns to a symbol), or its last number. A closing "for all $n$" or
"where $r = 2$" is left out; a sentence that denies its value ("it isn't 7"), makes it a part of something ("half of
$7$") or gives several by cases states none. Two last lines of nothing but a value offer both. A text that ends in a
question or a task ("Simplify $\sqrt{8}$.") states none: `number_sentences`.

Known false positives: a formula that ends the last sentence without being its result.
Known false negatives: LaTeX without delimiters in the middle of a sentence; an answer in words ("it is even").
"""

from __future__ import annotations

import re

from reasongym.verifiers.denial import denies
from reasongym.verifiers.final_number import last_number
from reasongym.verifiers.math.formulas import Formula, formulas
from reasongym.verifiers.math.wording import is_joined, joined_group, plain_words, trimmed, without_lead, without_names
from reasongym.verifiers.number_context import stands_alone
from reasongym.verifiers.number_lists import gives_by_cases
from reasongym.verifiers.number_sentences import ends_by_asking, result_sentences
from reasongym.verifiers.number_text import plain, quantities

__all__ = ["LONGEST_ANSWER", "masked", "unmarked_answers"]

LONGEST_ANSWER = 300
"""Characters of a text that may be an answer alone; a longer one is prose."""

_FILLER = "\ue000"
"""Stands for each character of a formula while sentences are looked for: private use, so no sentence ends in it."""

_HOLDS_A_VALUE = re.compile(rf"[0-9{_FILLER}]")
_VALUE = re.compile(rf"{_FILLER}+|[0-9](?:[0-9.,/]*[0-9])?")
_VALUE_ALONE = re.compile(rf"[^\w{_FILLER}]*(?:{_FILLER}+|[0-9][0-9.,/]*)[^\w{_FILLER}]*")
_MATHEMATICS = re.compile(r"[=\\^<>]|[0-9)][A-Za-z]|[0-9]:[0-9]|^[(\[{]|[A-Za-z]\(")
_SYMBOL = re.compile(r"\s*[A-Za-z](?:_\w{1,3}|_\{\w{1,9}\})?(?:\([A-Za-z, ]{1,9}\))?\s*")
_CONNECTS = frozenset({"are", "because", "hence", "if", "is", "since", "so", "then", "therefore", "thus", "we"})
_UNIT = re.compile(r"(?<=[0-9}])(?:(?: [A-Za-z]{2,15}){1,2}| ?[cdkm]?m[²³])$")
_CLAUSE = re.compile(r",? (?:where|because|since|for (?:all|any|every|each|some)|when|whenever|provided|assuming)\b"
                     r"(?!.{0,300}, (?:so|then|we|thus|hence|therefore|the|it)\b)", re.IGNORECASE)


def unmarked_answers(text: str) -> tuple[str, ...]:
    """The answers that the last sentence states; none where no answer can be told apart."""
    found = formulas(text)
    if _is_alone(text, found):
        alone = ", ".join(formula.content for formula in found) or trimmed(without_lead(text))
        return (alone,) if alone else ()
    hidden = masked(text, found)
    spans = [] if ends_by_asking(text, hidden) else [
        span for span in _sentences(hidden) if _HOLDS_A_VALUE.search(hidden, *span)]
    if not spans:
        return ()
    last = _of_sentence(text, hidden, spans[-1], found)
    both = spans[-2:] if all(_VALUE_ALONE.fullmatch(hidden, *span) for span in spans[-2:]) else []
    before = _of_sentence(text, hidden, both[0], found) if len(both) == 2 else ()
    steps = any(re.search("[=<>]", answer) for answer in before + last)  # of a derivation, each on a line
    return last if steps else before + last


def _is_alone(text: str, found: list[Formula]) -> bool:
    """Whether a text is an answer alone: one line of mathematics with at most a unit, or one or two words."""
    if len(text) > LONGEST_ANSWER or "\n" in text.strip() or not re.search(r"[^\W_]|[∞∅]", text):
        return False
    if "box" in text or "answer>" in text.lower():  # an empty one: the answer is missing
        return False
    if found:
        return is_joined(text, found)
    outside = without_names(text)
    words = plain_words(outside)
    if len(words) > 2 or any(word[0].lower() in _CONNECTS for word in words):
        return False
    is_unit = bool(words) and re.search(r"[0-9]", outside[:words[0].start()]) is not None
    return not words or is_unit or not re.search(r"[0-9\\=]", outside)


def masked(text: str, found: list[Formula]) -> str:
    """The text with every formula overwritten, character by character, so that positions stay."""
    pieces, at = [], 0
    for formula in found:
        pieces += [text[at:formula.start], _FILLER * (formula.end - formula.start)]
        at = formula.end
    return "".join([*pieces, text[at:]])


def _sentences(hidden: str) -> list[tuple[int, int]]:
    """Where the sentences stand that may give a result."""
    spans: list[tuple[int, int]] = []
    at = len(hidden)
    for sentence in reversed(result_sentences(hidden)):
        at = hidden.rfind(sentence, 0, at)
        if at < 0:
            break
        spans.append((at, at + len(sentence)))
    return spans[::-1]


def _of_sentence(text: str, hidden: str, span: tuple[int, int], found: list[Formula]) -> tuple[str, ...]:
    begin, end = span
    if gives_by_cases(hidden[begin:end]):
        return ()
    clause = _CLAUSE.search(hidden, begin, end)
    if clause and _HOLDS_A_VALUE.search(hidden, begin, clause.start()):
        end = clause.start()
    value = list(_VALUE.finditer(hidden, begin, end))[-1:]
    if value and denies(hidden[begin:end], value[0].start() - begin, value[0].end() - begin):
        return ()
    inside = [formula for formula in found if begin <= formula.start < end]
    group = joined_group(text, inside[::-1])[::-1]
    stated = _of_words(hidden[inside[-1].end if inside else begin:end])
    if stated or not group or not _stand_alone(hidden[begin:group[0].start], hidden[group[-1].end:end]):
        return stated
    return tuple(formula.content for formula in group)


def _stand_alone(before: str, behind: str) -> bool:
    """Whether formulas between the two are meant by themselves, unlike "half of $7$" and "the sum of $3$ and $7$"."""
    return stands_alone(*(plain(re.sub(f"{_FILLER}+", "3", words)) for words in (before[-60:], behind[:60])))


def _of_words(words: str) -> tuple[str, ...]:
    """The expression that ends them, else their last number."""
    expression = _ending_expression(words)
    if _MATHEMATICS.search(expression):
        left, equals, right = expression.rpartition("=")
        is_assignment = _SYMBOL.fullmatch(left.partition("=")[0]) is not None
        return (expression if is_assignment or not equals else right.strip(),)
    text = plain(words)
    if "\\" in words or not quantities(text):
        return ()
    final = last_number(text)
    if final.problem == "several":
        stated = [q.value for q in quantities(text)]
        return () if None in stated or gives_by_cases(text) else tuple(map(str, stated))
    attached = re.search(re.escape(final.text) + r"(?![cdkm]?m\^[23])[A-Za-z](?![A-Za-z])", text)  # 5r is not 5
    return () if final.value is None or attached else (str(final.value),)


def _ending_expression(words: str) -> str:
    """What follows the last plain word, a unit after a digit left out."""
    text = _UNIT.sub("", trimmed(words.rstrip(" \n.!?")))
    ends = [word.end() for word in plain_words(without_names(text))]
    return trimmed(text[max(ends, default=0):])
