"""How sure an evaluation is: pass@k, avg@k, maj@k, intervals, and paired tests between two models.

Letters: n samples of a prompt, c of them correct, k <= n drawn. `scores_PN` is one sequence of n scores a prompt. The
standard library alone; everything random takes a seed and gives the same answer on every machine.

Not covered: comparisons of many models at once (correct the p-values for their number), and uncertainty of the data set
itself (its prompts are taken as drawn from what one wants to know about).
"""

from __future__ import annotations

import itertools
import math
import operator
import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from statistics import NormalDist
from typing import NamedTuple

from reasongym.errors import DataError, message

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

MAX_EXACT_OUTCOMES = 100_000
GROUPING_DIGITS = 12  # differences that agree to this many decimals are equal: 0.3 - 0.2 and 0.1 are


class Interval(NamedTuple):
    """Bounds of a confidence interval, both in the unit of the estimate."""

    low: float
    high: float


class PairedComparison(NamedTuple):
    """First minus second, over prompts. `exact`: the p-value counts every outcome instead of a sample of them."""

    difference: float
    interval: Interval
    p_value: float
    exact: bool


def pass_at_k(num_samples: int, num_correct: int, k: int) -> float:
    """Probability that k samples drawn without replacement from the n contain a correct one.

        1 - C(n - c, k) / C(n, k)  =  1 - prod_{i = n - c + 1}^{n} (1 - k / i)

    The unbiased estimator of Chen et al. 2021, arXiv 2107.03374, equation 1; the product needs no large numbers.
    Exactly 1 where n - c < k. For one prompt: average over prompts. Raises DataError unless 0 <= c <= n, 1 <= k <= n.
    """
    _check_k(num_samples, k, "pass@k")
    if not 0 <= num_correct <= num_samples:
        raise DataError(message("pass@k of an impossible count", got=f"{num_correct} correct of {num_samples}",
                                expected="0 <= correct <= samples", remedy="count the samples of one prompt"))
    if num_samples - num_correct < k:
        return 1.0
    return 1.0 - math.prod(1.0 - k / i for i in range(num_samples - num_correct + 1, num_samples + 1))


def avg_at_k(scores: Sequence[float], k: int) -> float:
    """Expected mean score of k samples drawn from the n: the mean of all n, whatever k is.

    k is asked for so that a table's avg@k never rests on fewer than k samples. Raises DataError for k > n.
    """
    _check_k(len(scores), k, "avg@k")
    return _mean(scores)


def maj_at_k(answers: Sequence[str | None], scores: Sequence[float], k: int) -> float:
    """Expected score of the majority vote of k samples drawn without replacement from the n; one prompt.

    Self-consistency of Wang et al. 2022, arXiv 2203.11171, with the expectation over all C(n, k) draws taken exactly,
    not over the first k alone. Ties are broken evenly. None is an answer that could not be read: it fills a place in
    the draw but casts no vote, and a draw without votes scores 0. Samples that agree share the mean of their scores.

    For each answer a (c_a samples) and each m, the number of draws where a has m votes and no other has more is
    C(c_a, m) times the coefficient of x^(k - m) in the product over other answers b of sum_{v <= m} C(c_b, v) x^v; the
    ties, v = m, are kept apart as they share the win. Raises DataError for k > n or where lengths differ.
    """
    _check_k(len(answers), k, "maj@k")
    if len(scores) != len(answers):
        raise DataError(message("maj@k needs one score an answer", got=f"{len(scores)} scores, {len(answers)} answers",
                                expected="equal numbers", remedy="pass the samples of one prompt"))
    votes = Counter(answer for answer in answers if answer is not None)
    num_silent = len(answers) - votes.total()
    expected = Fraction(0)
    for answer, count in votes.items():
        score = Fraction(_mean([s for a, s in zip(answers, scores, strict=True) if a == answer]))
        if score:
            others = [votes[other] for other in votes if other != answer]
            expected += score * sum(math.comb(count, m) * _shares_of_wins(others, num_silent, k - m, m)
                                    for m in range(1, min(count, k) + 1))
    return float(expected / math.comb(len(answers), k))


def _shares_of_wins(others: Sequence[int], num_silent: int, num_draws: int, most: int) -> Fraction:
    """Ways to draw `num_draws` from the other answers, none above `most` times; with t ties each counts 1/(t + 1)."""
    ways = Counter({(drawn, 0): math.comb(num_silent, drawn) for drawn in range(min(num_silent, num_draws) + 1)})
    for count in others:
        extended: Counter[tuple[int, int]] = Counter()
        for (drawn, ties), number in ways.items():
            for v in range(min(count, most, num_draws - drawn) + 1):
                extended[drawn + v, ties + (v == most)] += number * math.comb(count, v)
        ways = extended
    return sum((Fraction(number, ties + 1) for (drawn, ties), number in ways.items() if drawn == num_draws),
               Fraction(0))


def wilson_interval(num_correct: int, num_samples: int, *, confidence: float = 0.95) -> Interval:
    """Interval of a proportion: right near 0 and 1, where the normal approximation gives an empty or impossible one.

        (p + z^2/2n -+ z sqrt(p (1 - p)/n + z^2/4n^2)) / (1 + z^2/n),   p = c/n

    Wilson 1927, J. Am. Stat. Assoc. 22, 209-212. Independent samples only: for several samples a prompt use
    `bootstrap_interval`. Raises DataError unless 0 <= c <= n, n >= 1 and 0 < confidence < 1.
    """
    if num_samples < 1 or not 0 <= num_correct <= num_samples:
        raise DataError(message("a proportion needs a count within a total", got=f"{num_correct} of {num_samples}",
                                expected="0 <= correct <= samples, samples >= 1", remedy="check the counts"))
    z = NormalDist().inv_cdf(0.5 + _checked_confidence(confidence) / 2)
    p, z2n = num_correct / num_samples, z * z / num_samples
    middle, half = p + z2n / 2, z * math.sqrt(p * (1 - p) / num_samples + z2n / num_samples / 4)
    # The formula gives 0 for c = 0 and 1 for c = n; rounding would put them a hair off or outside.
    low = 0.0 if num_correct == 0 else (middle - half) / (1 + z2n)
    high = 1.0 if num_correct == num_samples else (middle + half) / (1 + z2n)
    return Interval(low, high)


def bootstrap_interval(scores_PN: Sequence[Sequence[float]], *, confidence: float = 0.95, resamples: int = 5000,
                       seed: int = 0) -> Interval:
    """Percentile bootstrap interval of the mean over prompts of each prompt's mean score.

    Whole prompts are drawn with replacement, with all their samples: the samples of a prompt are alike, and drawing
    them singly would give intervals that are too narrow (clustered errors: Miller 2024, arXiv 2411.00640; bootstrap:
    Efron and Tibshirani 1993, chapter 13). Prompts may differ in their number of samples. With few prompts (under about
    20) the interval is too narrow all the same. Raises DataError without prompts, or for a prompt without samples.
    """
    means = _prompt_means(scores_PN)
    return _bootstrap_mean(means, confidence, resamples, random.Random(seed))


def compare_paired(first_PN: Sequence[Sequence[float]], second_PN: Sequence[Sequence[float]], *,
                   confidence: float = 0.95, resamples: int = 5000, seed: int = 0) -> PairedComparison:
    """Are two models different, on the same prompts in the same order? Two-sided sign-flip permutation test.

    Under the null hypothesis the two models' scores of a prompt could be exchanged, so each difference of per-prompt
    means keeps its size and gets a random sign; p is the share of sign patterns whose |sum| reaches the one seen. With
    one sample a prompt, scored 0 or 1, this is the exact McNemar test (McNemar 1947, Psychometrika 12, 153-157). Where
    the patterns are too many to count, p = (b + 1)/(resamples + 1) over random ones, b of which reach it: never an
    impossible 0 (Phipson and Smyth 2010, arXiv 1603.05766). The interval is a bootstrap of the difference by prompts.

    Raises DataError where the numbers of prompts differ or are 0.
    """
    if len(first_PN) != len(second_PN):
        raise DataError(message("a paired comparison needs the same prompts for both",
                                got=f"{len(first_PN)} and {len(second_PN)} prompts",
                                expected="equal numbers in equal order",
                                remedy="evaluate both models on the same rows"))
    differences = [a - b for a, b in zip(_prompt_means(first_PN), _prompt_means(second_PN), strict=True)]
    rng = random.Random(seed)
    interval = _bootstrap_mean(differences, confidence, resamples, rng)
    p_value, exact = _sign_flip_p(differences, resamples, rng)
    return PairedComparison(math.fsum(differences) / len(differences), interval, p_value, exact)


def _sign_flip_p(differences: Sequence[float], resamples: int, rng: random.Random) -> tuple[float, bool]:
    """Differences of one size are exchangeable: only how many of them turn positive matters, a binomial number."""
    rounded = [round(d, GROUPING_DIGITS) for d in differences]
    sizes = Counter(map(abs, rounded))
    del sizes[0.0]  # a prompt on which the two agree says nothing
    seen = abs(math.fsum(rounded)) - 1e-9  # the same sum reached by multiplication differs in its last bits
    if math.prod(count + 1 for count in sizes.values()) <= MAX_EXACT_OUTCOMES:
        extreme = sum(math.prod(map(math.comb, sizes.values(), positive))
                      for positive in itertools.product(*(range(count + 1) for count in sizes.values()))
                      if abs(_signed_sum(sizes, positive)) >= seen)
        return extreme / 2 ** sizes.total(), True
    draws = ([rng.getrandbits(count).bit_count() for count in sizes.values()] for _ in range(resamples))
    reached = sum(abs(_signed_sum(sizes, positive)) >= seen for positive in draws)
    return (reached + 1) / (resamples + 1), False


def _signed_sum(sizes: Counter[float], num_positive: Sequence[int]) -> float:
    return math.fsum(size * (2 * positive - count)
                     for (size, count), positive in zip(sizes.items(), num_positive, strict=True))


def _bootstrap_mean(values: Sequence[float], confidence: float, resamples: int, rng: random.Random) -> Interval:
    if resamples < 1:
        raise DataError(message("a bootstrap needs resamples", got=resamples, expected="at least 1, better 1000",
                                remedy="raise resamples"))
    tail = (1 - _checked_confidence(confidence)) / 2
    means = sorted(math.fsum(rng.choices(values, k=len(values))) / len(values) for _ in range(resamples))
    return Interval(_quantile(means, tail), _quantile(means, 1 - tail))


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Linear between order statistics (type 7 of Hyndman and Fan 1996)."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def _prompt_means(scores_PN: Sequence[Sequence[float]]) -> list[float]:
    if not scores_PN or not all(scores_PN):
        raise DataError(message("an evaluation needs prompts, each with scored samples",
                                got=f"{len(scores_PN)} prompts, {sum(map(operator.not_, scores_PN))} without samples",
                                expected="one score a prompt or more", remedy="leave out prompts whose scoring failed"))
    return [_mean(scores) for scores in scores_PN]


def _mean(scores: Sequence[float]) -> float:
    mean = math.fsum(scores) / len(scores)
    if not math.isfinite(mean):
        raise DataError(message("a score is not a finite number", got=list(scores)[:8], expected="numbers in [0, 1]",
                                remedy="leave out samples whose scoring failed"))
    return mean


def _check_k(num_samples: int, k: int, name: str) -> None:
    if not 1 <= k <= num_samples:
        raise DataError(message(f"{name} cannot be estimated", got=f"k={k} of {num_samples} samples",
                                expected="1 <= k <= samples", remedy="sample more answers a prompt, or lower k"))


def _checked_confidence(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise DataError(message("a confidence is out of range", got=confidence, expected="between 0 and 1",
                                remedy="give 0.95 for 95 %"))
    return confidence
