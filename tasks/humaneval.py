"""HumanEval: 164 functions to be completed from their head and docstring (Chen et al. 2021, arXiv 2107.03374).

Rows are {"task_id", "prompt", "entry_point", "canonical_solution", "test"}. They come from `TaskOptions.data`, else
from the folder `humaneval` of REASONGYM_DATA, else from the hub data set `openai/openai_humaneval`. All are for test.
The row's prompt goes to the verifier as a field: its imports and helpers are there for the answer and for the tests
(three of which call a helper), and an answer that continues the prompt counts as the whole.
"""

from __future__ import annotations

from typing import NamedTuple

from reasongym.errors import DataError, message
from reasongym.tasks.base import Example, Task, TaskOptions, describes
from reasongym.tasks.code_answers import CODE_REWARDS, ask, fenced
from reasongym.tasks.finite import FiniteTask, rows_from_source
from reasongym.tasks.row_files import RowKind
from reasongym.tasks.settings import check_names

__all__ = ["HumanEval", "humaneval"]

_FORM = '{"task_id": ..., "prompt": ..., "entry_point": ..., "canonical_solution": ..., "test": ...}'


class _Row(NamedTuple):
    task_id: str
    prompt: str
    entry_point: str
    canonical_solution: str
    test: str


class HumanEval(FiniteTask[_Row]):
    """Rows that are already read."""

    name = "humaneval"
    description = "164 Python functions to complete, judged by their tests in a sandbox; for evaluation."
    rewards = CODE_REWARDS
    splits = ("test",)
    folder = "humaneval"
    hub_name = "openai/openai_humaneval"

    def make_example(self, row: _Row, split: str, index: int) -> Example:
        problem = f"Complete this Python function.\n\n{fenced(row.prompt)}"
        return Example(task=self.name, split=split, index=index, messages=ask(problem, "function"),
                       reference={"entry_point": row.entry_point, "check": row.test},
                       solution=fenced(row.prompt + row.canonical_solution),
                       fields={"prompt": row.prompt, "task_id": row.task_id})


@describes(HumanEval)
def humaneval(options: TaskOptions) -> Task:
    """The task, from the first source that is there. Raises DataError when none is, or when a row is malformed."""
    check_names(HumanEval.name, options.settings, ())
    return HumanEval(rows_from_source(options, _KIND, HumanEval.hub_name))


def _as_row(value: object, place: str) -> _Row:
    fields = value if isinstance(value, dict) else {}
    texts = [fields.get(name) for name in _Row._fields]
    if not all(isinstance(text, str) and text.strip() for text in texts):
        raise DataError(message(f"{place} is not a HumanEval row", got=repr(value)[:120], expected=f"the texts {_FORM}",
                                remedy="correct the row"))
    row = _Row(*map(str, texts))
    if not row.entry_point.isidentifier() or f"def {row.entry_point}(" not in row.prompt:
        raise DataError(message(f"{place} has a prompt without the function's head", got=repr(row.prompt[-80:]),
                                expected=f"def {row.entry_point:.60}(...) in it", remedy="correct the row"))
    if "def check(" not in row.test:
        raise DataError(message(f"{place} has no tests", got=repr(row.test[:80]),
                                expected="source that defines check(candidate)", remedy="correct or remove the row"))
    return row


_KIND = RowKind(name=HumanEval.folder, title="HumanEval", form=_FORM, read=_as_row, key=lambda row: row.prompt,
                undivided="test")
