"""What passes between a run and the process of a logger: JSON, a line each way for every call."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from reasongym.files import write_atomic

__all__ = ["Outcome", "Row", "RunInfo", "Service", "Table", "flat", "project_of"]

Outcome = Literal["finished", "stopped", "failed"]
Row = Mapping[str, float | None]
"""Values by the metric's own name; None where one is not finite."""
PROJECT = "reasongym"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """Which run: its name, its folder, its configuration as plain values, and the loggers' settings of it.

    project: None leaves it to the service's environment variable, else to PROJECT.
    """

    name: str
    folder: str
    config: Mapping[str, Any]
    project: str | None = None
    prometheus_host: str = "127.0.0.1"
    prometheus_port: int = 9464

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def log_file(self, logger: str) -> Path:
        """What the service itself prints."""
        return Path(self.folder) / "loggers" / f"{logger}.log"

    def known(self, logger: str) -> dict[str, str]:
        """What `remember` kept of an earlier session; empty at the first."""
        try:
            found = json.loads(self._state(logger).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return {key: str(value) for key, value in found.items()} if isinstance(found, dict) else {}

    def remember(self, logger: str, ids: Mapping[str, str]) -> None:
        """The service's names for this run, so that a resumed one goes on in the same. Raises ResourceError."""
        write_atomic(self._state(logger), json.dumps(dict(ids)) + "\n")

    def _state(self, logger: str) -> Path:
        return Path(self.folder) / "loggers" / f"{logger}.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Some of a step's answers: `rows` under `columns`, every value a text or a number."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


class Service(Protocol):
    """A logger inside its process; it begins the run as it is made. A call may raise anything: its row is then lost."""

    note: str
    """For people, once: an address to look at. May be empty."""

    def row(self, step: int, time: float, values: Row) -> None: ...

    def table(self, step: int, table: Table) -> None: ...

    def finish(self, outcome: Outcome) -> None: ...


def flat(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The configuration under dotted keys, as `--set` names them."""
    for key, value in config.items():
        if isinstance(value, Mapping) and value:
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def project_of(run: RunInfo, variable: str | None) -> str:
    """variable: what the service's environment says."""
    return run.project or variable or PROJECT
