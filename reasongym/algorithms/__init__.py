"""The algorithm maths: one file an algorithm, each with `advantages()` and `loss()`, and what they share beside them.

    grpo         advantages of a group, clipped policy loss
    aggregation  from per-token losses to this micro-batch's share of the optimizer step's loss
    correction   weights against the mismatch between the engine that sampled and the trainer
    kl           penalty towards a reference policy
    logprobs     log-probabilities of sampled tokens without vocabulary-wide memory

Plain functions of tensors and keyword arguments: no configuration object, no collective, no state.
"""

from collections.abc import Mapping
from types import ModuleType

from reasongym.algorithms import aggregation, correction, grpo, kl, logprobs

__all__ = ["ALGORITHMS", "aggregation", "correction", "grpo", "kl", "logprobs"]

ALGORITHMS: Mapping[str, ModuleType] = {"grpo": grpo}
"""Name, as `--algorithm` takes it -> module with `advantages` and `loss`."""
