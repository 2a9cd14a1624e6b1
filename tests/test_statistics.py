"""Evaluation statistics against numbers worked out by hand, and against slow twins that count every case."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reasongym.errors import DataError
from reasongym.evaluation import avg_at_k, bootstrap_interval, compare_paired, maj_at_k, pass_at_k, wilson_interval

BITS = st.sampled_from([0.0, 1.0])
relaxed = settings(deadline=None)  # on a busy machine one example may take long
ANSWERS = st.lists(st.sampled_from([None, "a", "b", "c"]), min_size=1, max_size=8)


def majority_by_counting(answers: list[str | None], scores: dict[str, float], k: int) -> float:
    """Every draw of k, every tied winner."""
    total, draws = 0.0, list(itertools.combinations(answers, k))
    for draw in draws:
        cast = [answer for answer in draw if answer is not None]
        winners = {answer for answer in cast if cast.count(answer) == max(map(cast.count, cast))}
        total += sum(scores[answer] for answer in winners) / len(winners) if winners else 0.0
    return total / len(draws)


def binomial(n: int, c: int, p: float) -> float:
    return math.comb(n, c) * p**c * (1 - p) ** (n - c)


def sign_flip_by_counting(differences: list[float]) -> float:
    seen = abs(sum(differences)) - 1e-9
    sums = [sum(signed) for signed in itertools.product(*((-d, d) for d in differences))]
    return sum(abs(total) >= seen for total in sums) / len(sums)


def test_pass_at_k_of_hand_worked_cases() -> None:
    # 4 samples, 2 correct, 2 drawn: 6 pairs, 1 of them without a correct one: 5/6
    assert pass_at_k(4, 2, 2) == pytest.approx(5 / 6)
    # k = 1 is the share of correct ones
    assert pass_at_k(10, 3, 1) == pytest.approx(0.3)
    # only 1 wrong one: any 2 drawn hold a correct one, exactly
    assert pass_at_k(3, 2, 2) == 1.0
    assert pass_at_k(5, 0, 5) == 0.0


@relaxed
@given(st.integers(1, 9), st.data())
def test_pass_at_k_agrees_with_every_draw(n: int, data: st.DataObject) -> None:
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    draws = list(itertools.combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, draws)) / len(draws))


def test_pass_at_k_of_many_samples_is_finite() -> None:
    # 1 - C(9990, 5000)/C(10000, 5000) = 1 - prod_{i=9991}^{10000} (1 - 5000/i), about 1 - 2^-10
    assert pass_at_k(10_000, 10, 5_000) == pytest.approx(1 - 2**-10, abs=1e-5)


@pytest.mark.parametrize(("n", "c", "k"), [(4, 2, 5), (4, 2, 0), (4, 5, 2), (4, -1, 2), (0, 0, 1)])
def test_pass_at_k_refuses_impossible_numbers(n: int, c: int, k: int) -> None:
    with pytest.raises(DataError):
        pass_at_k(n, c, k)


@relaxed
@given(st.integers(1, 12), st.floats(0.0, 1.0), st.data())
def test_pass_at_k_is_unbiased(n: int, p: float, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, n))
    # over all that n samples may turn out to be, its mean is the chance of a right one among k new samples
    mean = math.fsum(binomial(n, c, p) * pass_at_k(n, c, k) for c in range(n + 1))
    assert mean == pytest.approx(1 - (1 - p) ** k, abs=1e-12)


@relaxed
@given(st.integers(1, 9), st.floats(0.0, 1.0), st.data())
def test_maj_at_k_is_unbiased(n: int, p: float, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, n))
    # two answers, the right one with chance p: the majority of k new samples, half a point for a tie
    wanted = math.fsum(binomial(k, c, p) * (1.0 if 2 * c > k else 0.5 if 2 * c == k else 0.0) for c in range(k + 1))
    mean = math.fsum(binomial(n, c, p) * maj_at_k(["a"] * c + ["b"] * (n - c), [1.0] * c + [0.0] * (n - c), k)
                     for c in range(n + 1))
    assert mean == pytest.approx(wanted, abs=1e-12)


def test_avg_at_k_rests_on_all_samples_and_never_on_fewer_than_k() -> None:
    assert avg_at_k([1.0, 0.0, 0.5, 0.5], 2) == 0.5
    with pytest.raises(DataError, match="k=5 of 4"):
        avg_at_k([1.0, 0.0, 0.5, 0.5], 5)


def test_maj_at_k_of_a_hand_worked_case() -> None:
    # a a b, right is a. Draws of 2: aa (a wins), ab and ab (tie, half each): (1 + 1/2 + 1/2)/3 = 2/3
    assert maj_at_k(["a", "a", "b"], [1.0, 1.0, 0.0], 2) == pytest.approx(2 / 3)
    # the whole sample is one draw, and a has its majority
    assert maj_at_k(["a", "a", "b"], [1.0, 1.0, 0.0], 3) == 1.0


def test_unreadable_answers_cast_no_vote() -> None:
    # three unreadable ones would outvote the one right answer if None were an answer
    assert maj_at_k([None, None, None, "a"], [0.0, 0.0, 0.0, 1.0], 4) == 1.0
    assert maj_at_k([None, None], [0.0, 0.0], 2) == 0.0


@relaxed
@given(ANSWERS, st.data())
def test_maj_at_k_agrees_with_every_draw(answers: list[str | None], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(answers)))
    by_answer = {answer: data.draw(BITS) for answer in "abc"}
    scores = [by_answer[answer] if answer else 0.0 for answer in answers]
    assert maj_at_k(answers, scores, k) == pytest.approx(majority_by_counting(answers, by_answer, k))


def test_maj_at_1_is_avg_at_1() -> None:
    answers, scores = ["a", "b", "a", None], [1.0, 0.0, 1.0, 0.0]
    assert maj_at_k(answers, scores, 1) == avg_at_k(scores, 1) == 0.5


def test_maj_at_k_refuses_scores_of_another_length() -> None:
    with pytest.raises(DataError, match="1 scores, 2 answers"):
        maj_at_k(["a", "b"], [1.0], 1)


def test_wilson_interval_of_hand_worked_cases() -> None:
    # z = 1.959964, z^2 = 3.841459. 0 of 10: high = z^2/(n + z^2) = 3.841459/13.841459 = 0.277533
    assert wilson_interval(0, 10) == pytest.approx((0.0, 0.277533), abs=1e-6)
    # 5 of 10: middle 1/2; half = z sqrt(0.025 + 0.00960365)/(1.3841459) = 1.959964 x 0.1860206/1.3841459 = 0.263407
    assert wilson_interval(5, 10) == pytest.approx((0.236593, 0.763407), abs=1e-6)


@relaxed
@given(st.integers(1, 2000), st.data())
def test_wilson_bounds_solve_their_equation_and_stay_in_range(n: int, data: st.DataObject) -> None:
    c = data.draw(st.integers(0, n))
    low, high = wilson_interval(c, n)
    assert 0.0 <= low <= c / n <= high <= 1.0
    # a bound q is where (c/n - q)^2 = z^2 q (1 - q)/n: the score test neither accepts nor rejects
    for bound in (low, high):
        assert (c / n - bound) ** 2 == pytest.approx(1.959964**2 * bound * (1 - bound) / n, rel=1e-4, abs=1e-9)


def test_wilson_refuses_a_count_outside_its_total() -> None:
    for c, n in ((1, 0), (3, 2), (-1, 2)):
        with pytest.raises(DataError):
            wilson_interval(c, n)


@pytest.mark.parametrize("n", [20, 100, 1319])
@pytest.mark.parametrize("p", [0.02, 0.5, 0.98])
def test_wilson_covers_what_it_says_exactly_and_in_10000_draws(n: int, p: float) -> None:
    covers = [low <= p <= high for low, high in (wilson_interval(c, n) for c in range(n + 1))]
    logs = [math.lgamma(n + 1) - math.lgamma(c + 1) - math.lgamma(n - c + 1) + c * math.log(p)
            + (n - c) * math.log(1 - p) for c in range(n + 1)]  # p**1319 itself is 0 in floating point
    exact = math.fsum(math.exp(log) for log, inside in zip(logs, covers, strict=True) if inside)
    assert 0.94 <= exact <= 0.96
    rng = random.Random(n)
    drawn = rng.choices(covers, weights=list(map(math.exp, logs)), k=10_000)
    # the share of 10,000 draws has a standard error of sqrt(0.95 x 0.05/10000) = 0.22 points; 4 of them
    assert sum(drawn) / 10_000 == pytest.approx(exact, abs=0.0088)


def test_the_bootstrap_by_prompts_covers_nearly_what_it_says_where_samples_singly_would_not() -> None:
    rng = random.Random(1)
    clustered = single = 0
    for _ in range(200):
        # 60 prompts, each with a chance of its own around a half, 8 samples
        chances = [rng.random() for _ in range(60)]
        scores = [[float(rng.random() < chance) for _ in range(8)] for chance in chances]
        low, high = bootstrap_interval(scores, resamples=200, seed=rng.getrandbits(32))
        clustered += low <= 0.5 <= high
        singly = wilson_interval(round(sum(map(sum, scores))), 480)
        single += singly.low <= 0.5 <= singly.high
    # standard error of a share of 200 near 0.95: 1.5 points
    assert 0.90 <= clustered / 200 <= 0.99
    assert single / 200 < 0.85


def test_bootstrap_draws_prompts_not_samples() -> None:
    # 100 prompts, half all right and half all wrong, 16 samples each. By prompts the standard error is
    # sqrt(0.25/100) = 0.05, so 95 % is about 0.5 -+ 0.098; by samples it would be sqrt(0.25/1600): -+ 0.0245.
    low, high = bootstrap_interval([[1.0] * 16] * 50 + [[0.0] * 16] * 50)
    assert low == pytest.approx(0.402, abs=0.012)
    assert high == pytest.approx(0.598, abs=0.012)


def test_bootstrap_weighs_every_prompt_the_same() -> None:
    # one prompt with 30 right samples and one with 1 wrong one: the means are 1 and 0, so resampled means are 0, 1/2, 1
    assert bootstrap_interval([[1.0] * 30, [0.0]], resamples=400) == (0.0, 1.0)


def test_bootstrap_is_repeatable_and_of_its_seed() -> None:
    scores = [[i % 7 / 7, i % 3 / 3] for i in range(40)]
    assert bootstrap_interval(scores, resamples=200, seed=1) == bootstrap_interval(scores, resamples=200, seed=1)
    assert bootstrap_interval(scores, resamples=200, seed=1) != bootstrap_interval(scores, resamples=200, seed=2)


def test_a_wider_confidence_gives_a_wider_interval() -> None:
    scores = [[float(i % 2)] for i in range(60)]
    narrow, wide = (bootstrap_interval(scores, confidence=c, resamples=500) for c in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.high < wide.high
    with pytest.raises(DataError, match="95"):
        bootstrap_interval(scores, confidence=95)


def test_statistics_refuse_prompts_without_samples_and_scores_that_are_not_numbers() -> None:
    for scores in ([], [[1.0], []], [[math.nan]], [[1.0], [math.inf]]):
        with pytest.raises(DataError):
            bootstrap_interval(scores, resamples=10)


def test_paired_test_is_mcnemar_on_single_samples() -> None:
    # 9 prompts only the first solves, 1 only the second, 30 alike: 2 (C(10,0) + C(10,1))/2^10 = 22/1024 on both sides
    first = [[1.0]] * 9 + [[0.0]] + [[1.0]] * 30
    second = [[0.0]] * 9 + [[1.0]] + [[1.0]] * 30
    result = compare_paired(first, second)
    assert result.p_value == 22 / 1024
    assert result.exact
    assert result.difference == pytest.approx(8 / 40)
    assert result.interval.low < 8 / 40 < result.interval.high


def test_prompts_on_which_both_agree_change_nothing_of_p() -> None:
    # as above, with so many alike that counting them would pass the 100,000 outcomes counted
    result = compare_paired([[1.0]] * 9 + [[0.0]] * 20_001, [[0.0]] * 9 + [[1.0]] + [[0.0]] * 20_000, resamples=2)
    assert (result.p_value, result.exact) == (22 / 1024, True)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=9))
def test_paired_test_agrees_with_every_sign_pattern(pairs: list[tuple[int, int]]) -> None:
    first, second = [[a / 3] for a, _ in pairs], [[b / 3] for _, b in pairs]
    expected = sign_flip_by_counting([(a - b) / 3 for a, b in pairs])
    assert compare_paired(first, second, resamples=1).p_value == pytest.approx(expected)


def test_sampled_sign_patterns_agree_with_counted_ones() -> None:
    # 17 differences of 17 sizes: 2^17 patterns, above the 100,000 that are counted
    differences = [(i + 1) / 64 * (-1 if i % 3 == 0 else 1) for i in range(17)]
    result = compare_paired([[d] for d in differences], [[0.0]] * 17, resamples=20_000)
    assert not result.exact
    # the sampling error of p near 0.2 over 20,000 patterns is sqrt(0.2 x 0.8/20000) = 0.003; 5 of them
    assert result.p_value == pytest.approx(sign_flip_by_counting(differences), abs=0.015)


def test_equal_models_are_never_different() -> None:
    scores = [[1.0], [0.0], [0.5]]
    result = compare_paired(scores, scores)
    assert result.p_value == 1.0
    assert result.interval == (0.0, 0.0)


def test_paired_test_refuses_other_prompts() -> None:
    with pytest.raises(DataError, match="1 and 2 prompts"):
        compare_paired([[1.0]], [[1.0], [0.0]])
