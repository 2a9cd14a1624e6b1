"""What is said of a metric."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["MetricInfo"]


class MetricInfo(NamedTuple):
    """definition: one sentence. formula: how it is computed, with its unit. bad_value_means: what to suspect."""

    definition: str
    formula: str
    bad_value_means: str
