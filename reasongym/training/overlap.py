"""What a run's training rows share with its held-out rows, found before its first step and kept in its record."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reasongym.config import RunConfig
from reasongym.config.preference import OfflineConfig
from reasongym.evaluation.contamination.overlap import Compared, compare_rows
from reasongym.evaluation.contamination.sources import (
    ENDLESS_ROWS,
    Training,
    eval_row,
    open_training,
    problems_of,
    task_documents,
)
from reasongym.evaluation.rows import choose_rows
from reasongym.tasks import Task, TaskOptions

__all__ = ["overlap_facts", "overlap_note"]

LONGEST_S = 10.0
"""Then the record says that the comparison is not complete; `reasongym contamination` takes its time."""
PAIRS = 5
"""Worst ones that are recorded."""


def overlap_facts(config: RunConfig, task: Task) -> dict[str, Any]:
    """`{"overlap": ...}` for the run's record; empty for a run that is not evaluated. generated: the rows are a
    generator's, whose problems share their wording by design.

    Whatever a task of the user's raises for a row is recorded in its place: the run itself may never ask for that row.
    """
    if not config.evaluation.every:
        return {}
    try:
        compared = _compared(config, task)
    except Exception as error:  # boundary: rows come from any code, and this is for the record alone
        return {"overlap": {"error": f"{type(error).__name__}: {error}"[:500]}}
    overlap = compared.overlap
    return {"overlap": {"split": config.evaluation.split, "share": overlap.share, **overlap.model_dump(mode="json"),
                        "generated": _is_generated(config, task), "pairs": _pairs(compared)}}


def overlap_note(facts: dict[str, Any]) -> str:
    """What the user should know, or an empty text. facts: what `overlap_facts` gave."""
    found = facts.get("overlap", {})
    if "error" in found:
        return f"warning: held-out rows were not compared with training rows: {found['error']}"
    same = found.get("prompts", {}).get("normalised")
    if same:
        return (f"warning: {same} of {found['rows']} held-out problems are training problems: see overlap in "
                "environment.json")
    if not found.get("overlapping") or found["generated"]:
        return ""
    return (f"{found['overlapping']} of {found['rows']} held-out rows share {found['ngram_words']} words in a row with "
            "a training row: see overlap in environment.json")


def _is_generated(config: RunConfig, task: Task) -> bool:
    return task.size(config.task.split) is None and getattr(config.algorithm, "data", None) is None


def _compared(config: RunConfig, task: Task) -> Compared:
    until = time.monotonic() + LONGEST_S
    if config.task.settings:
        task = problems_of(config.task.name, TaskOptions(data=config.task.data, training=True,
                                                         settings=config.task.settings))
    size = task.size(config.evaluation.split)
    count = min(config.evaluation.prompts, size or config.evaluation.prompts)
    held_out = choose_rows(task, config.evaluation.split, count, seed=config.seed)
    name, training = _training(config, task)
    return compare_rows([eval_row(row) for row in held_out], {name: training.documents}, until=until,
                        complete=training.complete)


def _training(config: RunConfig, task: Task) -> tuple[str, Training]:
    """The file that is learnt from, else the task's split; of a generator no more rows than the run can ask for."""
    algorithm = config.algorithm
    if isinstance(algorithm, OfflineConfig) and algorithm.data is not None:
        return algorithm.data, open_training(str(Path(algorithm.data).expanduser()))
    split, size = config.task.split, task.size(config.task.split)
    asked = config.steps * config.rollout.prompts_per_step
    count = min(ENDLESS_ROWS, asked) if size is None else size
    return (f"{config.task.name}:{split}",
            Training(task_documents(task, split, count, seed=config.seed), size is not None or asked <= count))


def _pairs(compared: Compared) -> Sequence[dict[str, Any]]:
    return [{"row": pair.row, "side": pair.side, "kind": pair.match.kind, "training_row": pair.match.place}
            for pair in compared.pairs[:PAIRS]]
