"""From verdicts to the one number a policy is trained on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from reasongym.tasks import RewardPart
from reasongym.verifiers import Status, Verdict

__all__ = ["reward"]


def reward(verdicts: Mapping[str, Verdict], parts: Sequence[RewardPart]) -> float | None:
    """Sum of weight x score over the parts, or None where any verifier failed: a failure of ours is no reward.

    A time-out counts with its score, 0. Raises KeyError where a part has no verdict.
    """
    if any(verdicts[part.name].status is Status.ERROR for part in parts):
        return None
    return math.fsum(part.weight * verdicts[part.name].score for part in parts)
