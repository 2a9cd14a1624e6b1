"""Questions with options over a file of yours; the answer is a letter.

A row is {"question", "choices", "answer"}. Also read: `question_stem`, {"stem"} inside `question`, `options` and
`endings` for `choices`, a list of {"label", "text"} or {"label": [...], "text": [...]} (ARC), options in the columns
`A`, `B`, ... (MMLU's CSV), `answerKey`, `answer_key` and `label` for `answer`.
The answer is one of these, and a row in which two of them would differ is refused:
    an integer     the index of the option, from 0
    a text         an option's label or letter, or an option's text
Settings: `shuffle`, true or false (the default): options in an order drawn from a hash of the row, the same in every
run and wherever the row stands in the file; rows whose options refer to others ("all of the above", "A and B") keep
theirs. Rows: `TaskOptions.data`, else the folder `multiple_choice` of REASONGYM_DATA; how a file or folder is divided
into train and test: `row_files`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import ascii_uppercase
from typing import NamedTuple

from reasongym.errors import ConfigError, DataError, message
from reasongym.tasks.base import Example, Message, RewardPart, Task, TaskOptions, describes, row_random
from reasongym.tasks.finite import FiniteTask, Source, rows_from_source
from reasongym.tasks.row_files import RowKind
from reasongym.tasks.settings import check_names

__all__ = ["ChoiceRow", "MultipleChoice", "multiple_choice"]

_FORM = '{"question": ..., "choices": ["...", "..."], "answer": "B"}'
_INSTRUCTION = "End with one last line of this form:\nAnswer: <letter>"
_REFERS = re.compile(
    r"\b(?:all|none|both|any|neither|either)(?: of)? (?:the |these )?"
    r"(?:above|below|others?|these|those|options|choices|answers)\b|\b(?:the|of) (?:above|below)\b"
    r"|(?<![A-Za-z])\(?[A-J]\)?,? (?:and|or|nor|&) \(?[A-J]\)?(?![A-Za-z])|^[A-J], ?[A-J]\b", re.IGNORECASE)


class ChoiceRow(NamedTuple):
    """A question, its options in the order of the file, and the index of the right one."""

    question: str
    choices: tuple[str, ...]
    right: int


class MultipleChoice(FiniteTask[ChoiceRow]):
    """Rows that are already read."""

    name = "multiple_choice"
    description = "Questions with options from files of yours; the answer is a letter."
    rewards = (RewardPart(name="correct", verifier="choice", weight=1.0),)
    folder = "multiple_choice"

    def __init__(self, source: Source[ChoiceRow], *, shuffle: bool = False) -> None:
        super().__init__(source)
        self._shuffle = shuffle

    def make_example(self, row: ChoiceRow, split: str, index: int) -> Example:
        order = _order(row) if self._shuffle else list(range(len(row.choices)))
        choices = [row.choices[i] for i in order]
        listed = "\n".join(f"{letter}. {text}" for letter, text in zip(ascii_uppercase, choices, strict=False))
        prompt: Message = {"role": "user", "content": f"{row.question}\n\n{listed}\n\n{_INSTRUCTION}"}
        letter = ascii_uppercase[order.index(row.right)]
        return Example(task=self.name, split=split, index=index, messages=(prompt,), reference=letter,
                       solution=f"Answer: {letter}", fields={"choices": choices})


@describes(MultipleChoice)
def multiple_choice(options: TaskOptions) -> Task:
    """The task over rows of yours. Raises DataError when there are none, or when a row is malformed."""
    check_names(MultipleChoice.name, options.settings, ("shuffle",))
    shuffle = options.settings.get("shuffle", False)
    if not isinstance(shuffle, bool):
        raise ConfigError(message("task multiple_choice: setting 'shuffle' is not one it can use", got=repr(shuffle),
                                  expected="true or false", remedy="for example shuffle: true"))
    return MultipleChoice(rows_from_source(options, _KIND), shuffle=shuffle)


def _order(row: ChoiceRow) -> list[int]:
    order = list(range(len(row.choices)))
    if not any(_REFERS.search(choice[:400]) for choice in row.choices):
        key = "\x1f".join((row.question, *row.choices))
        row_random(MultipleChoice.name, "", 0, 0, salt=key).shuffle(order)
    return order


def _as_row(value: object, place: str) -> ChoiceRow:
    fields: Mapping[str, object] = value if isinstance(value, dict) else {}
    asked = _first(fields, "question", "question_stem")
    stem = asked.get("stem") if isinstance(asked, dict) else asked
    options = _first(fields, "choices", "options", "endings")
    if options is None and isinstance(asked, dict):
        options = asked.get("choices")
    choices, labels = _options(options if options is not None else _columns(fields))
    if not isinstance(stem, str) or not stem.strip() or not 2 <= len(choices) <= len(ascii_uppercase):
        raise DataError(message(f"{place} is not a question with 2 to {len(ascii_uppercase)} options",
                                got=repr(value)[:120], expected=_FORM, remedy="correct the row"))
    answer = _first(fields, "answer", "answerKey", "answer_key", "label")
    meant = _meant(answer, choices, labels)
    if len(meant) != 1:
        what = "has an answer that could be several options" if meant else "has an answer that is none of its options"
        raise DataError(message(f"{place} {what}", got=f"{answer!r:.80} of {choices!r:.120}",
                                expected="an index from 0, a letter, or the text of exactly one option",
                                remedy="correct the answer"))
    return ChoiceRow(stem.strip(), choices, meant.pop())


def _first(fields: Mapping[str, object], *names: str) -> object:
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def _columns(fields: Mapping[str, object]) -> list[object]:
    found = []
    for letter in ascii_uppercase:
        if fields.get(letter) is None:
            break
        found.append(fields[letter])
    return found


def _options(value: object) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Texts and labels; the labels are letters where the row has none. Empty where the value holds no options."""
    labels: list[object] = []
    if isinstance(value, dict):
        labels, value = value.get("label") or [], value.get("text")
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        labels, value = [item.get("label") for item in value], [item.get("text") for item in value]
    if not isinstance(value, list) or not all(_is_text(item) for item in value):
        return (), ()
    texts = tuple(str(item).strip() for item in value)
    named = len(labels) == len(texts) and all(_is_text(label) for label in labels)
    return texts if all(texts) else (), tuple(str(label).strip() for label in labels) if named else ()


def _is_text(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _meant(answer: object, choices: tuple[str, ...], labels: tuple[str, ...]) -> set[int]:
    """Every option that the answer could mean; options of one text count as one."""
    if isinstance(answer, int) and not isinstance(answer, bool):
        found = {answer} & set(range(len(choices)))
        return found | {i for i, choice in enumerate(choices) if choice == str(answer)}
    if not isinstance(answer, str) or not answer.strip():
        return set()
    said = answer.strip()
    if said in labels:
        return {labels.index(said)}
    letter = ascii_uppercase.find(said.upper()) if len(said) == 1 else -1
    found = {letter} & set(range(len(choices)))
    return found | {i for i, choice in enumerate(choices) if choice == said}


_KIND = RowKind(name=MultipleChoice.folder, title="multiple-choice", form=_FORM, read=_as_row,
                key=lambda row: row.question)
