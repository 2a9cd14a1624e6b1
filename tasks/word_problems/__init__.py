"""Grade-school word problems of our own making: an endless generator in the manner of GSM8K.

Settings: `levels`, a level or [first, last] from 1 to 8; the default is [1, 3]. A problem of level n takes n steps.
`shots`, 0 to 4 answered problems shown before the question; the default is 0.
Stories are hand-written templates (one module a subject); a template that leaves its person with things or money may
be continued by events, which is how the longer problems come about. Every quantity is a positive integer and every
division goes out even. The worked solution has a line a step, `a + b = c`, and ends in `#### n`.

A problem's split is decided by a hash of its template and its arithmetic, names left aside: no seed shows in training
what another tests, nor the same sums under another name. About 1 problem in 8 is a test problem.
"""

from __future__ import annotations

from collections.abc import Mapping

from reasongym.tasks.base import Example, TaskOptions, content_split, row_random
from reasongym.tasks.endless import EndlessTask
from reasongym.tasks.prompting import FINAL_LINE_REWARDS, MAX_SHOTS, final_line_messages
from reasongym.tasks.settings import check_names, integer, integer_range, refuse_data
from reasongym.tasks.word_problems import home, kitchen, school, shops, travel, work
from reasongym.tasks.word_problems.events import add_events
from reasongym.tasks.word_problems.story import TEMPLATES, Story, Template

__all__ = ["MAX_LEVEL", "TEMPLATES", "WordProblems"]

MAX_LEVEL = 8
_VERSION = "1"
"""Part of the fingerprint: raise it when a template changes what a seed gives."""
_SUBJECTS = (home, kitchen, school, shops, travel, work)  # importing them fills TEMPLATES
_DRAWS = 2000
"""1 problem in 8 is a test problem: missing it this often by chance has probability (7/8)^2000 < 1e-115."""


class WordProblems(EndlessTask):
    """Problems of 1 to 8 steps, by level."""

    name = "word_problems"
    description = "Grade-school word problems of 1 to 8 steps, made by templates."
    rewards = FINAL_LINE_REWARDS

    def __init__(self, options: TaskOptions, *, substitute_for: str = "") -> None:
        """substitute_for: the data set these rows stand in for, for the provenance.

        Raises ConfigError for settings it does not have or cannot use, and for `data`, which it does not read.
        """
        check_names(self.name, options.settings, ("levels", "shots"))
        refuse_data(self.name, options.data)
        self._levels = integer_range(self.name, "levels", options.settings.get("levels", [1, 3]), low=1, high=MAX_LEVEL)
        self._shots = integer(self.name, "shots", options.settings.get("shots", 0), low=0, high=MAX_SHOTS)
        self._substitute_for = substitute_for

    def make_example(self, split: str, index: int, seed: int) -> Example:
        level = row_random(self.name, split, seed, index, "level").randint(*self._levels)
        for draw in range(_DRAWS):
            rng = row_random(self.name, split, seed, index, f"story {draw}")
            made = rng.choice(_templates_for(level))
            story = _write(Story(rng), made, level)
            if content_split(self.name, "|".join((made.name, *story.operations))) == split:
                return self._example(story, made, split, index)
        raise AssertionError(f"no {split} problem in {_DRAWS} draws")

    def provenance(self) -> Mapping[str, str]:
        known = {"source": "generator", "fingerprint": f"word_problems {_VERSION}, levels {list(self._levels)}"}
        return known | ({"substitute_for": self._substitute_for} if self._substitute_for else {})

    def _example(self, story: Story, made: Template, split: str, index: int) -> Example:
        question = " ".join([*story.sentences, story.question])
        return Example(task=self.name, split=split, index=index,
                       messages=final_line_messages(question, shots=self._shots), reference=str(story.result),
                       solution="\n".join([*story.lines, f"#### {story.result}"]),
                       fields={"template": made.name, "level": len(story.lines)})


def _templates_for(level: int) -> list[Template]:
    """Those that take exactly `level` steps, and those that events can continue to it."""
    return [made for made in TEMPLATES.values()
            if made.steps == level or (made.steps < level and made.holds != "nothing")]


def _write(story: Story, made: Template, level: int) -> Story:
    made.write(story)
    if level > made.steps:
        add_events(story, made.holds, level - made.steps)
    return story
