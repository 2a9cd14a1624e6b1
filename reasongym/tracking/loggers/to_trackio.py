"""Trackio: local files, or a Hugging Face Space. Its environment variables hold: TRACKIO_DIR, TRACKIO_PROJECT,
TRACKIO_SPACE_ID, HF_TOKEN."""

from __future__ import annotations

import os
from typing import Any

from reasongym.tracking.loggers.messages import Outcome, Row, RunInfo, Table, project_of

__all__ = ["Logger"]


class Logger:
    """Trackio knows a run by its name and has no state for how one ended: an alert says that it failed or stopped."""

    def __init__(self, run: RunInfo) -> None:
        import trackio

        project = project_of(run, os.environ.get("TRACKIO_PROJECT"))
        name = run.known("trackio").get("name", run.name)
        self._trackio: Any = trackio
        self._run: Any = trackio.init(project=project, name=name, config=dict(run.config), resume="allow", embed=False,
                                      space_id=os.environ.get("TRACKIO_SPACE_ID"), auto_log_gpu=False,
                                      auto_log_cpu=False)
        run.remember("trackio", {"name": name})
        self.note = f"`trackio show --project {project}` shows it"

    def row(self, step: int, time: float, values: Row) -> None:
        self._run.log({name: value for name, value in values.items() if value is not None}, step=step)

    def table(self, step: int, table: Table) -> None:
        rows = [list(row) for row in table.rows]
        self._run.log({"answers": self._trackio.Table(columns=list(table.columns), data=rows)}, step=step)

    def finish(self, outcome: Outcome) -> None:
        if outcome != "finished":
            levels = self._trackio.AlertLevel
            level = levels.ERROR if outcome == "failed" else levels.WARN
            self._trackio.alert(title=f"the run {outcome}", level=level)
        self._trackio.finish()
