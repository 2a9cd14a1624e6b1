"""Arithmetic with two integers: an endless generator whose difficulty is a setting.

Settings, all optional:
    levels      a level or [first, last], drawn evenly; the default is 2
                1  sums of 1 to 9          2  sums of 1 to 20         3  sums and differences of 1 to 99
                4  sums, differences and products of 1 to 99          5  all four operations on 1 to 999
    operations  a list out of + - * /, instead of the levels' own
    range       [smallest, largest] operand, instead of the levels' own; for / the divisor and the quotient are drawn

A problem's split is decided by a hash of the problem, so no seed shows in training what another tests; a + b and b + a
are one problem. About 1 problem in 8 is a test problem. A range so small that a split has none is a DataError.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from reasongym.errors import ConfigError, DataError, message
from reasongym.tasks.base import Example, Message, RewardPart, TaskOptions, content_split, row_random
from reasongym.tasks.endless import EndlessTask
from reasongym.tasks.settings import check_names, integer_range, refuse_data

__all__ = ["LEVELS", "Arithmetic", "Level"]

_OPERATIONS = "+-*/"
_LARGEST = 10**9
_DRAWS = 2000
"""A split holds 1/8 of a space at least about: missing it this often by chance has probability (7/8)^2000 < 1e-115."""


@dataclass(frozen=True, slots=True)
class Level:
    """Which operations, on operands from `low` to `high`, both included."""

    operations: str
    low: int
    high: int


LEVELS = {1: Level("+", 1, 9), 2: Level("+", 1, 20), 3: Level("+-", 1, 99), 4: Level("+-*", 1, 99),
          5: Level("+-*/", 1, 999)}


class Arithmetic(EndlessTask):
    """What is 7 + 15?"""

    name = "arithmetic"
    description = "Sums of two integers from 1 to 20; other ranges and operations by level."
    rewards = (RewardPart(name="correct", verifier="gsm8k", weight=1.0),)

    def __init__(self, options: TaskOptions) -> None:
        """Raises ConfigError for settings it does not have or cannot use, and for `data`, which it does not read."""
        check_names(self.name, options.settings, ("levels", "operations", "range"))
        refuse_data(self.name, options.data)
        first, last = integer_range(self.name, "levels", options.settings.get("levels", 2), low=1, high=max(LEVELS))
        levels = [LEVELS[number] for number in range(first, last + 1)]
        if "operations" in options.settings:
            operations = _checked_operations(options.settings["operations"])
            levels = [Level(operations, level.low, level.high) for level in levels]
        if "range" in options.settings:
            low, high = integer_range(self.name, "range", options.settings["range"], low=-_LARGEST, high=_LARGEST)
            levels = [Level(level.operations, low, high) for level in levels]
        if any("/" in level.operations and level.low == level.high == 0 for level in levels):
            raise ConfigError(message("task arithmetic cannot divide", got="range [0, 0]",
                                      expected="a range with another number than 0", remedy="widen the range"))
        self._levels = levels

    def make_example(self, split: str, index: int, seed: int) -> Example:
        rng = row_random(self.name, split, seed, index)
        for _ in range(_DRAWS):
            problem, result, key = _draw(rng, rng.choice(self._levels))
            if content_split(self.name, key) == split:
                prompt: Message = {"role": "user", "content": f"What is {problem}? Reply with the number only."}
                return Example(task=self.name, split=split, index=index, messages=(prompt,), reference=str(result),
                               solution=str(result))
        raise DataError(message(f"task arithmetic has no problem in split {split!r}", got=f"levels {self._levels}",
                                expected="a space of problems large enough for both splits",
                                remedy="widen the range, or allow more operations"))

    def provenance(self) -> Mapping[str, str]:
        drawn = ", ".join(f"{level.operations} on {level.low} to {level.high}" for level in self._levels)
        return {"source": "generator", "fingerprint": f"arithmetic 1: {drawn}"}


def _draw(rng: random.Random, level: Level) -> tuple[str, int, str]:
    """A problem as it is written, its exact result, and the key under which equal problems meet."""
    operation = rng.choice(level.operations)
    a, b = rng.randint(level.low, level.high), rng.randint(level.low, level.high)
    if operation == "/":
        while b == 0:
            b = rng.randint(level.low, level.high)
        a, result = a * b, a
    else:
        result = {"+": a + b, "-": a - b, "*": a * b}[operation]
    low, high = (a, b) if operation in "-/" else sorted((a, b))
    return f"{a} {operation} {_signed(b)}", result, f"{low}{operation}{high}"


def _signed(b: int) -> str:
    return f"({b})" if b < 0 else str(b)


def _checked_operations(value: object) -> str:
    listed = list(value) if isinstance(value, str | list | tuple) else []
    if not listed or any(item not in tuple(_OPERATIONS) for item in listed):
        raise ConfigError(message("task arithmetic: setting 'operations' is not a list it can use", got=repr(value),
                                  expected="one or more of + - * /", remedy='for example operations: ["+", "-"]'))
    return "".join(sorted(set(listed)))
