"""The verifier `code` on all rows of HumanEval and MBPP: how many reference solutions pass, and verdicts a second."""

from __future__ import annotations

import time
from pathlib import Path

from reasongym import registry
from reasongym.tasks import TaskOptions
from reasongym.verifiers import as_verdict

FILES = {"humaneval": "HumanEval.jsonl", "mbpp": "sanitized-mbpp.jsonl"}
DATA = Path(__file__).parent.parent.parent / "shared" / "data"


def measure() -> dict[str, float]:
    """One thread, on the sandbox that is chosen here by default."""
    verify = registry.verifier("code")
    figures: dict[str, float] = {}
    for name, file in FILES.items():
        task = registry.task(name, TaskOptions(data=str(DATA / name / file)))
        rows = [task.example(split, index) for split in task.splits for index in range(task.size(split) or 0)]
        started = time.perf_counter()
        verdicts = [as_verdict(verify(str(row.solution), row.reference, example=row.fields)) for row in rows]
        figures[f"{name}_per_second"] = len(rows) / (time.perf_counter() - started)
        figures[f"{name}_passed"] = sum(verdict.score == 1.0 for verdict in verdicts)
        figures[f"{name}_rows"] = len(rows)
    return figures
