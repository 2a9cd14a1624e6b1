"""A run's folder, read for its report: what is missing is empty, so that a run still going on has a report too."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from reasongym.errors import DataError, message
from reasongym.evaluation import Interval, wilson_interval
from reasongym.tracking.metrics import read_metrics

__all__ = ["RunData", "load_run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunData:
    """metrics: one mapping a step, rows of the same step merged, sorted by step. config and environment: as parsed."""

    path: Path
    metrics: Sequence[Mapping[str, Any]]
    config_text: str
    config: Mapping[str, Any]
    environment: Mapping[str, Any]

    def series(self, name: str) -> tuple[tuple[int, float], ...]:
        """(step, value) of every step that has a number under that name."""
        return tuple((row["step"], row[name]) for row in self.metrics if row.get(name) is not None)

    def names(self, prefix: str) -> list[str]:
        """Names that begin with the prefix, in the order they appear."""
        return list(dict.fromkeys(name for row in self.metrics for name in row if name.startswith(prefix)))

    def parts(self) -> list[str]:
        """Reward parts, those seen in training first."""
        found = [name.removeprefix(prefix) for prefix in ("reward/", "eval/reward/") for name in self.names(prefix)]
        return [name for name in dict.fromkeys(found) if name != "mean"]

    def intervals(self, part: str) -> dict[int, Interval]:
        """Step -> 95% interval of a part's held-out score, where the number of prompts is known."""
        name = f"eval/reward/{part}"
        return {row["step"]: _interval(row[name], round(row["eval/prompts"])) for row in self.metrics
                if row.get(name) is not None and row.get("eval/prompts")}

    def setting(self, section: str, key: str) -> str:
        """A value of the configuration as text; empty where it has none."""
        node = self.config.get(section)
        return str(node.get(key, "")) if isinstance(node, Mapping) else ""

    def substitutes(self) -> list[str]:
        """Data sets that were not found and that other rows stood in for."""
        return list(dict.fromkeys(_values_of("substitute_for", self.environment)))


def load_run(path: Path) -> RunData:
    """Read a run's folder. Raises DataError for a file that is damaged."""
    config, environment = path / "config.yaml", path / "environment.json"
    return RunData(path=path, metrics=_merged(read_metrics(path / "metrics.jsonl")), config_text=_text(config),
                   config=_mapping(config, yaml.safe_load, yaml.YAMLError),
                   environment=_mapping(environment, json.loads, ValueError))


def _interval(mean: float, num_prompts: int) -> Interval:
    """Wilson's 95% interval of a mean of scores in [0, 1], one a prompt.

    Exact for scores of 0 or 1. For those between, and for several samples a prompt, it errs on the wide side: nothing
    in [0, 1] varies more than the 0-or-1 variable of the same mean.
    """
    return wilson_interval(round(min(1.0, max(0.0, mean)) * num_prompts), num_prompts)


def _merged(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """A step may have a training row and an evaluation row; of two that share a name the later counts."""
    steps: dict[int, dict[str, Any]] = {}
    for row in rows:
        steps.setdefault(row["step"], {}).update(row)
    return [steps[step] for step in sorted(steps)]


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def _mapping(path: Path, parse: Callable[[str], Any], failure: type[Exception]) -> Mapping[str, Any]:
    try:
        value = parse(_text(path) or "{}")
    except failure as error:
        raise DataError(message(f"{path} is damaged", got=str(error).replace("\n", " "), expected="as the run wrote it",
                                remedy="delete it to have a report without it")) from error
    return value if isinstance(value, Mapping) else {}


def _values_of(key: str, node: object) -> list[str]:
    """Every value under that key, however deep: a run with several data sets records several provenances."""
    found: list[str] = []
    if isinstance(node, Mapping):
        found += [str(value) for name, value in node.items() if name == key and value]
        node = list(node.values())
    if isinstance(node, list):
        found += [value for child in node for value in _values_of(key, child)]
    return found
