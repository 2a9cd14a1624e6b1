"""Learning rate by step: linear warm-up, then constant, linear or cosine decay to a share of the peak."""

from __future__ import annotations

import math
from typing import Literal

__all__ = ["learning_rate"]


def learning_rate(step: int, *, peak: float, steps: int, warmup_steps: int,
                  schedule: Literal["constant", "linear", "cosine"], floor_ratio: float) -> float:
    """The rate of optimizer step `step` (1-based). A pure function, so that a resumed run needs no scheduler state."""
    if step <= warmup_steps:
        return peak * step / (warmup_steps + 1)
    if schedule == "constant":
        return peak
    progress = min(1.0, (step - warmup_steps - 1) / max(1, steps - warmup_steps))
    shape = 1.0 - progress if schedule == "linear" else 0.5 * (1.0 + math.cos(math.pi * progress))
    return peak * (floor_ratio + (1.0 - floor_ratio) * shape)
