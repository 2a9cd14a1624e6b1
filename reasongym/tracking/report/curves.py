"""Which curves a report shows, and what stands below each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

from reasongym.tracking.definitions import metric_info
from reasongym.tracking.report.axis import number, percent
from reasongym.tracking.report.run_data import RunData
from reasongym.tracking.report.svg import CHART_STYLE, Series, chart

__all__ = ["FIGURES", "Figure", "curve_picture", "health_figures", "part_figures", "reward_figure"]

TRAIN, HELD_OUT = 0, 1
"""Colours, the same in every chart."""
COLOURS = 6
STATUS_ORDER = ("correct", "partial", "wrong", "unparsable", "timeout", "error")


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


def reward_figure(run: RunData) -> str:
    """The reward over the run, once for a wide screen and once for a narrow one; the page's style shows one of them."""
    series = _reward_series(run, "mean")
    pictures = [f'<div class="{name}">{chart("Reward", series, width=width, height=height)}</div>'
                for name, width, height in (("wide", 940, 320), ("narrow", 440, 280)) if any(s.points for s in series)]
    if not pictures:
        return '<p class="empty">No rewards are recorded yet.</p>'
    return f'<figure class="hero">{"".join(pictures)}{_caption("reward/mean")}</figure>'


def part_figures(run: RunData) -> str:
    """One chart a reward part, held-out scores with their 95% interval."""
    return "".join(_figure(f"Part: {part}", f"reward/{part}", chart(f"Score of {part}", _reward_series(run, part)))
                   for part in run.parts())


def health_figures(run: RunData) -> str:
    """Everything else that shows whether a run is well."""
    return "".join(
        _figure(figure.title, figure.curves[0][0],
                chart(figure.title, _series(run, figure.curves), show=figure.show, from_zero=figure.from_zero))
        for figure in FIGURES)


def curve_picture(run: RunData, title: str) -> str:
    """A picture for a document: the score of each reward part, training and held-out, as one SVG file. Empty where no
    reward is recorded."""
    series = [s for place, part in enumerate(run.parts()) for s in _reward_series(run, part, place=place)]
    return chart(title, series, width=760, height=340, heading=title, style=CHART_STYLE)


def _reward_series(run: RunData, part: str, *, place: int | None = None) -> list[Series]:
    """place: among the parts of one chart, whose name then stands in the labels; None where the chart is of one."""
    named, first = ("", 0) if place is None else (f"{part}, ", 2 * place % COLOURS)
    return [Series(label=f"{named}training", points=run.series(f"reward/{part}"), colour=first + TRAIN, smooth=True),
            Series(label=f"{named}held-out", points=run.series(f"eval/reward/{part}"), colour=first + HELD_OUT,
                   dots=True, intervals={} if part == "mean" else run.intervals(part))]


def _series(run: RunData, curves: Sequence[tuple[str, str]]) -> list[Series]:
    series = [Series(label=label, points=run.series(metric), colour=i % COLOURS, dots=metric.startswith("eval/"))
              for i, (metric, label) in enumerate(curves)]
    if len(series) < 3:
        return series
    return [s for s in series if any(value for _, value in s.points)]  # verdicts that never occur only fill the legend


def _figure(title: str, metric: str, picture: str) -> str:
    return f"<figure><h3>{escape(title)}</h3>{picture}{_caption(metric)}</figure>" if picture else ""


def _caption(metric: str) -> str:
    info = metric_info(metric)
    return "" if info is None else (f"<figcaption>{escape(info.definition)} <span class=\"hint\">"
                                    f"{escape(info.bad_value_means)}</span></figcaption>")
