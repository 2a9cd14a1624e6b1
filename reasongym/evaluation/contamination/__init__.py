"""Contamination: evaluation rows that stand in training data."""

from reasongym.evaluation.contamination.record import Overlap, SideOverlap

__all__ = ["Overlap", "SideOverlap"]
