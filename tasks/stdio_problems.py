"""Programs that read standard input and write standard output: rows of yours.

A row is {"prompt": text, "tests": [{"input": text, "output": text}, ...]}. It may have
    shown                     further tests, which the prompt shows as examples; they have to pass and earn nothing
    solution                  source of a program that passes
    compare, float_tolerance  how output is compared, where not exactly: docs/verifiers/code.md
    limits, partial           as there
Rows come from `TaskOptions.data`, else from the folder `stdio_problems` of REASONGYM_DATA; how a folder or file is
divided into train and test: `row_files`.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from reasongym.errors import DataError, message, nearest
from reasongym.tasks.base import Example, Task, TaskOptions, describes
from reasongym.tasks.code_answers import CODE_REWARDS, ask, fenced
from reasongym.tasks.finite import FiniteTask, rows_from_source
from reasongym.tasks.row_files import RowKind
from reasongym.tasks.settings import check_names
from reasongym.verifiers.code.reference import ReferenceProblem, read_reference

__all__ = ["StdioProblems", "stdio_problems"]

_FORM = '{"prompt": ..., "tests": [{"input": ..., "output": ...}]}'
_OPTIONS = ("shown", "compare", "float_tolerance", "limits", "partial")


class _Row(NamedTuple):
    """reference: JSON text. solution: None where the row has none."""

    prompt: str
    reference: str
    solution: str | None


class StdioProblems(FiniteTask[_Row]):
    """Rows that are already read."""

    name = "stdio_problems"
    description = "Programs from standard input to standard output, from files of yours."
    rewards = CODE_REWARDS
    folder = "stdio_problems"

    def make_example(self, row: _Row, split: str, index: int) -> Example:
        reference = json.loads(row.reference)
        shown = "".join(f"\n\nFor the input\n\n{_block(test['input'])}\n\nthe output is\n\n{_block(test['output'])}"
                        for test in reference.get("shown", []))
        return Example(task=self.name, split=split, index=index, messages=ask(f"{row.prompt}{shown}", "program"),
                       reference=reference, solution=None if row.solution is None else fenced(row.solution))


@describes(StdioProblems)
def stdio_problems(options: TaskOptions) -> Task:
    """The task over rows of yours. Raises DataError when there are none, or when a row is malformed."""
    check_names(StdioProblems.name, options.settings, ())
    return StdioProblems(rows_from_source(options, _KIND))


def _block(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```"


def _as_row(value: object, place: str) -> _Row:
    fields = value if isinstance(value, dict) else {}
    prompt, solution = fields.get("prompt"), fields.get("solution")
    if not isinstance(prompt, str) or not prompt.strip() or not isinstance(solution, str | None):
        raise DataError(message(f"{place} is not a stdio problem", got=repr(value)[:120], expected=_FORM,
                                remedy="correct the row"))
    known = {"prompt", "solution", "tests", *_OPTIONS}
    for name in fields:
        if name not in known:
            raise DataError(message(f"{place} has a field {name!r} that is not read.{nearest(str(name), known)}",
                                    got=name, expected=f"some of {', '.join(sorted(known))}", remedy="rename it"))
    reference = {"stdio": fields.get("tests", []), **{key: fields[key] for key in _OPTIONS if key in fields}}
    try:
        read_reference(reference)
    except ReferenceProblem as error:
        raise DataError(message(f"{place} has tests that cannot be used", got=str(error), expected=_FORM,
                                remedy="correct the row")) from error
    return _Row(prompt.strip(), json.dumps(reference), solution)


_KIND = RowKind(name=StdioProblems.folder, title="stdio", form=_FORM, read=_as_row, key=lambda row: row.prompt)
