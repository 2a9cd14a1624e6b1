"""What a problem is made of: a kind (what to return), steps before it, and the one argument of a type they share."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from textwrap import indent
from typing import NamedTuple

__all__ = ["ARGUMENTS", "KINDS", "STEPS", "Core", "Kind", "Problem", "Shape", "Step", "kind", "run", "step"]

Shape = str
"""A key of ARGUMENTS."""

ARGUMENTS = {"number": ("n", "int"), "ints": ("values", "list[int]"), "text": ("text", "str"),
             "words": ("words", "list[str]"), "mapping": ("scores", "dict[str, int]"),
             "grid": ("grid", "list[list[int]]")}
"""Shape -> the argument's name and type."""


class Core(NamedTuple):
    """returns: the type. says: what to return, as a sentence. body: Python that returns it."""

    returns: str
    says: str
    body: str


@dataclass(frozen=True, slots=True)
class Kind:
    """make: a Core with parameters of its own drawing. level: 1 to 3, how hard without any step."""

    name: str
    shape: Shape
    level: int
    make: Callable[[random.Random], Core]


class Step(NamedTuple):
    """says: what to do to the argument, in the imperative. body: Python that does it."""

    says: str
    body: str


StepMaker = Callable[[random.Random], Step]
KINDS: dict[str, Kind] = {}
STEPS: dict[Shape, list[StepMaker]] = {}


def kind(shape: Shape, *, level: int) -> Callable[[Callable[[random.Random], Core]], Callable[[random.Random], Core]]:
    """Register a function as the kind of its own name. Raises ValueError for a name that is taken."""

    def register(make: Callable[[random.Random], Core]) -> Callable[[random.Random], Core]:
        if make.__name__ in KINDS:
            raise ValueError(f"two kinds of problem are named {make.__name__!r}; rename one")
        KINDS[make.__name__] = Kind(make.__name__, shape, level, make)
        return make

    return register


def step(shape: Shape) -> Callable[[StepMaker], StepMaker]:
    """Register a function as a step for arguments of that shape, which it leaves of that shape."""

    def register(make: StepMaker) -> StepMaker:
        STEPS.setdefault(shape, []).append(make)
        return make

    return register


@dataclass(frozen=True, slots=True)
class Problem:
    """A function to be written, with its solution."""

    kind: Kind
    core: Core
    steps: tuple[Step, ...]

    @property
    def head(self) -> str:
        name, type_name = ARGUMENTS[self.kind.shape]
        return f"def {self.kind.name}({name}: {type_name}) -> {self.core.returns}:"

    @property
    def description(self) -> str:
        """One sentence a line."""
        if not self.steps:
            return self.core.says
        words = ("First", "Then", "After that", "Next")
        lines = [f"{word} {each.says}." for word, each in zip(words, self.steps, strict=False)]
        return "\n".join([*lines, f"With the result: {self.core.says[0].lower()}{self.core.says[1:]}"])

    @property
    def body(self) -> str:
        """What decides the split: the name and the wording say nothing that it does not."""
        return "\n".join([*(each.body for each in self.steps), self.core.body])

    @property
    def source(self) -> str:
        return f"{self.head}\n{indent(self.body, '    ')}\n"

    def prompt(self, shown: list[tuple[object, object]]) -> str:
        """Head and docstring with examples."""
        examples = [line for given, result in shown
                    for line in ("", f">>> {self.kind.name}({given!r})", repr(result))]
        docstring = indent("\n".join([f'"""{self.description}', *examples, '"""']), "    ")
        return f"{self.head}\n{docstring}\n"


def run(problem: Problem, inputs: list[object]) -> list[object]:
    """What the solution, which is source of ours, returns for each input; the inputs are left as they are."""
    space: dict[str, Callable[[object], object]] = {}
    exec(compile(problem.source, f"<{problem.kind.name}>", "exec"), space)  # type: ignore[arg-type]
    return [space[problem.kind.name](_copied(value)) for value in inputs]


def _copied(value: object) -> object:
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return dict(value) if isinstance(value, dict) else value
