"""Which results cannot be told apart: paired tests against the best of those left, corrected for their number.

The best result leads a group. Each one below it is tested against it, row by row. Up to EXACT differing rows the
test is `compare_paired`, which counts every outcome where it can (McNemar's exact test for single answers); beyond, the
normal approximation of the same sign-flip test, (|sum(d)| - u) / sqrt(sum(d^2)) over the rows' differences d with their
smallest size u as continuity correction, a few percent off at p = 0.001. Holm's step-down correction (Holm 1979,
Scandinavian Journal of Statistics 6, 65-70) holds the chance of any false difference from one leader to ALPHA. Those
that are not different tie with the leader; the best of the others leads the next group.

Single answers to the same rows, the common case, are counted as bits: a board of 200 results needs thousands of tests.

Rows are paired that both results scored, where these are at least half of the rows of either: a test of twenty rows
says little of two results of a thousand. Others, and results without samples, are compared by their intervals, as if of
independent rows: a weaker test, and one of many rows. With fewer than LEAST_ROWS in one of the two they are not told
apart. Being tied is no proof of being equal, and of two that tie with a leader one may beat the other.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from functools import cache
from statistics import NormalDist
from typing import NamedTuple

from reasongym.evaluation import compare_paired
from reasongym.leaderboard.entry import Metric
from reasongym.leaderboard.store import RowMeans, Stored

__all__ = ["ALPHA", "Rank", "holm", "mcnemar", "p_value", "rank"]

ALPHA = 0.05
LEAST_SHARED = 0.5
"""Of the rows of the larger result: with fewer in common, two results are compared by their intervals."""
LEAST_ROWS = 20
"""Of each of two results that are compared by their intervals: normal ones, which fewer rows do not give. The paired
test is exact for few rows; of five it tells nothing apart."""
EXACT = 200  # 1 ms; 1,300 take 20, and a board of 200 results needs thousands of tests before it is shown
CLEAR = 5.5  # p below 4e-8: different, whatever the number of results it is corrected for
NORMAL = NormalDist()
Z95 = NORMAL.inv_cdf(0.975)


class Rank(NamedTuple):
    """place: 1 + the results of the groups before. tied: others share the place."""

    place: int
    tied: bool


def rank(results: Sequence[Stored], means: Mapping[int, RowMeans]) -> dict[int, Rank]:
    """Result id -> its rank. `means` may lack results that came without samples."""
    left = sorted(results, key=lambda result: (-result.main.mean, result.id))
    ranks: dict[int, Rank] = {}
    bits = {number: _bits(found) for number, found in means.items()}
    while left:
        leader, others = left[0], left[1:]
        p_values = [_p_of(leader, other, means, bits) for other in others]
        different = holm(p_values, ALPHA)
        tied = [leader, *(other for other, apart in zip(others, different, strict=True) if not apart)]
        place = Rank(len(ranks) + 1, len(tied) > 1)
        ranks |= {result.id: place for result in tied}
        left = [result for result in others if result.id not in ranks]
    return ranks


def _p_of(first: Stored, second: Stored, means: Mapping[int, RowMeans], bits: Mapping[int, int | None]) -> float:
    """As `p_value`; of single answers to the same rows by counting bits, thousands of times faster."""
    ours, theirs = bits.get(first.id), bits.get(second.id)
    if ours is None or theirs is None or means[first.id].digest != means[second.id].digest:
        return p_value(first.main, second.main, means.get(first.id), means.get(second.id))
    return mcnemar((ours & ~theirs).bit_count(), (theirs & ~ours).bit_count())


def _bits(found: RowMeans) -> int | None:
    """A bit a row, set where it is right; None where a row is right in part."""
    means = found.means
    if means.count(0.0) + means.count(1.0) != len(means):
        return None
    return int.from_bytes(bytes(map(int, means)), "little")


@cache
def mcnemar(won: int, lost: int) -> float:
    """Two-sided: of `won + lost` rows that differ, each is won with chance 1/2. Beyond EXACT the normal approximation,
    as in `_paired`."""
    differing = won + lost
    if not differing:
        return 1.0
    if differing <= EXACT:
        tail = sum(math.comb(differing, count) for count in range(min(won, lost) + 1))
        return min(1.0, 2 * tail / (1 << differing))
    return 2 * (1 - NORMAL.cdf((abs(won - lost) - 1) / math.sqrt(differing)))


def holm(p_values: Sequence[float], alpha: float) -> list[bool]:
    """Which hypotheses are rejected: in the order of their p, each below alpha over those not yet rejected."""
    rejected = [False] * len(p_values)
    for done, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if p_values[place] > alpha / (len(p_values) - done):
            break
        rejected[place] = True
    return rejected


def p_value(first: Metric, second: Metric, first_rows: RowMeans | None, second_rows: RowMeans | None) -> float:
    """Two-sided, of no difference between the two."""
    if first_rows and second_rows:
        if (clear := _least_z(first_rows, second_rows)) > CLEAR:
            return 2 * (1 - NORMAL.cdf(clear))
        differences, shared = _differences(first_rows, second_rows)
        if shared >= LEAST_SHARED * max(len(first_rows.means), len(second_rows.means)):
            return _paired(differences)
    if min(first.prompts, second.prompts) < LEAST_ROWS:
        return 1.0
    return _normal(first.mean - second.mean, math.hypot(_error(first), _error(second)))


def _least_z(first: RowMeans, second: RowMeans) -> float:
    """The statistic is at least this, as no difference is larger than 1: most pairs of a long board need no more."""
    if first.digest != second.digest:
        return 0.0
    return abs(math.fsum(first.means) - math.fsum(second.means)) / math.sqrt(len(first.means))


def _paired(differences: Sequence[float]) -> float:
    """Rows on which the two agree say nothing, and are left out already."""
    if not differences:
        return 1.0
    if len(differences) <= EXACT:
        first, second = [[max(d, 0.0)] for d in differences], [[max(-d, 0.0)] for d in differences]
        found = compare_paired(first, second, resamples=1)
        if found.exact:
            return found.p_value
    excess = max(abs(math.fsum(differences)) - min(map(abs, differences)), 0.0)
    return 2 * (1 - NORMAL.cdf(excess / math.sqrt(sum(map(operator.mul, differences, differences)))))


def _differences(first: RowMeans, second: RowMeans) -> tuple[list[float], int]:
    """First minus second where they differ, and how many rows both have."""
    if first.digest == second.digest:
        return list(filter(None, map(operator.sub, first.means, second.means))), len(first.means)
    others = dict(zip(second.rows, second.means, strict=True))
    pairs = [(a, others[row]) for row, a in zip(first.rows, first.means, strict=True) if row in others]
    return [a - b for a, b in pairs if a != b], len(pairs)


def _error(metric: Metric) -> float:
    return (metric.high - metric.low) / (2 * Z95)


def _normal(difference: float, error: float) -> float:
    if error == 0:
        return 0.0 if difference else 1.0
    return 2 * (1 - NORMAL.cdf(abs(difference) / error))
