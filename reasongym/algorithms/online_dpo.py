"""Online (or iterative) direct preference optimization: Guo et al. 2024, arXiv 2402.04792.

    o_1..o_G ~ pi_theta(. | q), rewards r_1..r_G
    pair k = (k-th best, k-th worst) while r(k-th best) > r(k-th worst), at most max_pairs of them
    l      = DPO's loss of each pair

Assumption: the completions come from the policy that is being updated, so that preferences are about what it does now;
offline pairs are about what some other policy did.

Edge cases
- Equal rewards, and any tie, make no pair: the sign of a difference of 0 is no preference. Rewards that differ by
  rounding alone (0.1 + 0.2 and 0.3) do make one: whoever sums reward parts sums them in the same order.
- Rewards of 0 and 1: the k-th right answer with the k-th wrong one, so min(right, wrong, max_pairs) pairs without a
  completion in common. A group of one right and seven wrong makes one pair, not seven that all pull at the same answer.
- Of equal rewards the earlier completion comes first, among the best and among the worst. Samples of one prompt are
  exchangeable, so that favours none, and a run repeats.
- No completion is in two pairs: all the k best lie strictly above all the k worst.

Departures from the paper
1. Verified rewards of G completions; the paper has a language model choose between two.
2. The reference is the trainer's business: fixed as in the paper, or renewed now and then (iterative DPO).
3. Of the loss: those of DPO, which has the same settings.
"""

# Shapes: G completions of one prompt.

from __future__ import annotations

from collections.abc import Sequence

from reasongym.algorithms.about import About
from reasongym.algorithms.group import is_flat
from reasongym.algorithms.preference import pair_loss

__all__ = ["ABOUT", "loss", "pairs"]

ABOUT = About(title="Online DPO", paper="Guo et al. 2024, arXiv 2402.04792", kind="pairs",
              advantage="none: k-th best against k-th worst", ratio="whole completion to the reference", clip="none",
              aggregation="mean over pairs", kl="in the loss, by beta")

loss = pair_loss
"""The loss of every pair; see `preference.pair_loss` for arguments and shapes."""


def pairs(rewards_G: Sequence[float], *, max_pairs: int) -> list[tuple[int, int]]:
    """(index of the chosen, index of the rejected), the widest gap in reward first; empty where all rewards are equal.

    Raises ValueError for a reward that is not finite: a failed verifier has no reward and leaves its group before.
    """
    if max_pairs < 1:
        raise ValueError(f"max_pairs must be at least 1, got {max_pairs}: without pairs there is nothing to learn from")
    if is_flat(rewards_G):
        return []
    # Both sorts are stable, reverse=True too: equal rewards stay in the order of their positions.
    best = sorted(range(len(rewards_G)), key=rewards_G.__getitem__, reverse=True)
    worst = sorted(range(len(rewards_G)), key=rewards_G.__getitem__)
    # The gap shrinks with k and is 0 or less from the middle on, so the strict ones are the first ones.
    strict = [(high, low) for high, low in zip(best, worst, strict=True) if rewards_G[high] > rewards_G[low]]
    return strict[:max_pairs]
