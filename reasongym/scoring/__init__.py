"""Runs verifiers in killable worker processes; the one boundary that may catch everything."""

from reasongym.scoring.pool import ScoringPool
from reasongym.scoring.reward import reward

__all__ = ["ScoringPool", "reward"]
