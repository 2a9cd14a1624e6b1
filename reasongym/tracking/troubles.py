"""What goes wrong with training, in the order from cause to effect: the one list of it, for the console while a run
goes on and at its end, its pages and its report."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from reasongym.records import FinishReason, Rollout
from reasongym.verifiers import Status

__all__ = ["OVERFIT", "PATIENCE", "TROUBLES", "Example", "Trouble"]

PATIENCE = 3
"""Consecutive steps that must all show it: one unlucky step is no trouble."""


class Example(NamedTuple):
    """Of a trouble that is said while a run goes on. said: whether a value is so bad that the run cannot learn.
    culprit: whether an answer shows it."""

    said: Callable[[float], bool]
    culprit: Callable[[Rollout], bool]


class Trouble(NamedTuple):
    """metric: the curve that tells. shows: whether one value of it is a bad one. why: its likely causes."""

    metric: str
    shows: Callable[[float], bool]
    what: str
    why: str
    remedies: tuple[str, ...]
    example: Example | None = None


def _most(share: float) -> bool:
    return share > 0.5


def _nearly_all(share: float) -> bool:
    return share > 0.9


def _all(share: float) -> bool:
    return share > 0.99


TROUBLES = (
    Trouble("status/error", lambda share: share > 0.05, "The verifier fails on more than 5 % of the answers",
            "an error of the verifier, or of what it needs; these answers are in no reward.",
            ("run `reasongym check` on the task, and `reasongym verify` on its answers",)),
    Trouble("status/timeout", _most, "More than half of the answers are killed by the verifier's time limit",
            "the answers are programs or expressions that do not end, or scoring.timeout_s is too short for this "
            "machine.",
            ("raise scoring.timeout_s, or lower scoring.workers so that each check has a core to itself",
             "run `reasongym verify` on one of the answers and time it"),
            Example(_most, lambda rollout: rollout.status is Status.TIMEOUT)),
    Trouble("rollout/truncated_share", _nearly_all, "Nearly every answer is cut off at the token limit",
            "rollout.max_new_tokens is too small for this task, or the model does not end its answers (a base model, "
            "or a chat template that lacks its end-of-turn token).",
            ("raise rollout.max_new_tokens",
             "use an instruction-tuned model, or one fine-tuned on worked solutions first"),
            Example(_all, lambda rollout: rollout.completion.finish_reason is FinishReason.LENGTH)),
    Trouble("status/unparsable", _nearly_all, "Nearly no answer can be parsed",
            "the model does not write its answer in the form the verifier looks for, so rewards hardly differ.",
            ("look at the answers: state the form in the prompt, or choose a verifier that reads what the model writes",
             "fine-tune on a few worked solutions first, so that the form is known before rewards are"),
            Example(_all, lambda rollout: rollout.status is Status.UNPARSABLE)),
    Trouble("reward/mean", lambda reward: reward == 0, "Every reward is 0",
            "the task is too hard for this model: with no answer right there is nothing to reinforce. Or the verifier "
            "never agrees with right answers.",
            ("choose an easier level of the task (task.settings), or a stronger model",
             "enlarge rollout.group_size, so that a rare right answer is sampled",
             "check the verifier on answers you know to be right: `reasongym verify`"),
            Example(lambda reward: reward == 0, lambda rollout: rollout.reward == 0)),
    Trouble("status/correct", _all, "Nearly every answer is right",
            "the task is solved, and equal rewards give no gradient.",
            ("if the held-out score is as high, the run is done", "choose a harder level of the task (task.settings)"),
            Example(_all, lambda rollout: rollout.status is Status.CORRECT)),
    Trouble("rollout/flat_group_share", lambda share: share > 0.95,
            "Nearly all groups have equal rewards, which give no gradient",
            "some prompts are always solved and the others never, or the policy has collapsed to one answer.",
            ("enlarge rollout.group_size or rollout.prompts_per_step",
             "choose another level of the task (task.settings)",
             "if the answers of a group are the same text, raise rollout.temperature, or lower trainer.learning_rate "
             "and start again from a checkpoint"),
            Example(_all, lambda rollout: True)),
    Trouble("train/grad_norm", lambda norm: norm == 0, "The gradient is 0", "no group has rewards that differ.",
            ("see the share of groups without a signal", "set algorithm.dynamic_sampling.enabled=true")),
    Trouble("train/entropy", lambda nats: nats < 0.01, "The policy says one thing only: its entropy is near 0",
            "it has collapsed, and nothing is explored any more.",
            ("lower trainer.learning_rate and start again from a checkpoint", "raise rollout.temperature")),
    Trouble("train/clip_share", lambda share: share > 0.2,
            "The clip stops the gradient at more than 20 % of the tokens",
            "each batch is passed over many times, or a step moves the policy far.",
            ("lower trainer.epochs or trainer.learning_rate",)),
    Trouble("mismatch/kl", lambda nats: nats > 0.01, "Engine and trainer do not compute the same distribution",
            "their weights or their precision differ.",
            ("set sync.verify=always", "compare their dtype (model.dtype)")),
    Trouble("mismatch/ess", lambda share: share < 0.5,
            "A few tokens carry the step: the effective sample is below half",
            "the policy that sampled is far from the one that is trained.",
            ("allow fewer steps between rollouts and training", "compare the dtype of engine and trainer")),
)
OVERFIT = "The held-out score falls while the training reward rises"
"""Of two curves, so not in the list: see overview.findings."""
