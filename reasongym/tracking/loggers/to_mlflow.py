"""MLflow. Its environment variables hold: MLFLOW_TRACKING_URI with credentials beside it, MLFLOW_EXPERIMENT_NAME."""

from __future__ import annotations

import json
import os
import re
from typing import Any

from reasongym.tracking.loggers.messages import Outcome, Row, RunInfo, Table, flat, project_of

__all__ = ["Logger"]

STATUS: dict[Outcome, str] = {"finished": "FINISHED", "failed": "FAILED", "stopped": "KILLED"}
NOT_IN_A_NAME = re.compile(r"[^\w\-. /:]")
LONGEST_VALUE, MOST_PARAMS = 500, 100  # of servers since MLflow 1


class Logger:
    """A run of the experiment; answers are JSON files under `answers/`, in the form of MLflow's tables."""

    def __init__(self, run: RunInfo) -> None:
        import mlflow

        self._mlflow: Any = mlflow
        self._client: Any = mlflow.MlflowClient()
        known = run.known("mlflow").get("run_id")
        self._id = self._again(known) if known else self._new(run)
        self._write_config(run)
        self.note = f"run {self._id} in {_shown(self._client.tracking_uri)}"

    def row(self, step: int, time: float, values: Row) -> None:
        made = self._mlflow.entities.Metric
        metrics = [made(_named(name), value, int(time * 1000), step) for name, value in values.items()
                   if value is not None]
        self._client.log_batch(self._id, metrics=metrics)

    def table(self, step: int, table: Table) -> None:
        content: dict[str, Any] = {"columns": list(table.columns), "data": [list(row) for row in table.rows]}
        self._client.log_dict(self._id, content, f"answers/step-{step:06d}.json")

    def finish(self, outcome: Outcome) -> None:
        self._client.set_terminated(self._id, STATUS[outcome])

    def _again(self, run_id: str) -> str:
        self._client.update_run(run_id, status="RUNNING")
        return run_id

    def _new(self, run: RunInfo) -> str:
        name = project_of(run, os.environ.get("MLFLOW_EXPERIMENT_NAME"))
        found = self._client.get_experiment_by_name(name)
        made = self._client.create_run(found.experiment_id if found else self._create_experiment(name),
                                       run_name=run.name)
        run_id: str = made.info.run_id
        run.remember("mlflow", {"run_id": run_id})
        return run_id

    def _create_experiment(self, name: str) -> str:
        try:
            made: str = self._client.create_experiment(name)
        except self._mlflow.MlflowException:  # another run was first
            found = self._client.get_experiment_by_name(name)
            if found is None:
                raise
            made = found.experiment_id
        return made

    def _write_config(self, run: RunInfo) -> None:
        """MLflow refuses to change a parameter: what a resumed run was told anew becomes a tag."""
        before: dict[str, str] = self._client.get_run(self._id).data.params
        now = {_named(key): _value(value) for key, value in flat(run.config)}
        new = [self._mlflow.entities.Param(key, value) for key, value in now.items() if key not in before]
        for start in range(0, len(new), MOST_PARAMS):
            self._client.log_batch(self._id, params=new[start:start + MOST_PARAMS])
        changed = {key: value for key, value in now.items() if before.get(key, value) != value}
        self._client.log_batch(self._id, tags=[self._mlflow.entities.RunTag(f"resumed/{key}", value)
                                               for key, value in changed.items()])


def _shown(address: str) -> str:
    """For people: without a password."""
    return re.sub(r"//[^/@]*@", "//", address)


def _named(name: str) -> str:
    return NOT_IN_A_NAME.sub("_", name)


def _value(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text[:LONGEST_VALUE]
