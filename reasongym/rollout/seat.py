"""The place of one engine in a pool: engines come and go in it, and each is known by its handle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ray

from reasongym.rollout.engine import Engine, actor_environment
from reasongym.rollout.requests import EngineSettings

__all__ = ["Placement", "Seat", "reason_of", "start_engine"]

Placement = tuple[dict[str, Any], dict[str, str]]
"""Ray options, and environment variables."""


@dataclass
class Seat:
    """handle: the present engine's actor. serving: it may be asked; a new one is not, until it is ready and has the
    present weights. load: requests in flight. starting: its answer that it is ready, until that was heard. listening:
    the call that waits for completions."""

    index: int
    placement: Placement
    handle: Any
    restarts_left: int
    serving: bool = True
    load: int = 0
    starting: Any = None
    listening: Any = None


def start_engine(settings: EngineSettings, index: int, placement: Placement) -> Any:
    """Its handle, at once; the engine is built meanwhile."""
    options, variables = placement
    environment = {"env_vars": actor_environment(settings.device) | variables}
    return ray.remote(Engine).options(runtime_env=environment, max_concurrency=4096, **options).remote(settings, index)


def reason_of(answer: Any) -> str:
    """Why a call that has ended failed; empty where it did not.

    The last line of the actor's own traceback: what went wrong, not how Ray tells it, nor what it guesses.
    """
    try:
        ray.get(answer)
    except ray.exceptions.RayError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return lines[-1].partition(" Some common causes")[0][:300] if lines else type(error).__name__
    return ""
