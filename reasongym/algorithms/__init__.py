"""The algorithm maths: one file an algorithm, each with its `loss()` and how it gets there, and what they share beside.

    grpo dr_grpo dapo gspo cispo rloo              rewards of one prompt's completions against one another
    reinforce reinforce_pp reinforce_pp_baseline   returns of tokens over the whole step
    ppo                                            returns against a learned value
    dpo online_dpo kto                             preferences, against a reference policy
    sft                                            solutions to imitate

    about        what tells them apart, for `reasongym algorithms`
    aggregation  from per-token losses to this micro-batch's share of the optimizer step's loss
    correction   weights against the mismatch between the engine that sampled and the trainer
    group        rewards of one group: flatness, centring, deviation
    kl           penalty towards a reference policy
    logprobs     log-probabilities of sampled tokens without vocabulary-wide memory
    preference   log-ratios of whole completions, and the loss of a pair
    returns      rewards of tokens, discounted returns, GAE, whitening
    surrogate    the ratio of two policies and its clip

Plain functions of tensors and keyword arguments: no configuration object, no collective, no state.
"""

from collections.abc import Mapping
from types import ModuleType

from reasongym.algorithms import (
    cispo,
    dapo,
    dpo,
    dr_grpo,
    grpo,
    gspo,
    kto,
    online_dpo,
    ppo,
    reinforce,
    reinforce_pp,
    reinforce_pp_baseline,
    rloo,
    sft,
)

__all__ = ["ALGORITHMS"]

ALGORITHMS: Mapping[str, ModuleType] = {
    "grpo": grpo, "dr_grpo": dr_grpo, "dapo": dapo, "gspo": gspo, "cispo": cispo, "rloo": rloo,
    "reinforce": reinforce, "reinforce_pp": reinforce_pp, "reinforce_pp_baseline": reinforce_pp_baseline, "ppo": ppo,
    "dpo": dpo, "online_dpo": online_dpo, "kto": kto, "sft": sft,
}
"""Name, as `--algorithm` takes it -> its module: `ABOUT`, `loss` and what its kind (`about.Kind`) has beside."""
