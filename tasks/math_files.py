r"""Competition mathematics: `math500` and files of rows in the style of MATH (Hendrycks et al. 2021, arXiv 2103.03874).

A row is {"problem", "solution", "answer", "level", "subject"}. `answer` may be missing where the solution ends in
`\boxed{}`; `level` is 1 to 5 or "Level 3"; `subject` is also read from `type`; both may be missing.
`math500`     500 test problems (Lightman et al. 2023, arXiv 2305.20050): `TaskOptions.data`, else the folder `math500`
              of REASONGYM_DATA, else the hub's `HuggingFaceH4/MATH-500`. Its one split is test.
`math_files`  rows of yours: `TaskOptions.data`, else the folder `math_files` of REASONGYM_DATA; how a folder or file is
              divided into train and test: `row_files`.
Settings of both: `levels`, a level or [first, last]; `subjects`, a name or a list of names, in any case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from reasongym.errors import ConfigError, DataError, message, nearest
from reasongym.tasks.base import Example, Message, RewardPart, Task, TaskOptions, describes
from reasongym.tasks.finite import FiniteTask, Source, rows_from_source
from reasongym.tasks.row_files import RowKind
from reasongym.tasks.settings import check_names, integer_range

__all__ = ["Math500", "MathFiles", "MathRow", "math500", "math_files"]

_FORM = '{"problem": ..., "solution": ..., "answer": ..., "level": 1 to 5, "subject": ...}'
_INSTRUCTION = "Reason step by step, and put the final answer in \\boxed{}."
_HARDEST = 5


class MathRow(NamedTuple):
    """A problem and its gold. level: None where the row says none; subject: empty where it says none."""

    problem: str
    solution: str
    answer: str
    level: int | None
    subject: str


class MathFiles(FiniteTask[MathRow]):
    """Rows that are already read."""

    name = "math_files"
    description = "MATH-style problems from files of yours; the answer stands in \\boxed{}."
    rewards = (RewardPart(name="correct", verifier="math", weight=1.0),)
    folder = "math_files"

    def make_example(self, row: MathRow, split: str, index: int) -> Example:
        prompt: Message = {"role": "user", "content": f"{row.problem}\n\n{_INSTRUCTION}"}
        fields = {"problem": row.problem, "subject": row.subject,
                  **({} if row.level is None else {"level": row.level})}
        return Example(task=self.name, split=split, index=index, messages=(prompt,), reference=row.answer,
                       solution=row.solution or f"\\boxed{{{row.answer}}}", fields=fields)


class Math500(MathFiles):
    """The 500 problems held out of MATH for testing."""

    name = "math500"
    description = "500 competition problems of MATH, for evaluation; the answer stands in \\boxed{}."
    splits = ("test",)
    folder = "math500"
    hub_name = "HuggingFaceH4/MATH-500"


@describes(MathFiles)
def math_files(options: TaskOptions) -> Task:
    """The task over rows of yours. Raises DataError when there are none, or when a row is malformed."""
    return MathFiles(_source(options, MathFiles))


@describes(Math500)
def math500(options: TaskOptions) -> Task:
    """The task, from the first source that is there. Raises DataError when none is, or when a row is malformed."""
    source = _source(options, Math500)
    if "test" not in source.rows:
        raise DataError(message("math500 is a test set", got=f"{source.name} with {', '.join(source.rows)}",
                                expected="test.jsonl, or a file of another name that is no split's",
                                remedy="for a train split use the task math_files"))
    return Math500(Source({"test": source.rows["test"]}, source.name))


def _source(options: TaskOptions, task: type[MathFiles]) -> Source[MathRow]:
    check_names(task.name, options.settings, ("levels", "subjects"))
    kind = RowKind(name=task.folder, title="MATH", form=_FORM, read=_as_row, key=lambda row: row.problem,
                   undivided="test" if task is Math500 else None)
    found = rows_from_source(options, kind, task.hub_name)
    rows = _filtered(task.name, found.rows, options.settings)
    if not any(rows.values()):
        raise DataError(message(f"no row of {task.name} passes the settings", got=dict(options.settings),
                                expected=f"levels and subjects that meet in a row of {found.name}",
                                remedy="widen task.settings.levels or task.settings.subjects"))
    return Source(rows, found.name)


def _filtered(name: str, rows: Mapping[str, Sequence[MathRow]],
              settings: Mapping[str, object]) -> Mapping[str, Sequence[MathRow]]:
    """Rows of the levels and subjects asked for; one without a level or subject is of none that can be asked for."""
    there = {row.subject.casefold(): row.subject for listed in rows.values() for row in listed if row.subject}
    if "levels" in settings:
        first, last = integer_range(name, "levels", settings["levels"], low=1, high=_HARDEST)
        rows = {split: [row for row in listed if row.level is not None and first <= row.level <= last]
                for split, listed in rows.items()}
    if "subjects" in settings:
        wanted = _subjects(name, settings["subjects"], there)
        rows = {split: [row for row in listed if row.subject.casefold() in wanted] for split, listed in rows.items()}
    return rows


def _subjects(task: str, value: object, there: Mapping[str, str]) -> set[str]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list | tuple) or not listed or not all(isinstance(item, str) for item in listed):
        raise ConfigError(message(f"task {task}: setting 'subjects' is not a list it can use", got=repr(value),
                                  expected="a subject, or a list of them", remedy="for example subjects: [Algebra]"))
    for item in listed:
        if item.casefold() not in there:
            raise ConfigError(message(f"task {task} has no rows of subject {item!r}.{nearest(item, there.values())}",
                                      got=item, expected=f"one of {', '.join(sorted(there.values())) or 'none at all'}",
                                      remedy="correct task.settings.subjects"))
    return {item.casefold() for item in listed}


def _as_row(value: object, place: str) -> MathRow:
    fields = value if isinstance(value, dict) else {}
    problem, solution, answer = fields.get("problem"), fields.get("solution"), fields.get("answer")
    answer = str(answer) if isinstance(answer, int) and not isinstance(answer, bool) else answer
    if not isinstance(problem, str) or not problem.strip() or not isinstance(solution, str | None):
        raise DataError(message(f"{place} is not a MATH row", got=repr(value)[:120], expected=_FORM,
                                remedy="correct the row"))
    if answer is None and solution is not None and "\\boxed" in solution:
        answer = solution  # the verifier takes a solution that ends in \boxed{} as a reference
    if not isinstance(answer, str) or not answer.strip():
        raise DataError(message(f"{place} has no gold answer", got=repr(answer)[:80],
                                expected='a text "answer", or a "solution" with \\boxed{}', remedy="correct the row"))
    subject = fields.get("subject") or fields.get("type") or ""
    return MathRow(problem, solution or "", answer, _level(fields.get("level"), place),
                   subject if isinstance(subject, str) else "")


def _level(value: object, place: str) -> int | None:
    """MATH itself has two rows of "Level ?": they are of no level."""
    if value is None or value in ("", "Level ?"):
        return None
    text = str(value).removeprefix("Level ").strip()
    if isinstance(value, bool) or text not in {str(level) for level in range(1, _HARDEST + 1)}:
        raise DataError(message(f"{place} has a level that is none", got=repr(value)[:80],
                                expected=f'1 to {_HARDEST}, or "Level 1" to "Level {_HARDEST}"',
                                remedy="correct the row, or leave the level out"))
    return int(text)
