"""Numbers that ranks compute of samples without training on them: log-probabilities, values."""

from __future__ import annotations

from collections.abc import Sequence

from reasongym.training.group import RankGroup
from reasongym.training.rows import Sample, batches_of, split_over_ranks

__all__ = ["with_measured"]


def with_measured(samples: Sequence[Sample], column: str, ranks: RankGroup, method: str, *,
                  budget: int) -> list[Sample]:
    """The samples with a `column` of what the ranks' `method` says of each of their tokens.

    budget: padded tokens of a forward pass; the numbers do not depend on it.
    """
    if not samples:
        return []
    batches = batches_of(samples, share_prompt=ranks.settings.share_prompt, budget=budget)
    dealt = split_over_ranks(batches, ranks.settings.teams)
    found: dict[int, list[float]] = {}
    for micros, answers in zip(dealt, ranks.scatter(method, [(micros,) for micros in dealt]), strict=True):
        for micro, columns in zip(micros, answers, strict=True):
            # By identity: equal samples have equal numbers, but not for certain to the last bit.
            found |= {id(sample): values for sample, values in zip(micro.samples, columns, strict=True)}
    return [sample.with_columns(**{column: found[id(sample)]}) for sample in samples]
