"""The loggers by name: where each stands, and what it needs installed."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from typing import NamedTuple

from reasongym.errors import ConfigError, UnknownNameError, message, nearest
from reasongym.tracking.loggers.messages import RunInfo, Service

__all__ = ["LOGGERS", "Known", "check_loggers", "open_service"]


class Known(NamedTuple):
    """needs: packages by the name that is imported. extra: of reasongym, which brings them."""

    module: str
    needs: tuple[str, ...]
    extra: str


LOGGERS = {
    "mlflow": Known("reasongym.tracking.loggers.to_mlflow", ("mlflow",), "mlflow"),
    "prometheus": Known("reasongym.tracking.loggers.to_prometheus", ("prometheus_client",), "prometheus"),
    "trackio": Known("reasongym.tracking.loggers.to_trackio", ("trackio",), "trackio"),
    "wandb": Known("reasongym.tracking.loggers.to_wandb", ("wandb",), "wandb"),
}
"""Beside `tensorboard`, whose files a run writes by itself."""


def check_loggers(names: Sequence[str]) -> None:
    """Before a run starts. Raises ConfigError where a package is not installed, UnknownNameError for no such logger."""
    for name in names:
        if name == "tensorboard":
            continue
        if name not in LOGGERS:
            known = ["tensorboard", *LOGGERS]
            raise UnknownNameError(message(f"no logger {name!r}.{nearest(name, known)}", got=name,
                                           expected=f"one of {', '.join(known)}", remedy="correct tracking.loggers"))
        missing = [package for package in LOGGERS[name].needs if importlib.util.find_spec(package) is None]
        if missing:
            raise ConfigError(message(f"the logger {name} needs a package that is not installed",
                                      got=f"no {missing[0]}", expected=f"the extra {LOGGERS[name].extra!r}",
                                      remedy=f"pip install 'reasongym[{LOGGERS[name].extra}]', or leave {name} out of "
                                             "tracking.loggers"))


def open_service(name: str, run: RunInfo) -> Service:
    """Connected, and the run begun in it or taken up again. Raises what the service raises."""
    service: Service = importlib.import_module(LOGGERS[name].module).Logger(run)
    return service
