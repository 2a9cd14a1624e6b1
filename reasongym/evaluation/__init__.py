"""Evaluation: scores of a model on held-out rows, with honest error bars."""

from reasongym.evaluation.statistics import (
    Interval,
    PairedComparison,
    avg_at_k,
    bootstrap_interval,
    compare_paired,
    maj_at_k,
    pass_at_k,
    wilson_interval,
)

__all__ = [
    "Interval",
    "PairedComparison",
    "avg_at_k",
    "bootstrap_interval",
    "compare_paired",
    "maj_at_k",
    "pass_at_k",
    "wilson_interval",
]
