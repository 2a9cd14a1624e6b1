"""MBPP: 974 short Python problems, 427 of them verified by hand (Austin et al. 2021, arXiv 2108.07732).

Rows are {"task_id", "prompt", "code", "test_imports", "test_list"}, as the verified part has them, or with "text" and
"test_setup_code" as the whole set does. They come from `TaskOptions.data`, else from the folder `mbpp` of
REASONGYM_DATA, else from the hub data set `google-research-datasets/mbpp`. A file that is not named for a split is
divided as published: numbers 11 to 510 are for test, the others for training. The published parts share solutions
(one of the verified 427: the Bell numbers); such rows are left out of all but the part for test.
Setting: `shown`, how many of a row's assertions the prompt shows, 1 to 10; the default is 1. The first names the
function and its arguments; what is not shown cannot be written down by heart. Published figures show all.
"""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from typing import NamedTuple

from reasongym.errors import DataError, message
from reasongym.tasks.base import Example, Task, TaskOptions, describes
from reasongym.tasks.code_answers import CODE_REWARDS, ask, fenced
from reasongym.tasks.finite import FiniteTask, Source, rows_from_source
from reasongym.tasks.row_files import RowKind
from reasongym.tasks.settings import check_names, integer

__all__ = ["MBPP", "mbpp"]

_FORM = '{"task_id": 11, "prompt": ..., "code": ..., "test_list": ["assert ...", ...]}'
_TEST_IDS = range(11, 511)


class _Row(NamedTuple):
    task_id: int
    prompt: str
    code: str
    entry_point: str
    imports: tuple[str, ...]
    asserts: tuple[str, ...]


class MBPP(FiniteTask[_Row]):
    """Rows that are already read."""

    name = "mbpp"
    description = "Short Python problems, judged by their assertions in a sandbox."
    rewards = CODE_REWARDS
    folder = "mbpp"
    hub_name = "google-research-datasets/mbpp"

    def __init__(self, source: Source[_Row], *, shown: int = 1) -> None:
        super().__init__(source)
        self._shown = shown

    def make_example(self, row: _Row, split: str, index: int) -> Example:
        shown = "\n".join(row.asserts[:self._shown])
        problem = f"{row.prompt}\n\nThe function is tested by assertions such as\n\n{fenced(shown)}"
        return Example(task=self.name, split=split, index=index, messages=ask(problem, "function"),
                       reference={"entry_point": row.entry_point, "tests": list(row.asserts),
                                  "imports": list(row.imports)},
                       solution=fenced(row.code), fields={"task_id": row.task_id})


@describes(MBPP)
def mbpp(options: TaskOptions) -> Task:
    """The task, from the first source that is there. Raises DataError when none is, or when a row is malformed."""
    check_names(MBPP.name, options.settings, ("shown",))
    shown = integer(MBPP.name, "shown", options.settings.get("shown", 1), low=1, high=10)
    found = rows_from_source(options, _KIND, MBPP.hub_name)
    return MBPP(_apart(_divided(found)), shown=shown)


def _divided(source: Source[_Row]) -> Source[_Row]:
    """As published, where the rows came undivided."""
    if source.rows.keys() != {"test"}:
        return source
    rows = source.rows["test"]
    return Source({"train": [row for row in rows if row.task_id not in _TEST_IDS],
                   "test": [row for row in rows if row.task_id in _TEST_IDS]}, source.name)


def _apart(source: Source[_Row]) -> Source[_Row]:
    """Without the rows of other splits whose solution is that of a row for test."""
    tested = {_text(row) for row in source.rows.get("test", ())}
    return Source({split: [row for row in rows if split == "test" or _text(row) not in tested]
                   for split, rows in source.rows.items()}, source.name)


def _text(row: _Row) -> str:
    """The solution without what two copies of it differ in: white space, and capitals in names."""
    return " ".join(row.code.casefold().split())


def _as_row(value: object, place: str) -> _Row:
    fields = value if isinstance(value, dict) else {}
    prompt, code, task_id = fields.get("prompt", fields.get("text")), fields.get("code"), fields.get("task_id")
    asserts, imports = fields.get("test_list"), list(fields.get("test_imports") or [])
    imports += [fields["test_setup_code"]] if fields.get("test_setup_code") else []
    right = isinstance(asserts, list) and asserts and all(isinstance(text, str) for text in [*asserts, *imports])
    if not (right and isinstance(prompt, str) and isinstance(code, str) and isinstance(task_id, int)):
        raise DataError(message(f"{place} is not an MBPP row", got=repr(value)[:120], expected=_FORM,
                                remedy="correct the row"))
    assert isinstance(asserts, list)
    tested = _tested_function(code, asserts)
    if tested is None:
        raise DataError(message(f"{place} tests no function of its code", got=repr(asserts[0])[:120],
                                expected="assertions that call a function which the code defines",
                                remedy="correct or remove the row"))
    return _Row(task_id, prompt.strip(), code.replace("\r\n", "\n").strip(), tested, tuple(imports), tuple(asserts))


def _tested_function(code: str, asserts: list[str]) -> str | None:
    """The one of the code's functions that the assertions call most."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rows with "\\w" for "\\\\w"
            trees = [ast.parse(text) for text in (code, *asserts)]
    except (SyntaxError, ValueError):
        return None
    defined = {node.name for node in trees[0].body if isinstance(node, ast.FunctionDef)}
    called = Counter(node.func.id for tree in trees[1:] for node in ast.walk(tree)
                     if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in defined)
    return called.most_common(1)[0][0] if called else None


_KIND = RowKind(name=MBPP.folder, title="MBPP", form=_FORM, read=_as_row, key=lambda row: row.prompt, undivided="test")
