"""What every metric of a run means: its definition, its formula, and what a bad value says.

Symbols: M trainable tokens of the step; e_t and p_t the logprobs that the engine recorded and the trainer computes for
token t, both of the temperature-scaled distribution and of the same weights; w_t = exp(p_t - e_t).
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["METRICS", "MetricInfo", "metric_info"]


class MetricInfo(NamedTuple):
    """definition: one sentence. formula: how it is computed, with its unit. bad_value_means: what to suspect."""

    definition: str
    formula: str
    bad_value_means: str


METRICS: dict[str, MetricInfo] = {
    "reward/mean": MetricInfo(
        "Mean reward of the rollouts trained on.",
        "sum of weight x score over the parts, mean over valid rollouts",
        "Flat at its floor: nothing to learn from; falling after a rise: the learning rate is too high.",
    ),
    "reward/<part>": MetricInfo(
        "Mean score of one reward part.",
        "mean over valid rollouts of the part's score in [0, 1], before its weight",
        "One part at 1 while another stands still: the easy part is all that is learned; change the weights.",
    ),
    "rollout/tokens": MetricInfo(
        "Tokens sampled in the step.",
        "sum of completion lengths, in tokens",
        "Near 0: the policy ends its answers at once.",
    ),
    "rollout/length_mean": MetricInfo(
        "Mean length of a completion.",
        "rollout/tokens / completions, in tokens",
        "Growing to the limit without more reward: the answers ramble; a few tokens: the policy collapsed.",
    ),
    "rollout/truncated_share": MetricInfo(
        "Share of completions cut off at the token limit.",
        "completions with finish_reason length / completions",
        "High: answers do not fit; raise rollout.max_new_tokens.",
    ),
    "rollout/tokens_per_second": MetricInfo(
        "Sampling throughput of all engines together.",
        "rollout/tokens / rollout/seconds",
        "Falling at equal lengths: engines wait for the scoring pool, or their KV cache is full.",
    ),
    "rollout/flat_group_share": MetricInfo(
        "Share of groups whose rewards are all equal; they give no gradient.",
        "groups with max == min reward / groups",
        "Near 1: the task is too hard or too easy for this policy; change the level or enlarge the group.",
    ),
    "rollout/seconds": MetricInfo(
        "Time to sample and score the step.",
        "wall time from the first request to the last verdict, in seconds",
        "Far above the usual: one very long completion, or a slow verifier.",
    ),
    "status/<status>": MetricInfo(
        "Share of rollouts with one verdict of the task's main part.",
        "rollouts of that status / all rollouts",
        "High unparsable: the format is not learned; timeout or error: the verifier is the trouble.",
    ),
    "train/loss": MetricInfo(
        "Loss of the step.",
        "as the algorithm states it, over its own denominator",
        "Its level says little in policy-gradient training; null or a jump does: look at train/grad_norm.",
    ),
    "train/grad_norm": MetricInfo(
        "Norm of the gradient before clipping.",
        "L2 norm over all parameters",
        "Spikes far above trainer.max_grad_norm: lower the learning rate; 0: every group is flat.",
    ),
    "train/learning_rate": MetricInfo(
        "Learning rate of the step.", "schedule x trainer.learning_rate", "0: the schedule has ended."
    ),
    "train/tokens_per_second": MetricInfo(
        "Training throughput of all ranks together.",
        "prompt and completion tokens of the step / train/seconds",
        "Falling: micro-batches are padded more, or memory is swapped.",
    ),
    "train/clip_share": MetricInfo(
        "Share of trainable tokens at which the clip stops the gradient.",
        "clipped tokens / M",
        "Above about 0.2: too many passes over one batch, or too large a learning rate.",
    ),
    "train/entropy": MetricInfo(
        "Mean entropy of the policy at the tokens it chose.",
        "1/M x sum of -sum over the vocabulary of p log p, in nats",
        "Falling to 0: the policy says one thing only and no longer explores; growing without end: it comes apart.",
    ),
    "train/kl": MetricInfo(
        "Distance of the policy from the reference policy.",
        "the estimator of algorithm.kl.estimator, mean over the M tokens, in nats",
        "Growing fast: the policy leaves what it was; raise algorithm.kl.coefficient or lower the learning rate.",
    ),
    "train/seconds": MetricInfo(
        "Time of the optimizer steps.", "wall time, in seconds", "Growing: longer completions."
    ),
    "mismatch/kl": MetricInfo(
        "Distance between the distributions of engine and trainer for the same weights. As all of mismatch/, over the "
        "tokens trained on: flat groups are not read.",
        "1/M x sum of (w_t - 1 - log w_t)",
        "Above about 0.01: engine and trainer do not compute the same model: dtype, or weights out of date.",
    ),
    "mismatch/mean_abs_logprob_diff": MetricInfo(
        "Mean absolute difference of the two logprobs.",
        "1/M x sum of |p_t - e_t|, in nats",
        "Above about 0.05: as for mismatch/kl.",
    ),
    "mismatch/ess": MetricInfo(
        "Effective share of the sample under the importance weights.",
        "(sum of w_t)^2 / (M x sum of w_t^2)",
        "Well below 1: a few tokens carry the step.",
    ),
    "mismatch/max_ratio": MetricInfo(
        "Largest importance weight before the correction.",
        "max of w_t",
        "Above 10: some tokens are nearly impossible for the engine.",
    ),
    "mismatch/masked_share": MetricInfo(
        "Share of trainable tokens the correction rejected.",
        "tokens that icepop or sequence_mask leaves out / M",
        "Above about 0.01: as for mismatch/kl.",
    ),
    "sync/seconds": MetricInfo(
        "Time the engines wait for new weights.",
        "wall time of the transfer, in seconds",
        "Growing: the host is short of memory.",
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
