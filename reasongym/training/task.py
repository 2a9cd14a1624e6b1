"""The configured task and its reward parts. No torch, so that what only scores answers can use it."""

from __future__ import annotations

from dataclasses import replace

from reasongym import registry
from reasongym.config import RunConfig
from reasongym.errors import ConfigError, message, nearest
from reasongym.tasks import RewardPart, Task, TaskOptions

__all__ = ["make_task", "reward_parts"]


def make_task(config: RunConfig, *, training: bool) -> Task:
    """The configured task. `training` allows the embedded substitute for a data set that is not there."""
    options = TaskOptions(data=config.task.data, training=training, settings=config.task.settings)
    return registry.task(config.task.name, options)


def reward_parts(config: RunConfig, task: Task) -> tuple[RewardPart, ...]:
    """The task's parts under the run's verifier and weights. Raises ConfigError for a weight of no part."""
    names = [part.name for part in task.rewards]
    for name in config.task.weights:
        if name not in names:
            raise ConfigError(message(f"task.weights names no reward part.{nearest(name, names)}", got=name,
                                      expected=f"parts of {task.name}: {', '.join(names)}", remedy="correct the name"))
    parts = [replace(p, weight=config.task.weights.get(p.name, p.weight)) for p in task.rewards]
    if config.task.verifier:
        registry.verifier(config.task.verifier)
        parts[0] = replace(parts[0], verifier=config.task.verifier)
    return tuple(parts)
