"""GSM8K: 7,473 + 1,319 grade-school word problems with worked solutions (Cobbe et al. 2021, arXiv 2110.14168).

Rows come from the first of these that is there:
1. `TaskOptions.data`: a .jsonl or .parquet file, or a folder of them
2. the folder named by the environment variable REASONGYM_DATA, or `gsm8k` in it
3. the hub data set `openai/gsm8k`, configuration `main`, or its copy in the local cache
4. in training only: `word_problems`, problems of our own making, and the provenance says so
Setting: `shots`, 0 to 4 answered problems shown before the question; the default is 0.
How a folder or file of rows is divided: `row_files`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from reasongym.errors import DataError, message
from reasongym.tasks.base import Example, Task, TaskOptions, describes
from reasongym.tasks.gsm8k_files import KIND, Row, as_row
from reasongym.tasks.hub import HubRows, load
from reasongym.tasks.hub import reachable as _reachable
from reasongym.tasks.prompting import FINAL_LINE_REWARDS, MAX_SHOTS, final_line_messages
from reasongym.tasks.row_files import local_source, rows_by_split
from reasongym.tasks.settings import check_names, integer

__all__ = ["GSM8K", "gsm8k"]

_HUB_NAME = "openai/gsm8k"


class GSM8K(Task):
    """Rows that are already read."""

    name = "gsm8k"
    description = "Grade-school word problems; the answer ends in `#### <number>`."
    rewards = FINAL_LINE_REWARDS

    def __init__(self, rows: Mapping[str, Sequence[Row]], source: str, *, shots: int = 0) -> None:
        """rows: by split; `source` is what the provenance says; shots: answered problems before the question."""
        self._shots = shots
        self.splits = tuple(split for split in ("train", "test") if rows.get(split))
        self._rows = {split: tuple(rows[split]) for split in self.splits}
        self._source = source

    def size(self, split: str) -> int:
        return len(self._split(split))

    def example(self, split: str, index: int, *, seed: int = 0) -> Example:
        rows = self._split(split)
        if not 0 <= index < len(rows):
            raise DataError(message(f"gsm8k has no row {index} in split {split!r}", got=index,
                                    expected=f"0 to {len(rows) - 1}", remedy="ask for fewer rows"))
        found = rows[index]
        return Example(task=self.name, split=split, index=index,
                       messages=final_line_messages(found.question, shots=self._shots),
                       reference=found.answer.rsplit("####", 1)[1].strip(),
                       solution=re.sub(r"<<[^<>]{0,200}>>", "", found.answer).strip())

    @classmethod
    def rows_from(cls, options: TaskOptions) -> str:
        local = _local(options)
        return f"{local}" if local else f"hub data set {_HUB_NAME}"

    def provenance(self) -> Mapping[str, str]:
        digest = hashlib.sha256()
        for split in self.splits:
            for found in self._rows[split]:
                digest.update(f"{split}\x1f{found.question}\x1f{found.answer}\x1e".encode())
        rows = ", ".join(f"{split} {len(self._rows[split])}" for split in self.splits)
        return {"source": self._source, "rows": rows, "fingerprint": digest.hexdigest()}

    def _split(self, split: str) -> tuple[Row, ...]:
        if split not in self._rows:
            raise DataError(message(f"gsm8k has no split {split!r}", got=split,
                                    expected=f"one of {', '.join(self.splits)} (from {self._source})",
                                    remedy="name a split that is there, or pass a folder that holds it"))
        return self._rows[split]


@describes(GSM8K)
def gsm8k(options: TaskOptions) -> Task:
    """The task, from the first source that is there. Raises DataError when none is, or when a row is malformed."""
    check_names("gsm8k", options.settings, ("shots",))
    shots = integer("gsm8k", "shots", options.settings.get("shots", 0), low=0, high=MAX_SHOTS)
    local = _local(options)
    if local is not None:
        return GSM8K(rows_by_split(local, KIND), str(local), shots=shots)
    try:
        loaded = load("gsm8k", _HUB_NAME, "main", is_reachable=_reachable)
    except DataError:
        if not options.training:
            raise
    else:
        return GSM8K(_checked(loaded), f"hub data set {_HUB_NAME} (main)", shots=shots)
    # Tasks do not import one another; this is the one exception: a run without data trains on a substitute.
    from reasongym.tasks.word_problems import WordProblems

    return WordProblems(TaskOptions(training=True, settings={"shots": shots}), substitute_for="gsm8k")


def _local(options: TaskOptions) -> Path | None:
    """The file or folder to read, or None for the hub. REASONGYM_DATA without gsm8k rows in it is passed over."""
    return local_source(options, KIND.name, any_folder=True)


def _checked(loaded: HubRows) -> dict[str, list[Row]]:
    return {split: [as_row(dict(value), f"{_HUB_NAME} {split} row {number}")
                    for number, value in enumerate(loaded[split], start=1)] for split in ("train", "test")}
