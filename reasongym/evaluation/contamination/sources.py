"""What is named on a command line or by a run -> rows to compare: `FILE`, `FOLDER`, `TASK` or `TASK:SPLIT`."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from reasongym import registry
from reasongym.errors import DataError, message
from reasongym.evaluation.contamination.corpus import KINDS, Document, files_of, read_file
from reasongym.evaluation.contamination.overlap import DEFAULT_WORDS, Compared, EvalRow, compare_rows
from reasongym.evaluation.contamination.record import Overlap
from reasongym.tasks import Example, Task, TaskOptions

__all__ = ["ENDLESS_ROWS", "Training", "compare_with", "eval_row", "open_training", "overlap_of", "problems_of",
           "split_spec", "task_documents"]

ENDLESS_ROWS = 10_000
"""Rows of a generator that are compared where no number is given."""


class Training(NamedTuple):
    """complete: whether `documents` are all there are."""

    documents: Iterable[Document]
    complete: bool


def compare_with(evaluated: Sequence[Example], training: Sequence[str], *, size: int = DEFAULT_WORDS,
                 rows: int = ENDLESS_ROWS, seed: int = 0, options: Mapping[str, TaskOptions] | None = None,
                 watch: Callable[[int], None] = lambda done: None) -> Compared:
    """Evaluation rows with the training data of these names; see `open_training`, `compare_rows`."""
    opened = {spec: open_training(spec, rows=rows, seed=seed, options=options) for spec in training}
    return compare_rows([eval_row(example) for example in evaluated],
                        {spec: one.documents for spec, one in opened.items()}, size=size, watch=watch,
                        complete=all(one.complete for one in opened.values()))


def overlap_of(rows: Sequence[Example], training: Sequence[str], *, name: str, options: TaskOptions,
               seed: int) -> Overlap | None:
    """What rows of the task `name` share with training data; None where none is named. A training task of the same name
    has the same data and settings."""
    if not training:
        return None
    task = problems_of(name, options)
    bare = [task.example(row.split, row.index, seed=seed) for row in rows]
    return compare_with(bare, training, seed=seed, options={name: options}).overlap


def open_training(spec: str, *, rows: int = ENDLESS_ROWS, seed: int = 0,
                  options: Mapping[str, TaskOptions] | None = None) -> Training:
    """Of a file or folder, else of a task. rows: of a generator. options: of a task by name, where not the default.

    Raises DataError, UnknownNameError at once for what is not there, DataError under way for a malformed row.
    """
    path = Path(spec).expanduser()
    if path.exists():
        files = files_of(path)
        return Training(itertools.chain.from_iterable(map(read_file, files)), True)
    if path.suffix in KINDS:
        raise DataError(message(f"no file {spec}", got=spec, expected="an existing file, a folder, or a task",
                                remedy="check the path"))
    name, split = split_spec(spec, "train")
    task = problems_of(name, (options or {}).get(name, TaskOptions()))
    size = task.size(split)
    return Training(task_documents(task, split, rows if size is None else size, seed=seed), size is not None)


def problems_of(name: str, options: TaskOptions) -> Task:
    """The task, without the solved rows that its settings put before a question: those are of the train split, and no
    part of a problem."""
    if options.settings:
        with contextlib.suppress(Exception):  # boundary: whatever error a task without that setting refuses it by
            return registry.task(name, replace(options, settings={**options.settings, "shots": 0}))
    return registry.task(name, options)


def split_spec(spec: str, default: str) -> tuple[str, str]:
    """`gsm8k:test` -> ("gsm8k", "test"). The name of a task may have a colon of its own: `rg:basic`, `file.py:name`."""
    name, colon, split = spec.rpartition(":")
    own = not colon or name in ("", "rg") or name.endswith(".py")
    return (spec, default) if own else (name, split)


def task_documents(task: Task, split: str, count: int, *, seed: int) -> Iterator[Document]:
    """The first `count` rows: the question and the answer of each."""
    for index in range(count):
        row = eval_row(task.example(split, index, seed=seed))
        yield Document(row.id, (("prompt", row.prompt), ("answer", row.answer)))


def eval_row(example: Example) -> EvalRow:
    """The last turn, which holds the problem; the worked solution, or else the reference."""
    prompt = str(example.messages[-1]["content"]) if example.messages else ""
    reference = example.reference
    held = reference if isinstance(reference, str) else json.dumps(reference, ensure_ascii=False, default=str)
    return EvalRow(example.id, prompt, example.solution or held)
