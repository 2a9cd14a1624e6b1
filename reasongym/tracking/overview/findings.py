"""What the curves of a run say about its health, as lines: what is seen, since when, and what to try."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from reasongym.tracking.overview.columns import Curve
from reasongym.tracking.overview.run import Run

__all__ = ["Finding", "findings"]

PATIENCE = 3
"""Last steps that must all show it: one unlucky step is no finding."""


class Finding(NamedTuple):
    """since: the first step of those up to the last that all show it."""

    what: str
    since: int
    remedy: str


class Sign(NamedTuple):
    """metric: the curve. shows: whether one value of it is a bad one."""

    metric: str
    shows: Callable[[float], bool]
    what: str
    remedy: str


SIGNS = (
    Sign("status/error", lambda share: share > 0.05, "the verifier fails on more than 5 % of the answers",
         "run `reasongym check` on the task; these answers are in no reward"),
    Sign("status/timeout", lambda share: share > 0.5, "more than half of the answers exceed the verifier's time limit",
         "raise scoring.timeout_s, or lower scoring.workers"),
    Sign("rollout/truncated_share", lambda share: share > 0.9, "nearly all answers are cut off at the token limit",
         "raise rollout.max_new_tokens"),
    Sign("status/unparsable", lambda share: share > 0.9, "nearly no answer can be parsed",
         "state the form in the prompt, or fine-tune on a few worked solutions first"),
    Sign("rollout/flat_group_share", lambda share: share > 0.95,
         "nearly all groups have equal rewards, which give no gradient",
         "choose another level of the task, or enlarge rollout.group_size"),
    Sign("train/grad_norm", lambda norm: norm == 0, "the gradient is 0", "see the share of groups without a signal"),
    Sign("train/entropy", lambda nats: nats < 0.01, "the policy says one thing only: its entropy is near 0",
         "lower trainer.learning_rate and start again from a checkpoint"),
    Sign("train/clip_share", lambda share: share > 0.2, "the clip stops the gradient at more than 20 % of the tokens",
         "fewer passes over a batch, or a lower trainer.learning_rate"),
    Sign("mismatch/kl", lambda nats: nats > 0.01, "engine and trainer do not compute the same distribution",
         "compare their dtype; see sync.verify"),
    Sign("mismatch/ess", lambda share: share < 0.5, "a few tokens carry the step: the effective sample is below half",
         "fewer steps between rollouts and training; compare the dtype of engine and trainer"),
)
FALL = 0.05


def findings(run: Run) -> list[Finding]:
    """In the order from cause to effect; empty for a run in which nothing is seen."""
    found = [Finding(sign.what, since, sign.remedy) for sign in SIGNS
             if (since := _since(run.curve(sign.metric), sign.shows)) is not None]
    return [*found, *_overfit(run)]


def _since(curve: Curve, shows: Callable[[float], bool]) -> int | None:
    """The first of the last steps that all show it, None where fewer than PATIENCE do."""
    place = len(curve.values)
    while place and shows(curve.values[place - 1]):
        place -= 1
    return curve.steps[place] if len(curve.values) - place >= PATIENCE else None


def _overfit(run: Run) -> list[Finding]:
    """The held-out score is below its best by more than the interval of that, and training has gone on rising."""
    best, trained = run.best, run.curve("reward/mean")
    if best is None or best.interval is None or len(trained.values) < 2 * PATIENCE:
        return []
    curve = run.curve(best.name)
    at_best = [value for step, value in zip(trained.steps, trained.values, strict=True) if step <= best.step]
    rises = bool(at_best) and sum(trained.values[-PATIENCE:]) / PATIENCE > at_best[-1]
    if curve.values[-1] >= best.interval.low - FALL or not rises:
        return []
    return [Finding("the held-out score falls while the training reward rises", best.step,
                    f"take the checkpoint of step {best.step}; train on more prompts")]
