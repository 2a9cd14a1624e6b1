"""What is told of an engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Present", "State"]

State = Literal["serving", "starting", "ready", "leaving"]
"""ready: it has started, and has not had the present weights yet."""


@dataclass(frozen=True, slots=True)
class Present:
    """index: its number in the run. label: its group's, empty without one. version: of the weights that it was last
    given."""

    index: int
    label: str
    tensor_parallel: int
    state: State
    version: int
    restarts_left: int
