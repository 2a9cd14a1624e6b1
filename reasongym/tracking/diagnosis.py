"""Training that cannot learn, said while it happens: what is wrong, why it probably is, what to try, an example."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from reasongym.records import FinishReason, Group, Rollout
from reasongym.tracking.printable import printable, shorten
from reasongym.verifiers import Status

__all__ = ["Diagnosis"]

PATIENCE = 3
"""Consecutive steps before anything is said: one unlucky step is no diagnosis."""
TIMEOUT_SHARE = 0.5
PROMPT_CHARACTERS = 500
COMPLETION_CHARACTERS = 700

Groups = Sequence[Group]


class Trouble(NamedTuple):
    """holds: whether a step shows it. culprit: whether a rollout is an example of it."""

    what: str
    why: str
    remedies: tuple[str, ...]
    holds: Callable[[Groups], bool]
    culprit: Callable[[Rollout], bool]


class Diagnosis:
    """Watches the groups of every step for trouble that lasts `PATIENCE` steps.

    Troubles are ordered from cause to effect (answers that are cut off are also unparsable and score 0): only the first
    that holds is said, once, and again only after a step that did not show it.
    """

    def __init__(self) -> None:
        self._steps_in_a_row = [0] * len(TROUBLES)
        self._said = [False] * len(TROUBLES)

    def observe(self, step: int, groups: Sequence[Group]) -> str | None:
        """Take in one step; the message to show, or None. A step without any valid rollout changes nothing."""
        if not any(group.valid for group in groups):
            return None
        for i, trouble in enumerate(TROUBLES):
            held = trouble.holds(groups)
            self._steps_in_a_row[i] = self._steps_in_a_row[i] + 1 if held else 0
            self._said[i] = self._said[i] and held
        lasting = [i for i, count in enumerate(self._steps_in_a_row) if count >= PATIENCE]
        if not lasting or self._said[lasting[0]]:
            return None
        self._said[lasting[0]] = True
        return _message(TROUBLES[lasting[0]], step, groups)


def _message(trouble: Trouble, step: int, groups: Groups) -> str:
    rollout = next(r for group in groups for r in group.valid if trouble.culprit(r))
    remedies = "\n".join(f"  - {remedy}" for remedy in trouble.remedies)
    return (f"{trouble.what}, for {PATIENCE} steps up to step {step}.\n"
            f"Why, probably: {trouble.why}\n"
            f"What to try:\n{remedies}\n\n{_example(rollout)}")


def _example(rollout: Rollout) -> str:
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


def _valid(groups: Groups) -> list[Rollout]:
    return [rollout for group in groups for rollout in group.valid]


def _mostly_timeouts(groups: Groups) -> bool:
    valid = _valid(groups)
    return sum(r.status is Status.TIMEOUT for r in valid) > TIMEOUT_SHARE * len(valid)


def _all_rewards_equal(groups: Groups) -> bool:
    return len({r.reward for r in _valid(groups)}) == 1


def _truncated(rollout: Rollout) -> bool:
    return rollout.completion.finish_reason is FinishReason.LENGTH


TROUBLES = (
    Trouble("More than half of the answers were killed by the verifier's time limit",
            "the answers are programs or expressions that do not end, or scoring.timeout_s is too short for this "
            "machine.",
            ("raise scoring.timeout_s, or lower scoring.workers so that each check has a core to itself",
             "run `reasongym verify` on the example below and time it"),
            _mostly_timeouts, lambda r: r.status is Status.TIMEOUT),
    Trouble("Every answer was cut off at the token limit",
            "rollout.max_new_tokens is too small for this task, or the model does not end its answers (a base model, "
            "or a chat template that lacks its end-of-turn token).",
            ("raise rollout.max_new_tokens",
             "use an instruction-tuned model, or one fine-tuned on worked solutions first"),
            lambda groups: all(map(_truncated, _valid(groups))), _truncated),
    Trouble("No answer could be parsed",
            "the model does not write its answer in the form the verifier looks for, so every reward is the same.",
            ("look at the example: state the form in the prompt, or choose a verifier that reads what the model writes",
             "fine-tune on a few worked solutions first, so that the form is known before rewards are"),
            lambda groups: all(r.status is Status.UNPARSABLE for r in _valid(groups)),
            lambda r: r.status is Status.UNPARSABLE),
    Trouble("Every reward was 0",
            "the task is too hard for this model: with no answer right there is nothing to reinforce. Or the verifier "
            "never agrees with right answers.",
            ("choose an easier level of the task (task.settings), or a stronger model",
             "enlarge rollout.group_size, so that a rare right answer is sampled",
             "check the verifier on answers you know to be right: `reasongym verify`"),
            lambda groups: all(r.reward == 0 for r in _valid(groups)), lambda r: r.reward == 0),
    Trouble("Every answer of every prompt got the same reward",
            "the task is solved, or the policy has collapsed to one answer: equal rewards give no gradient.",
            ("choose a harder level of the task (task.settings); if the held-out reward is as high, the run is done",
             "if the answers are all the same text, lower trainer.learning_rate and start again from a checkpoint"),
            _all_rewards_equal, lambda r: True),
    Trouble("Within every group all rewards were equal",
            "some prompts are always solved and the others never: groups without a difference give no gradient.",
            ("enlarge rollout.group_size or rollout.prompts_per_step", "choose a level between the two (task.settings)",
             "raise rollout.temperature if the completions of a group are the same text"),
            lambda groups: all(group.is_flat for group in groups), lambda r: True),
)
