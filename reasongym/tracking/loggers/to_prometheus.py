"""Prometheus: an HTTP endpoint of the live run, which ends with it. What is scraped is each metric's newest value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import nan
from typing import Any

from reasongym.tracking.definitions import metric_info
from reasongym.tracking.loggers.messages import Outcome, Row, RunInfo, Table

__all__ = ["Logger", "gauge_name"]

PREFIX = "reasongym_"


class Logger:
    """Gauges with the labels `run` and `metric`, the metric's own name: two that Prometheus would write alike stay two.

    A value that is not finite is NaN. Not covered: answers.
    """

    def __init__(self, run: RunInfo) -> None:
        from prometheus_client import CollectorRegistry, start_http_server

        self._name = run.name
        self._told = {"task": _at(run, "task"), "model": _at(run, "model", "path"), "algorithm": _at(run, "algorithm")}
        self._values: dict[str, float] = {}
        self._step, self._time = nan, nan
        registry = CollectorRegistry()
        registry.register(self)  # type: ignore[arg-type]  # it asks for `collect` and nothing else
        self._server, _ = start_http_server(run.prometheus_port, run.prometheus_host, registry)
        self.note = f"http://{run.prometheus_host}:{self._server.server_port}/metrics"

    def row(self, step: int, time: float, values: Row) -> None:
        # Replaced as a whole: a scrape comes from another thread, and none may see a step half written.
        self._values = {**self._values, **{name: nan if value is None else value for name, value in values.items()}}
        self._step, self._time = step, time

    def table(self, step: int, table: Table) -> None:
        """Prometheus has none."""

    def finish(self, outcome: Outcome) -> None:
        self._server.shutdown()
        self._server.server_close()

    def collect(self) -> Iterator[Any]:
        """Called by each scrape."""
        from prometheus_client.metrics_core import GaugeMetricFamily, InfoMetricFamily

        info = InfoMetricFamily(f"{PREFIX}run", "What the run trains", labels=["run"])
        info.add_metric([self._name], self._told)
        yield info
        for name, meaning, value in (("step", "Newest step", self._step),
                                     ("last_row_timestamp_seconds", "When the newest row was written", self._time)):
            gauge = GaugeMetricFamily(f"{PREFIX}{name}", meaning, labels=["run"])
            gauge.add_metric([self._name], value)
            yield gauge
        families: dict[str, GaugeMetricFamily] = {}
        for name, value in self._values.items():
            family = families.setdefault(gauge_name(name), GaugeMetricFamily(gauge_name(name), _meaning(name),
                                                                             labels=["run", "metric"]))
            family.add_metric([self._name, name], value)
        yield from families.values()


def gauge_name(metric: str) -> str:
    """`reward/mean` -> `reasongym_reward_mean`."""
    return PREFIX + re.sub(r"[^a-zA-Z0-9_]", "_", metric)


def _meaning(name: str) -> str:
    info = metric_info(name)
    return info.definition if info else name


def _at(run: RunInfo, *keys: str) -> str:
    """The setting, or its `name` where it is a section."""
    found: object = run.config
    for key in keys:
        found = found.get(key, "") if isinstance(found, dict) else ""
    return str(found.get("name", "")) if isinstance(found, dict) else str(found)
