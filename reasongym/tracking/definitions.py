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
    "task/level": MetricInfo(
        "Level of the task that the curriculum is at.",
        "moves by one when the mean score over task.curriculum.window steps leaves lower_below .. raise_above",
        "Going up and down in turn: the bounds are too close; standing still: the task is too hard as it begins.",
    ),
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
    "train/kl_coefficient": MetricInfo(
        "Weight of the KL term in the reward.",
        "algorithm.kl.coefficient, moved towards algorithm.kl.target after each step",
        "Growing without end: the target is below what the learning rate makes of one step.",
    ),
    "train/pairs": MetricInfo(
        "Pairs of a better and a worse answer that the step's rollouts made.",
        "at most algorithm.max_pairs a prompt; none of answers with equal rewards",
        "Near 0: answers to a prompt earn the same, and there is nothing to prefer.",
    ),
    "train/pair_accuracy": MetricInfo(
        "Share of pairs whose chosen answer the policy has moved towards by more than the rejected one.",
        "pairs with reward_chosen > reward_rejected / pairs; 0 at the first step, where both are 0",
        "Near 0.5 for long: the preferences contradict one another, or the learning rate is too low.",
    ),
    "train/reward_chosen": MetricInfo(
        "Implicit reward of the chosen answers.",
        "algorithm.beta x (log pi - log pi_reference) of the whole answer, mean over pairs",
        "Falling together with reward_rejected: the policy unlearns both; add algorithm.nll_coefficient.",
    ),
    "train/reward_rejected": MetricInfo(
        "Implicit reward of the rejected answers.", "as train/reward_chosen",
        "Rising with reward_chosen: the pairs differ by little, and both get likelier.",
    ),
    "train/reward_desirable": MetricInfo(
        "Implicit reward of the wanted completions.",
        "algorithm.beta x (log pi - log pi_reference) of the whole completion, mean over them",
        "Not above reward_undesirable: the labels do not tell the completions apart.",
    ),
    "train/reward_undesirable": MetricInfo(
        "Implicit reward of the unwanted completions.", "as train/reward_desirable",
        "Far below 0 at once: the learning rate is too high.",
    ),
    "train/reference_point": MetricInfo(
        "KTO's z: how far the policy has left the reference on completions of other prompts.",
        "max(0, mean log pi - log pi_reference over mismatched completions of the step), in nats",
        "Growing steadily: the policy drifts as a whole; raise algorithm.beta or lower the learning rate.",
    ),
    "train/seconds": MetricInfo(
        "Time of the optimizer steps.", "wall time, in seconds", "Growing: longer completions."
    ),
    "critic/loss": MetricInfo(
        "Loss of PPO's critic: how far the value V of a token is from its return R.",
        "1/M x sum of 1/2 max((V - R)^2, (V clipped to V_old +- algorithm.value_clip - R)^2), mean over updates",
        "Not falling below half the variance of the returns: the critic learns nothing; raise its learning rate.",
    ),
    "critic/grad_norm": MetricInfo(
        "Norm of the critic's gradient before clipping.",
        "L2 norm over all its parameters",
        "Always far above algorithm.critic.max_grad_norm: returns of a large scale; scale the reward parts' weights.",
    ),
    "critic/clip_share": MetricInfo(
        "Share of trainable tokens at which the clip stops the critic's gradient.",
        "clipped tokens / M; 0 in the first update on a batch",
        "Above about 0.2: the critic wants to move faster than algorithm.value_clip lets it.",
    ),
    "critic/explained_variance": MetricInfo(
        "How much of the returns' variance the critic foretold, before it learnt from the step.",
        "1 - Var(R - V_old) / Var(R) over the M tokens, V_old from before the step; null where all R are equal",
        "0: no better than a constant, as at the start; below 0: worse than none: raise algorithm.critic.warmup_steps.",
    ),
    "critic/value_mean": MetricInfo(
        "Mean value that the critic gave the step's tokens before it learnt from them.",
        "1/M x sum of V_old",
        "Far from reward/mean at algorithm.gamma 1: the critic lags behind the policy.",
    ),
    "critic/seconds": MetricInfo(
        "Time of the critic's optimizer steps.",
        "wall time, in seconds; on GPUs of its own beside train/seconds, else on top of it",
        "Well above train/seconds on GPUs of its own: raise algorithm.critic.ranks.",
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
