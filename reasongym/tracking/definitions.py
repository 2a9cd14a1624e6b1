"""What every metric of a run means: its definition, its formula, and what a bad value says.

Symbols: M trainable tokens of the answers trained on: those whose advantage is exactly 0, such as all of a flat group,
are not among them unless a KL or entropy term moves them too; e_t and p_t the logprobs that the engine recorded and the
trainer computes for token t, both of the temperature-scaled distribution and of the same weights; w_t = exp(p_t - e_t).
"""

from __future__ import annotations

from reasongym.tracking.metric_info import MetricInfo
from reasongym.tracking.rollout_metrics import ROLLOUT_METRICS
from reasongym.tracking.training_metrics import TRAINING_METRICS

__all__ = ["METRICS", "MetricInfo", "metric_info"]


METRICS: dict[str, MetricInfo] = {
    **ROLLOUT_METRICS,
    **TRAINING_METRICS,
    "sync/seconds": MetricInfo(
        "Time until every engine has the new weights.",
        "wall time of the transfer, in seconds",
        "Growing: the host is short of memory.",
    ),
    "sync/pause_seconds": MetricInfo(
        "How long an engine samples nothing for a transfer: the longest of the engines.",
        "wall time in seconds from the end of the last step of sampling to the release; under "
        "`rollout.in_flight: drain` what is in flight ends in it",
        "As long as sync/seconds after the first: nothing is prepared beside the old weights (GPUs, several workers).",
    ),
    "sync/verify_seconds": MetricInfo(
        "Time to compare checksums of engine and trainer.",
        "wall time after the transfer, in seconds",
        "As long as the step itself: set sync.verify to first.",
    ),
    "sync/bytes": MetricInfo(
        "Size of the weights sent.", "bytes of one transfer", "Changing: the set of tensors has changed."
    ),
    "step/seconds": MetricInfo(
        "Time of the whole step.",
        "wall time, evaluation and checkpoints not counted, in seconds",
        "Growing: see rollout/ and train/.",
    ),
    "eval/reward/mean": MetricInfo(
        "Mean reward on held-out prompts.",
        "as reward/mean, on evaluation.split",
        "Falling while reward/mean rises: the policy overfits its training prompts.",
    ),
    "eval/reward/<part>": MetricInfo(
        "Mean score of one part on held-out prompts.",
        "as reward/<part>; the interval is Wilson's at 95%, over prompts",
        "An interval as wide as the gain: evaluate on more prompts before you believe it.",
    ),
    "eval/length_mean": MetricInfo("Mean length of held-out answers.", "in tokens", "As rollout/length_mean."),
    "eval/truncated_share": MetricInfo(
        "Share of held-out answers cut off.", "as rollout/truncated_share", "High: the scores are too low."
    ),
    "eval/prompts": MetricInfo("Held-out prompts answered.", "number of prompts", "Fewer than 100: wide intervals."),
}


def metric_info(name: str) -> MetricInfo | None:
    """What is known of a metric: its own entry, or that of its pattern; None for a name that no pattern fits."""
    if name in METRICS:
        return METRICS[name]
    prefix = name.rpartition("/")[0]
    patterns = {pattern.rpartition("/")[0]: info for pattern, info in METRICS.items() if pattern.endswith(">")}
    return patterns.get(prefix)
