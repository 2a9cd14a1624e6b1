"""What the metrics of sampling and scoring mean."""

from __future__ import annotations

from reasongym.tracking.metric_info import MetricInfo

__all__ = ["ROLLOUT_METRICS"]

ROLLOUT_METRICS: dict[str, MetricInfo] = {
    "task/level": MetricInfo(
        "Level of the task that the curriculum is at.",
        "moves by one when the mean score over task.curriculum.window steps leaves lower_below .. raise_above",
        "Going up and down in turn: the bounds are too close; standing still: the task is too hard as it begins.",
    ),
    "reward/mean": MetricInfo(
        "Mean reward of all rollouts sampled for the step, those of groups that dynamic sampling leaves out included.",
        "sum of weight x score over the parts, mean over valid rollouts; without DAPO's penalty of length and any KL",
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
    "rollout/abandoned_groups": MetricInfo(
        "Groups that were begun and broken off, because enough others had ended before (rollout.oversample).",
        "groups begun - groups taken; 0 without a surplus",
        "At its most, and rollout/seconds as without a surplus: the same prompts are slow every time, and fill it; use "
        "rollout.mode=async.",
    ),
    "rollout/rounds": MetricInfo(
        "Times that dynamic sampling asked for prompts in the step.",
        "number of rounds, at most algorithm.dynamic_sampling.max_rounds",
        "At its limit: nearly all groups are flat; easier or harder prompts, or larger groups.",
    ),
    "rollout/chosen_groups": MetricInfo(
        "Groups that dynamic sampling trains on.",
        "groups with max > min raw reward, at most rollout.prompts_per_step",
        "Below rollout.prompts_per_step: the rounds ran out, and the step's gradient is noisier.",
    ),
    "rollout/wait_seconds": MetricInfo(
        "Time that the ranks waited for a batch (rollout.mode=async).",
        "wall time from the loop's request to a batch that keeps the bound, in seconds",
        "A large part of step/seconds: sampling is what the run waits for; more engines, or a larger max_staleness.",
    ),
    "rollout/engine_idle_share": MetricInfo(
        "Share of the time in which an engine had nothing to sample (rollout.mode=async).",
        "mean over engines of seconds without a request / seconds since the last batch",
        "High with rollout/wait_seconds near 0: training is what the run waits for; more ranks, fewer engines, or a "
        "larger rollout.max_staleness.",
    ),
    "rollout/staleness_mean": MetricInfo(
        "Age of the groups trained on (rollout.mode=async).",
        "mean over groups of the policy's version - the version when the group's sampling began",
        "At rollout.max_staleness as a rule, for prompts are begun as soon as it allows; whether it helps, "
        "rollout/queued_groups says.",
    ),
    "rollout/staleness_max": MetricInfo(
        "Age of the oldest group trained on (rollout.mode=async).",
        "largest difference of versions in the batch",
        "Never above rollout.max_staleness.",
    ),
    "rollout/stale_token_share": MetricInfo(
        "Share of tokens that an older policy sampled (rollout.mode=async).",
        "tokens of the batch with a version below the policy's / tokens of the batch",
        "Near 1 with a falling mismatch/ess: the policy moves fast; a smaller rollout.max_staleness or learning rate.",
    ),
    "rollout/queued_groups": MetricInfo(
        "Groups that are complete and wait to be trained on (rollout.mode=async).",
        "complete groups that are left when a batch is taken",
        "A batch or more each time: engines are ahead, and rollout.max_staleness may be smaller by as many batches at "
        "no cost.",
    ),
    "rollout/open_groups": MetricInfo(
        "Groups that are being sampled or verified (rollout.mode=async).",
        "groups begun and not complete when a batch is taken",
        "0 with rollout/engine_idle_share high: the bound holds the engines back.",
    ),
    "rollout/scored_early_share": MetricInfo(
        "Share of answers whose verdict was there before the last answer was sampled.",
        "verdicts finished when the last completion arrives / completions",
        "Near 0 with rollout/scoring_wait_seconds high: the step waits for verification; raise scoring.workers.",
    ),
    "rollout/scoring_wait_seconds": MetricInfo(
        "Time that the step waited for verdicts alone.",
        "wall time from the last completion to the last verdict, in seconds",
        "A large part of rollout/seconds: raise scoring.workers, or lower the limits of slow tests.",
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
}
