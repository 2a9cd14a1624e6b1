"""Every exception reasongym raises for its users.

    ReasongymError
    ├── UserError (also ValueError)      the request cannot be carried out as given: exit status 2
    │   ├── ConfigError                  a configuration value or key
    │   ├── UnknownNameError             no task, verifier, recipe or algorithm of that name
    │   ├── DataError                    a row, file or folder of data that is missing or malformed
    │   └── ModelError                   a model that is missing or cannot be used
    ├── ResourceError                    the machine lacks what is asked: memory, disk, devices: exit status 2
    ├── CheckpointError                  a checkpoint is damaged, incomplete or does not fit the run: exit status 2
    ├── EngineError                      a rollout engine failed or missed its deadline: exit status 1
    ├── TrainerError                     a training rank failed or missed its deadline: exit status 1
    ├── SyncError                        weights of engine and trainer differ, or a transfer failed: exit status 1
    └── ScoringError                     verifiers fail too often for the rewards to be trusted: exit status 1

A message says what happened, what was got, what was expected, and what to do. `message()` lays it out.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "CheckpointError",
    "ConfigError",
    "DataError",
    "EngineError",
    "ModelError",
    "ReasongymError",
    "ResourceError",
    "ScoringError",
    "SyncError",
    "TrainerError",
    "UnknownNameError",
    "UserError",
    "message",
    "nearest",
]


class ReasongymError(Exception):
    """Base of all; `exit_status` is what the command line returns."""

    exit_status = 1


class UserError(ReasongymError, ValueError):
    """The request cannot be carried out as given."""

    exit_status = 2


class ConfigError(UserError):
    """A configuration value or key is wrong."""


class UnknownNameError(UserError):
    """No such task, verifier, recipe, model alias or algorithm."""


class DataError(UserError):
    """Data is missing or malformed."""


class ModelError(UserError):
    """A model is missing or cannot be used."""


class ResourceError(ReasongymError):
    """The machine lacks what is asked for."""

    exit_status = 2


class CheckpointError(ReasongymError):
    """A checkpoint is damaged, incomplete, or does not fit the run."""

    exit_status = 2


class EngineError(ReasongymError):
    """A rollout engine failed or missed its deadline."""


class TrainerError(ReasongymError):
    """A training rank failed or missed its deadline."""


class SyncError(ReasongymError):
    """The engines do not hold the trainer's weights."""


class ScoringError(ReasongymError):
    """Verifiers fail too often for rewards to be trusted."""


def message(what: str, *, got: object, expected: object, remedy: str) -> str:
    """The one layout of an error message: what, got, expected, remedy."""
    return f"{what}\n  got:      {got}\n  expected: {expected}\n  remedy:   {remedy}"


def nearest(name: str, candidates: Iterable[str]) -> str:
    """`" Did you mean 'x'?"` for the closest candidate, or an empty string when none is close."""
    close = difflib.get_close_matches(name, list(candidates), n=1, cutoff=0.5)
    return f" Did you mean {close[0]!r}?" if close else ""
