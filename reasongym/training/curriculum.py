"""Levels of a task that move with the policy's success: harder when most answers are right, easier when few are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reasongym.config import RunConfig
from reasongym.errors import ConfigError, UserError, message
from reasongym.records import Group
from reasongym.tasks import Task
from reasongym.training.checkpoints import LoopState
from reasongym.training.task import make_task

__all__ = ["check_levels", "level_of", "moved", "task_at"]


def check_levels(config: RunConfig) -> None:
    """Make the task at every level that the run may come to, and one prompt of each. Raises ConfigError where the task
    has no such level: else the run would stop at the step that reaches it."""
    curriculum = config.task.curriculum
    if not curriculum.last:
        return
    for level in range(curriculum.first, curriculum.last + 1):
        try:
            task_at(config, LoopState(level=level)).example(config.task.split, 0, seed=config.seed)
        except UserError as error:
            raise ConfigError(message(f"task.curriculum goes to a level that task {config.task.name} cannot be made at",
                                      got=f"level {level}: {' '.join(str(error).split())}",
                                      expected=f"levels {curriculum.first} to {curriculum.last}, as task.curriculum "
                                      "says", remedy="lower task.curriculum.last, or turn it off with 0")) from error


def level_of(config: RunConfig, state: LoopState) -> int:
    """The present level."""
    return state.level or config.task.curriculum.first


def task_at(config: RunConfig, state: LoopState) -> Task:
    """The task at the present level and the one before, so that what was learnt is not forgotten."""
    level = level_of(config, state)
    settings = config.task.settings | {"levels": [max(config.task.curriculum.first, level - 1), level]}
    return make_task(config.model_copy(update={"task": config.task.model_copy(update={"settings": settings})}),
                     training=True)


def moved(config: RunConfig, state: LoopState, groups: Sequence[Group]) -> LoopState:
    """The state after a step's groups: every `window` steps the level may go up or down by one.

    Success is the mean score of the first reward part over all answers that have one.
    """
    curriculum = config.task.curriculum
    scores = [next(iter(r.verdicts.values())).score for group in groups for r in group.valid]
    if not scores:
        return state
    steps, total = state.level_steps + 1, state.level_score + sum(scores) / len(scores)
    if steps < curriculum.window:
        return replace(state, level_steps=steps, level_score=total)
    step = (total / steps > curriculum.raise_above) - (total / steps < curriculum.lower_below)
    level = min(max(level_of(config, state) + step, curriculum.first), curriculum.last)
    return replace(state, level=level, level_steps=0, level_score=0.0)
