"""GSM8K: 7,473 + 1,319 grade-school word problems with worked solutions (Cobbe et al. 2021, arXiv 2110.14168).

Rows come from the first of these that is there:
1. `TaskOptions.data`: a .jsonl or .parquet file, or a folder of them
2. the folder named by the environment variable REASONGYM_DATA, or `gsm8k` in it
3. the hub data set `openai/gsm8k`, configuration `main`, or its copy in the local cache
4. in training only: `word_problems`, problems of our own making, and the provenance says so
Settings: `shots`, 0 to 4 answered problems shown before the question; the default is 0. `style: lm_eval` asks as
lm-evaluation-harness does, and `shots` is then 0 to 32 rows of the train split, 5 by default: `gsm8k_lm_eval`.
How a folder or file of rows is divided: `row_files`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from reasongym.errors import DataError
from reasongym.tasks.base import Example, Message, Task, TaskOptions, describes
from reasongym.tasks.finite import FiniteTask, Source
from reasongym.tasks.gsm8k_files import KIND, Row, as_row
from reasongym.tasks.gsm8k_lm_eval import DEFAULT_SHOTS, MOST_SHOTS, draw_shown, worded
from reasongym.tasks.hub import HubRows, load
from reasongym.tasks.hub import reachable as _reachable
from reasongym.tasks.prompting import FINAL_LINE_REWARDS, MAX_SHOTS, final_line_messages
from reasongym.tasks.row_files import local_source, rows_by_split
from reasongym.tasks.settings import check_names, choice, integer

__all__ = ["GSM8K", "gsm8k"]

Style = Literal["own", "lm_eval"]


class GSM8K(FiniteTask[Row]):
    """Rows that are already read."""

    name = "gsm8k"
    description = "Grade-school word problems; the answer ends in `#### <number>`."
    rewards = FINAL_LINE_REWARDS
    folder = KIND.name
    hub_name = "openai/gsm8k"

    def __init__(self, source: Source[Row], *, shots: int = 0, style: Style = "own") -> None:
        """shots: answered problems before the question. style: whose form the prompts have."""
        super().__init__(source)
        self._shots = shots
        self._shown = self._draw_shown() if style == "lm_eval" else None
        self.takes_shots = self._shown is None

    def make_example(self, row: Row, split: str, index: int) -> Example:
        return Example(task=self.name, split=split, index=index, messages=self._ask(row, split, index),
                       reference=row.answer.rsplit("####", 1)[1].strip(),
                       solution=re.sub(r"<<[^<>]{0,200}>>", "", row.answer).strip())

    def _ask(self, row: Row, split: str, index: int) -> tuple[Message, ...]:
        if self._shown is None:
            return final_line_messages(row.question, shots=self._shots)
        return (Message(role="user", content=worded(row.question, self._shown[split][index])),)

    def _draw_shown(self) -> dict[str, list[tuple[Row, ...]]]:
        pool = self._rows.get("train", ())
        return {split: draw_shown(pool, self._rows[split], self._shots, of_the_pool=split == "train")
                for split in self.splits}

    @classmethod
    def rows_from(cls, options: TaskOptions) -> str:
        return str(_local(options) or f"hub data set {cls.hub_name}")


@describes(GSM8K)
def gsm8k(options: TaskOptions) -> Task:
    """The task, from the first source that is there. Raises DataError when none is, or when a row is malformed."""
    check_names("gsm8k", options.settings, ("shots", "style"))
    style: Style = choice("gsm8k", "style", options.settings.get("style", "own"), ("own", "lm_eval"))
    default, most = (DEFAULT_SHOTS, MOST_SHOTS) if style == "lm_eval" else (0, MAX_SHOTS)
    shots = integer("gsm8k", "shots", options.settings.get("shots", default), low=0, high=most)
    local = _local(options)
    if local is not None:
        return GSM8K(Source(rows_by_split(local, KIND), str(local)), shots=shots, style=style)
    try:
        loaded = load("gsm8k", GSM8K.hub_name, "main", is_reachable=_reachable)
    except DataError:
        if not options.training or style == "lm_eval":
            raise
    else:
        return GSM8K(Source(_checked(loaded), f"hub data set {GSM8K.hub_name} (main)"), shots=shots, style=style)
    # Tasks do not import one another; this is the one exception: a run without data trains on a substitute.
    from reasongym.tasks.word_problems import WordProblems

    return WordProblems(TaskOptions(training=True, settings={"shots": shots}), substitute_for="gsm8k")


def _local(options: TaskOptions) -> Path | None:
    """The file or folder to read, or None for the hub. REASONGYM_DATA without gsm8k rows in it is passed over."""
    return local_source(options, KIND.name, any_folder=True)


def _checked(loaded: HubRows) -> dict[str, list[Row]]:
    return {split: [as_row(dict(value), f"{GSM8K.hub_name} {split} row {number}")
                    for number, value in enumerate(loaded[split], start=1)] for split in ("train", "test")}
