"""Checks of `TaskOptions.settings`: every mistake is a ConfigError that names the setting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from reasongym.errors import ConfigError, message, nearest

__all__ = ["check_names", "choice", "integer", "integer_range", "refuse_data"]

T = TypeVar("T", bound=str)


def check_names(task: str, settings: Mapping[str, object], known: Iterable[str]) -> None:
    """Raises ConfigError for a setting the task does not have, naming the nearest it has."""
    names = sorted(known)
    for name in settings:
        if name not in names:
            raise ConfigError(message(f"task {task} has no setting {name!r}.{nearest(name, names)}", got=name,
                                      expected=f"one of {', '.join(names)}" if names else "no settings at all",
                                      remedy="correct or remove it (task.settings in a recipe)"))


def choice(task: str, name: str, value: object, known: Sequence[T]) -> T:
    """A setting that is one of some words. Raises ConfigError otherwise."""
    for word in known:
        if value == word:
            return word
    raise ConfigError(message(f"task {task}: setting {name!r} is not a word it knows.{nearest(str(value), known)}",
                              got=repr(value)[:80], expected=f"one of {', '.join(known)}",
                              remedy=f"for example {name}: {known[0]}"))


def integer(task: str, name: str, value: object, *, low: int, high: int) -> int:
    """A setting that is an integer within `[low, high]`. Raises ConfigError otherwise."""
    if not _is_integer(value) or not low <= int(str(value)) <= high:
        raise ConfigError(message(f"task {task}: setting {name!r} is not a number it can use", got=repr(value),
                                  expected=f"an integer from {low} to {high}", remedy=f"for example {name}: {low}"))
    return int(str(value))


def integer_range(task: str, name: str, value: object, *, low: int, high: int) -> tuple[int, int]:
    """A setting that is an integer or `[first, last]`, both within `[low, high]`. Raises ConfigError otherwise."""
    ends = [value, value] if _is_integer(value) else value
    if isinstance(ends, list | tuple) and len(ends) == 2:
        first, last = ends
        if _is_integer(first) and _is_integer(last) and low <= first <= last <= high:
            return int(first), int(last)
    raise ConfigError(message(f"task {task}: setting {name!r} is not a range it can use", got=repr(value),
                              expected=f"an integer, or [first, last], from {low} to {high}",
                              remedy=f"for example {name}: [{low}, {min(high, low + 2)}]"))


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def refuse_data(task: str, data: str | None, *, instead: str = "") -> None:
    """Raises ConfigError where a generator is given rows. instead: what they are for, to add to the remedy."""
    if data is not None:
        raise ConfigError(message(f"task {task} makes its own rows", got=f"data {data!r}", expected="no data",
                                  remedy="leave out task.data (--data)" + (f"; {instead}" if instead else "")))
