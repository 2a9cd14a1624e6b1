"""Weights & Biases. Its environment variables hold: WANDB_API_KEY, WANDB_MODE, WANDB_PROJECT, WANDB_ENTITY,
WANDB_DIR."""

from __future__ import annotations

import os
import secrets
from typing import Any

from reasongym.tracking.loggers.messages import Outcome, Row, RunInfo, Table, project_of

__all__ = ["Logger"]

EXIT_CODES: dict[Outcome, int] = {"finished": 0, "failed": 1, "stopped": 130}


class Logger:
    """A run under an id of its own, kept in the run's folder; `step` is the axis of every chart.

    W&B's own step only rises, and would drop what a resumed run does again.
    """

    def __init__(self, run: RunInfo) -> None:
        import wandb

        ids = run.known("wandb") or {"id": secrets.token_hex(8)}
        run.remember("wandb", ids)
        self._run: Any = wandb.init(
            id=ids["id"], name=run.name, project=project_of(run, os.environ.get("WANDB_PROJECT")), resume="allow",
            dir=os.environ.get("WANDB_DIR", run.folder), config=dict(run.config), allow_val_change=True,
            settings=wandb.Settings(console="off", silent=True, save_code=False))
        self._run.define_metric("step")
        self._run.define_metric("*", step_metric="step")
        here = os.path.dirname(self._run.dir)
        self.note = f"offline; `wandb sync {here}` sends it" if self._run.offline else str(self._run.url)

    def row(self, step: int, time: float, values: Row) -> None:
        known = {name: value for name, value in values.items() if value is not None}
        self._run.log({**known, "step": step, "_timestamp": time})

    def table(self, step: int, table: Table) -> None:
        import wandb

        rows = [list(row) for row in table.rows]
        self._run.log({"answers": wandb.Table(columns=list(table.columns), data=rows), "step": step})

    def finish(self, outcome: Outcome) -> None:
        self._run.summary["outcome"] = outcome
        self._run.finish(exit_code=EXIT_CODES[outcome])
