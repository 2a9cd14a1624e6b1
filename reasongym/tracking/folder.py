"""The folder of one run: what lies where, and the files written once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from reasongym.errors import ConfigError, message
from reasongym.files import make_folder, refuse_used, write_atomic

__all__ = ["RunFolder"]


class RunFolder:
    """`runs/<name>/`, made where it is not there.

    Raises ConfigError where the folder holds anything already and `resume` is not asked for, so that no run is ever
    written over another; ResourceError where it cannot be made.
    """

    def __init__(self, path: str | Path, *, resume: bool = False) -> None:
        self.path = Path(path).expanduser()
        if self.path.exists() and not self.path.is_dir():
            raise ConfigError(message(f"{self.path} is not a folder", got="a file of that name",
                                      expected="a folder, or nothing", remedy="choose another `name` for the run"))
        if not resume:
            refuse_used(self.path, remedy="pass --resume to continue that run, or choose another `name`")
        for folder in (self.path, self.rollouts, self.checkpoints):
            make_folder(folder)

    @property
    def name(self) -> str:
        return self.path.resolve().name

    @property
    def config(self) -> Path:
        return self.path / "config.yaml"

    @property
    def environment(self) -> Path:
        return self.path / "environment.json"

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def tensorboard(self) -> Path:
        return self.path / "tensorboard"

    @property
    def rollouts(self) -> Path:
        return self.path / "rollouts"

    @property
    def evaluations(self) -> Path:
        return self.path / "evals"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def report(self) -> Path:
        return self.path / "report.html"

    @property
    def final(self) -> Path:
        return self.path / "final"

    def write_config(self, yaml_text: str) -> Path:
        """config.yaml: the resolved configuration. Raises ResourceError."""
        return write_atomic(self.config, yaml_text)

    def write_environment(self, values: Mapping[str, object]) -> Path:
        """environment.json: what `environment()` collected. Raises ResourceError."""
        return write_atomic(self.environment, json.dumps(values, indent=2, ensure_ascii=False, default=str) + "\n")
