"""What the metrics of the optimizer steps mean. The symbols are those of `definitions`."""

from __future__ import annotations

from reasongym.tracking.metric_info import MetricInfo

__all__ = ["TRAINING_METRICS"]

TRAINING_METRICS: dict[str, MetricInfo] = {
    "train/loss": MetricInfo(
        "Loss of the step.",
        "as the algorithm states it, over its own denominator; mean over the optimizer steps made, 0 without any",
        "Its level says little in policy-gradient training; null or a jump does: look at train/grad_norm.",
    ),
    "train/grad_norm": MetricInfo(
        "Norm of the gradient before clipping.",
        "L2 norm over all trained parameters, mean over the optimizer steps made; 0 without any",
        "Spikes far above trainer.max_grad_norm: lower the learning rate; 0: every group is flat.",
    ),
    "train/optimizer_steps": MetricInfo(
        "Optimizer steps that the batch made: a mini-batch without an answer that moves the policy makes none.",
        "at most trainer.mini_batches x trainer.epochs",
        "0 again and again: all groups are flat, and nothing is learnt.",
    ),
    "train/learning_rate": MetricInfo(
        "Learning rate at the end of the step.",
        "schedule x trainer.learning_rate; the schedule goes on over mini-batches that make no optimizer step",
        "0: the schedule has ended.",
    ),
    "train/tokens_per_second": MetricInfo(
        "Training throughput of all ranks together.",
        "prompt and completion tokens of the step / train/seconds",
        "Falling: micro-batches are padded more, or memory is swapped.",
    ),
    "train/clip_share": MetricInfo(
        "Share of the tokens trained on at which the clip stops the gradient; absent without any.",
        "clipped tokens / M, over all optimizer steps of the batch",
        "Above about 0.2: too many passes over one batch, or too large a learning rate.",
    ),
    "train/entropy": MetricInfo(
        "Mean entropy of the policy at the tokens trained on; absent without any.",
        "1/M x sum of -sum over the vocabulary of p log p, in nats, over all optimizer steps of the batch",
        "Falling to 0: the policy says one thing only and no longer explores; growing without end: it comes apart.",
    ),
    "train/kl": MetricInfo(
        "Distance of the policy from the reference policy.",
        "in nats; algorithm.kl.place loss: the estimator of algorithm.kl.estimator, mean over the M tokens; reward: "
        "always k1, mean over all trainable tokens of the step before its first update",
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
        "max(0, mean log pi - log pi_reference over mismatched completions), in nats, of the last optimizer step of "
        "the batch",
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
        "Distance between the distributions of engine and trainer: for the same weights, unless rollout.mode=async, "
        "where the age of the answers counts too. As all of mismatch/, over the tokens trained on: flat groups are not "
        "read.",
        "1/M x sum of (w_t - 1 - log w_t)",
        "Above about 0.01 in a synchronous run: engine and trainer do not compute the same model: dtype, or weights "
        "out of date.",
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
}
