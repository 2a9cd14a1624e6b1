"""Which curves are shown of a run, in which figures; the same on its page and in its report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from reasongym.tracking.numbers import number, percent
from reasongym.tracking.overview.run import Run
from reasongym.tracking.overview.thinning import MAX_POINTS, drawn, measured

__all__ = ["Figure", "figures", "points"]

STATUS_ORDER = ("correct", "partial", "wrong", "unparsable", "timeout", "error")
SHARES = ("share", "accuracy", "status/")


class Figure(NamedTuple):
    """One chart: (metric, label) of each curve; the first metric's definition becomes the caption."""

    title: str
    curves: tuple[tuple[str, str], ...]
    show: Callable[[float], str] = number
    from_zero: bool = True


FIGURES = (
    Figure("Length of answers", (("rollout/length_mean", "training"), ("eval/length_mean", "held-out"))),
    Figure("Cut off at the limit", (("rollout/truncated_share", "training"), ("eval/truncated_share", "held-out")),
           percent),
    Figure("Groups without a signal", (("rollout/flat_group_share", "flat"),), percent),
    Figure("Verdicts", tuple((f"status/{status}", status) for status in STATUS_ORDER), percent),
    Figure("Gradient norm", (("train/grad_norm", "norm"),)),
    Figure("Learning rate", (("train/learning_rate", "rate"),)),
    Figure("Loss", (("train/loss", "loss"),)),
    Figure("Entropy (nats)", (("train/entropy", "entropy"),)),
    Figure("Distance from the reference policy", (("train/kl", "KL"),)),
    Figure("Preference pairs told apart", (("train/pair_accuracy", "right"),), percent),
    Figure("Implicit reward of pairs", (("train/reward_chosen", "chosen"), ("train/reward_rejected", "rejected")),
           from_zero=False),
    Figure("Implicit reward of labelled answers", (("train/reward_desirable", "wanted"),
                                                   ("train/reward_undesirable", "unwanted")), from_zero=False),
    Figure("Critic: variance explained", (("critic/explained_variance", "share"),), from_zero=False),
    Figure("Critic: loss", (("critic/loss", "loss"),)),
    Figure("Level of the curriculum", (("task/level", "level"),)),
    Figure("Clipped tokens", (("train/clip_share", "clipped"),), percent),
    Figure("Engine against trainer", (("mismatch/kl", "KL"),)),
    Figure("Largest importance weight", (("mismatch/max_ratio", "ratio"),), from_zero=False),
    Figure("Effective sample", (("mismatch/ess", "share"),), percent),
    Figure("Throughput (tokens a second)", (("rollout/tokens_per_second", "sampling"),
                                            ("train/tokens_per_second", "training"))),
    Figure("Time of a step (seconds)", (("step/seconds", "all"), ("rollout/seconds", "sampling"),
                                        ("train/seconds", "training"), ("sync/seconds", "weights"))),
)


def figures(run: Run) -> Iterator[Figure]:
    """Held-out and training scores first, then FIGURES, then every metric that is in none; of each the curves that the
    run has."""
    told = set[str]()
    for figure in (*map(_score, (*run.parts, "mean")), *FIGURES, *_others(run)):
        curves = [(metric, label) for metric, label in figure.curves
                  if metric not in told and run.curve(metric).steps]
        if len(curves) > 2:  # verdicts that never occur only fill the legend
            curves = [(metric, label) for metric, label in curves if any(run.curve(metric).values)] or curves[:1]
        told |= {metric for metric, _ in figure.curves}
        if curves:
            yield figure._replace(curves=tuple(curves))


def points(run: Run, metric: str, most: int = MAX_POINTS) -> dict[str, Any]:
    """At most so many points of a curve: as `drawn`, or with their intervals as `measured` where it is held out."""
    curve, is_score = run.curve(metric), metric.startswith("eval/reward/") and not metric.endswith("/mean")
    if not metric.startswith("eval/"):
        return drawn(curve, most)
    return measured(curve, run.intervals(metric) if is_score else {}, most)


def _score(part: str) -> Figure:
    title = "Reward" if part == "mean" else f"Score: {part}"
    return Figure(title, ((f"eval/reward/{part}", "held-out"), (f"reward/{part}", "training")))


def _others(run: Run) -> Iterator[Figure]:
    known = {metric for figure in FIGURES for metric, _ in figure.curves} | {"time", "eval/prompts"}
    scores = {f"{prefix}{part}" for prefix in ("eval/reward/", "reward/") for part in (*run.parts, "mean")}
    for name in run.names:
        if name not in known | scores:
            show = {"show": percent} if any(mark in name for mark in SHARES) else {}
            yield Figure(name, ((name, name.rpartition("/")[2]),), **show, from_zero=False)
