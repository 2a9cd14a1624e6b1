"""Small Python functions of our own making, with hidden tests: an endless generator that needs no data set.

Settings: `levels`, a level or [first, last] from 1 to 5; the default is [1, 3]. A kind of problem (one module a
subject: numbers, lists, texts and words, dictionaries, grids) has a level of 1 to 3, and every step that comes before
it, such as "drop the numbers divisible by 3", makes it a level harder.
The prompt is the function's head with a docstring and two examples. The tests that count are hidden: the edges of the
argument's type and drawn ones, with what the solution returns. They are drawn until they tell the problem apart from a
constant, from the same without one of its steps, and from the same kind with other parameters.

A problem's split is decided by a hash of its solution, so no seed shows in training what another tests. About 1
problem in 8 is a test problem.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

from reasongym.tasks.base import Example, TaskOptions, content_split, row_random
from reasongym.tasks.code_answers import CODE_REWARDS, ask, fenced
from reasongym.tasks.code_synth import grids, lists, mappings, numbers, steps, texts
from reasongym.tasks.code_synth.inputs import draw_inputs
from reasongym.tasks.code_synth.problem import KINDS, STEPS, Problem, run
from reasongym.tasks.endless import EndlessTask
from reasongym.tasks.settings import check_names, integer_range, refuse_data

__all__ = ["KINDS", "MAX_LEVEL", "CodeSynth"]

MAX_LEVEL = 5
_MODULES = (grids, lists, mappings, numbers, steps, texts)  # importing them fills KINDS and STEPS
_VERSION = "1"
"""Part of the fingerprint: raise it when a kind or step changes what a seed gives."""
_MOST_STEPS = 3
_NUM_DRAWN = 10
_NUM_SHOWN = 2
_NUM_SIBLINGS = 3
_DRAWS = 2000
"""1 problem in 8 is a test problem: missing it this often by chance has probability (7/8)^2000 < 1e-115."""
_LIMITS = {"cpu_s": 2.0}
"""The slowest solution takes 0.1 s."""


class CodeSynth(EndlessTask):
    """Functions by level."""

    name = "code_synth"
    description = "Small Python functions to write, judged by hidden tests in a sandbox; made by templates."
    rewards = CODE_REWARDS

    def __init__(self, options: TaskOptions) -> None:
        """Raises ConfigError for settings it does not have or cannot use, and for `data`, which it does not read."""
        check_names(self.name, options.settings, ("levels",))
        refuse_data(self.name, options.data)
        self._levels = integer_range(self.name, "levels", options.settings.get("levels", [1, 3]), low=1, high=MAX_LEVEL)

    def make_example(self, split: str, index: int, seed: int) -> Example:
        level = row_random(self.name, split, seed, index, "level").randint(*self._levels)
        for draw in range(_DRAWS):
            rng = row_random(self.name, split, seed, index, f"problem {draw}")
            problem = _draw(rng, level)
            if content_split(self.name, problem.body) != split:
                continue
            inputs = draw_inputs(problem.kind.shape, rng, _NUM_DRAWN)
            results = run(problem, inputs)
            if _tells_apart(problem, inputs, results, rng):
                return self._example(problem, inputs, results, split, index)
        raise AssertionError(f"no {split} problem of level {level} in {_DRAWS} draws")

    def provenance(self) -> Mapping[str, str]:
        return {"source": "generator", "fingerprint": f"code_synth {_VERSION}, levels {list(self._levels)}"}

    def _example(self, problem: Problem, inputs: list[object], results: list[object], split: str,
                 index: int) -> Example:
        tests = [{"args": [given], "expected": result} for given, result in zip(inputs, results, strict=True)]
        shown = list(zip(inputs, results, strict=True))[-_NUM_SHOWN:]
        head = problem.prompt(shown)
        return Example(task=self.name, split=split, index=index,
                       messages=ask(f"Write this Python function.\n\n{fenced(head)}", "function"),
                       reference={"entry_point": problem.kind.name, "shown": tests[-_NUM_SHOWN:],
                                  "hidden": tests[:-_NUM_SHOWN], "limits": _LIMITS},
                       solution=fenced(problem.source),
                       fields={"prompt": head, "kind": problem.kind.name, "level": _level(problem)})


def _level(problem: Problem) -> int:
    return problem.kind.level + len(problem.steps)


def _draw(rng: random.Random, level: int) -> Problem:
    kind = rng.choice([each for each in KINDS.values() if level - _MOST_STEPS <= each.level <= level])
    makers = rng.sample(STEPS[kind.shape], level - kind.level)
    return Problem(kind, kind.make(rng), tuple(make(rng) for make in makers))


def _tells_apart(problem: Problem, inputs: list[object], results: list[object], rng: random.Random) -> bool:
    """Whether the hidden tests fail what a hurried reader would write."""
    hidden = results[:-_NUM_SHOWN]
    if all(result == hidden[0] for result in hidden):
        return False
    others = [replace(problem, steps=problem.steps[:i] + problem.steps[i + 1:]) for i in range(len(problem.steps))]
    siblings = (replace(problem, core=problem.kind.make(rng)) for _ in range(_NUM_SIBLINGS))
    others += [sibling for sibling in siblings if sibling.core != problem.core]
    return all(run(other, inputs)[:-_NUM_SHOWN] != hidden for other in others)
