"""What algorithms share about the rewards of one group: the answers to one prompt, compared with one another.

    centred       r_i - mean(r_1..r_G)
    standardized  (r_i - mean(r_1..r_G)) / std(r_1..r_G),  std over G - 1 ("unbiased"), over G ("biased") or 1 ("none")

All in float64, and independent of the order of the group to the last bit.

Edge cases
- Rewards that are all equal (max == min, exactly) give exactly 0.0, and so does a group of one. An eps beside the std
  does not: seven rewards of 0.7 in float32 have a rounded std of 6e-8, and become 0.06 under eps 1e-6.
- Rewards that differ by rounding alone do differ: 0.1 + 0.2 against 0.3 is a full-sized signal. Whoever sums reward
  parts sums them in the same order for every completion.
- A reward that is not finite is a ValueError: a failed verifier has no reward and leaves its group before.
"""

# Shapes: G completions of one prompt.

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

__all__ = ["Std", "centred", "is_flat", "standardized"]

Std = Literal["unbiased", "biased", "none"]


def is_flat(rewards_G: Sequence[float]) -> bool:
    """True where nothing can be learnt by comparison: all rewards equal, exactly, or none at all."""
    if not all(math.isfinite(reward) for reward in rewards_G):
        raise ValueError(f"rewards of a group must be finite, got {list(rewards_G)}: drop completions without a reward")
    return not rewards_G or max(rewards_G) == min(rewards_G)


def centred(rewards_G: Sequence[float]) -> list[float]:
    """In the order of the group."""
    if is_flat(rewards_G):
        return [0.0] * len(rewards_G)
    mean = math.fsum(rewards_G) / len(rewards_G)
    return [reward - mean for reward in rewards_G]


def standardized(rewards_G: Sequence[float], *, std: Std) -> list[float]:
    """In the order of the group."""
    centred_G = centred(rewards_G)
    if std == "none" or not any(centred_G):
        return centred_G
    # Scaled before squaring: rewards 1e-200 apart would square to 0, and 0 / 0 follow.
    largest = max(abs(value) for value in centred_G)
    scaled_G = [value / largest for value in centred_G]
    degrees = len(rewards_G) - 1 if std == "unbiased" else len(rewards_G)
    scaled_std = math.sqrt(math.fsum(value * value for value in scaled_G) / degrees)
    return [value / scaled_std for value in scaled_G]
