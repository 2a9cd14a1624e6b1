"""SVAMP: 1,000 short word problems, varied so that shallow matching fails (Patel et al. 2021, arXiv 2103.07191).

Rows are {"Body", "Question", "Answer"}, other fields are passed over. They come from `TaskOptions.data`, else from the
folder `svamp` of REASONGYM_DATA, else from the hub data set `ChilleD/SVAMP`, which divides them 700 to 300. A file that
is not named for a split (the published one is not) is all test: published figures are over the 1,000.
Setting: `shots`, 0 to 4 answered problems shown before the question; the default is 0.
"""

from __future__ import annotations

from typing import NamedTuple

from reasongym.errors import DataError, message
from reasongym.tasks.base import Example, Task, TaskOptions, describes
from reasongym.tasks.finite import FiniteTask, Source, rows_from_source
from reasongym.tasks.prompting import FINAL_LINE_REWARDS, MAX_SHOTS, final_line_messages
from reasongym.tasks.row_files import RowKind
from reasongym.tasks.settings import check_names, integer
from reasongym.verifiers.gsm8k import reference_number

__all__ = ["SVAMP", "svamp"]

_FORM = '{"Body": ..., "Question": ..., "Answer": <number>}'


class _Row(NamedTuple):
    """`answer` is a number as text, exact: "51", "0.5"."""

    body: str
    question: str
    answer: str


class SVAMP(FiniteTask[_Row]):
    """Rows that are already read."""

    name = "svamp"
    description = "Short word problems varied against shallow matching; the answer ends in `#### <number>`."
    rewards = FINAL_LINE_REWARDS
    splits = ("test",)
    folder = "svamp"
    hub_name = "ChilleD/SVAMP"

    def __init__(self, source: Source[_Row], *, shots: int = 0) -> None:
        super().__init__(source)
        self._shots = shots

    def make_example(self, row: _Row, split: str, index: int) -> Example:
        body = row.body if row.body[-1:] in (".", "?", "!", "") else f"{row.body}."  # many published bodies lack it
        return Example(task=self.name, split=split, index=index, reference=row.answer, solution=f"#### {row.answer}",
                       messages=final_line_messages(f"{body} {row.question}", shots=self._shots))


@describes(SVAMP)
def svamp(options: TaskOptions) -> Task:
    """The task, from the first source that is there. Raises DataError when none is, or when a row is malformed."""
    check_names(SVAMP.name, options.settings, ("shots",))
    shots = integer(SVAMP.name, "shots", options.settings.get("shots", 0), low=0, high=MAX_SHOTS)
    return SVAMP(rows_from_source(options, _KIND, SVAMP.hub_name), shots=shots)


def _as_row(value: object, place: str) -> _Row:
    fields = value if isinstance(value, dict) else {}
    body, question, answer = (fields.get(key) for key in ("Body", "Question", "Answer"))
    if not isinstance(body, str) or not isinstance(question, str) or not question.strip():
        raise DataError(message(f"{place} is not a SVAMP row", got=repr(value)[:120], expected=_FORM,
                                remedy="correct the row"))
    number = reference_number(answer)
    if number is None:
        raise DataError(message(f"{place} has no gold number", got=repr(answer)[:80], expected=f"a number in {_FORM}",
                                remedy="correct or remove the row"))
    return _Row(body.strip(), question.strip(), str(number) if number.denominator == 1 else str(answer).strip())


_KIND = RowKind(name=SVAMP.folder, title="SVAMP", form=_FORM, read=_as_row, undivided="test",
                key=lambda row: f"{row.body} {row.question}")
