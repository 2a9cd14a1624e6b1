"""Answers a second through the scoring pool, against the same verifier called in a loop."""

from __future__ import annotations

import time

from reasongym import registry
from reasongym.scoring import ScoringPool
from reasongym.tasks import Example, RewardPart

ANSWERS = 2000


def measure() -> dict[str, float]:
    """Both rates and their ratio; every answer differs, so that no cache helps."""
    verify = registry.verifier("gsm8k")
    example = Example(task="bench", split="test", index=0, messages=(), reference="72")
    answers = [f"She has {n} apples, so in the end\n#### {n}" for n in range(ANSWERS)]
    started = time.perf_counter()
    for answer in answers:
        verify(answer, "72", example={})
    loop = ANSWERS / (time.perf_counter() - started)
    with ScoringPool([RewardPart(name="correct", verifier="gsm8k", weight=1.0)], workers=2, timeout_s=10.0,
                     memory_mib=1024) as pool:
        started = time.perf_counter()
        for future in [pool.submit(answer, example) for answer in answers]:
            future.result()
        pooled = ANSWERS / (time.perf_counter() - started)
    return {"loop_per_second": loop, "pool_per_second": pooled, "pool_over_loop": pooled / loop}
