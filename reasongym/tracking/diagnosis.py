"""Training that cannot learn, said while it happens: what is wrong, why it probably is, what to try, an example."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from reasongym.printable import printable, shorten
from reasongym.records import Group, Rollout
from reasongym.tracking.troubles import PATIENCE, TROUBLES, Example

__all__ = ["Diagnosis"]

PROMPT_CHARACTERS = 500
COMPLETION_CHARACTERS = 700


class Diagnosis:
    """Watches every step for trouble of the answers that lasts `PATIENCE` steps and leaves nothing to learn.

    TROUBLES are ordered from cause to effect (answers that are cut off are also unparsable and score 0): only the first
    that holds is said, once, and again only after a step that did not show it.
    """

    def __init__(self) -> None:
        self._steps_in_a_row = [0] * len(TROUBLES)
        self._said = [False] * len(TROUBLES)

    def observe(self, step: int, values: Mapping[str, float], groups: Sequence[Group]) -> str | None:
        """Take in one step; the message to show, or None. A step without any valid rollout changes nothing.

        values: the step's metrics. groups: its answers, of which one is shown.
        """
        if not any(group.valid for group in groups):
            return None
        for i, trouble in enumerate(TROUBLES):
            held = trouble.example is not None and trouble.example.said(values.get(trouble.metric, math.nan))
            self._steps_in_a_row[i] = self._steps_in_a_row[i] + 1 if held else 0
            self._said[i] = self._said[i] and held
        lasting = [i for i, count in enumerate(self._steps_in_a_row) if count >= PATIENCE]
        if not lasting or self._said[lasting[0]]:
            return None
        self._said[lasting[0]] = True
        what, why, remedies, example = TROUBLES[lasting[0]][2:]
        tried = "\n".join(f"  - {remedy}" for remedy in remedies)
        return (f"{what}, for {PATIENCE} steps up to step {step}.\nWhy, probably: {why}\nWhat to try:\n{tried}"
                f"{_shown(example, groups)}")


def _shown(example: Example | None, groups: Sequence[Group]) -> str:
    rollouts = [rollout for group in groups for rollout in group.valid if example and example.culprit(rollout)]
    return f"\n\n{_described(rollouts[0])}" if rollouts else ""


def _described(rollout: Rollout) -> str:
    verdicts = [f"{part}: {v.status}, score {v.score:g}, extracted {v.extracted!r}. {v.reason}".rstrip()
                for part, v in rollout.verdicts.items()]
    completion = rollout.completion
    return "\n".join([
        f"One of them ({rollout.prompt.example.id}):",
        "  prompt:", _indented(rollout.prompt.text, PROMPT_CHARACTERS),
        f"  completion ({len(completion.token_ids)} tokens, finish reason {completion.finish_reason}):",
        _indented(completion.text, COMPLETION_CHARACTERS),
        "  verdict:", *(_indented(line, COMPLETION_CHARACTERS) for line in verdicts)])


def _indented(text: str, limit: int) -> str:
    lines = printable(shorten(text.strip(), limit)).splitlines() or ["(empty)"]
    return "\n".join(f"    {line}" for line in lines)
