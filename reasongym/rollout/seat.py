"""The place of one engine in a pool: engines come and go in it, and each is known by its handle."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import ray

from reasongym.rollout.engine import Engine, actor_environment
from reasongym.rollout.present import Present, State
from reasongym.rollout.requests import EngineSettings

__all__ = ["Placement", "Seat", "reason_in", "reason_of", "start_engine"]

Placement = tuple[dict[str, Any], dict[str, str]]
"""Ray options, and environment variables."""


@dataclass
class Seat:
    """handle: the present engine's actor, None once the place is given up. serving: it may be asked; a new one is not,
    until it is ready and has the present weights. load: requests in flight. starting: its answer that it is ready,
    until that was heard. listening: the call that waits for completions. joining: it was added while the run went on,
    and has not served yet. leaving: it is asked nothing more, and its place is given up when it has answered all, or
    at `leave_by`. since, leave_by: as time.monotonic()."""

    index: int
    settings: EngineSettings
    placement: Placement
    handle: Any
    restarts_left: int
    serving: bool = True
    load: int = 0
    starting: Any = None
    listening: Any = None
    joining: bool = False
    leaving: bool = False
    leave_by: float = 0.0
    version: int = 0
    since: float = field(default_factory=time.monotonic)

    @property
    def open(self) -> bool:
        """Whether it may be asked for more."""
        return self.serving and not self.leaving

    @property
    def present(self) -> Present:
        """What is told of it."""
        state: State = ("leaving" if self.leaving else "serving" if self.serving
                        else "starting" if self.starting is not None else "ready")
        return Present(self.index, self.settings.label, self.settings.tensor_parallel, state, self.version,
                       self.restarts_left)


def start_engine(settings: EngineSettings, index: int, placement: Placement) -> Any:
    """Its handle, at once; the engine is built meanwhile."""
    options, variables = placement
    environment = {"env_vars": actor_environment(settings.device) | variables}
    return ray.remote(Engine).options(runtime_env=environment, max_concurrency=4096, **options).remote(settings, index)


def reason_of(answer: Any) -> str:
    """Why a call that has ended failed; empty where it did not. What it gave is read for that, and dropped."""
    try:
        ray.get(answer)
    except ray.exceptions.RayError as error:
        return reason_in(error)
    return ""


def reason_in(error: Exception) -> str:
    """The last line of the actor's own traceback: what went wrong, not how Ray tells it, nor what it guesses."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1].partition(" Some common causes")[0][:300] if lines else type(error).__name__
