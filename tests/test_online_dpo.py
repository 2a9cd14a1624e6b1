"""Which completions of a group online DPO pairs."""

from __future__ import annotations

import math
import random

import pytest

pytest.importorskip("torch")

from hypothesis import given, settings
from hypothesis import strategies as st

from reasongym.algorithms import dpo, online_dpo

pytestmark = pytest.mark.stack

rewards_lists = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), max_size=12)
relaxed = settings(deadline=None, max_examples=60)


def test_best_is_not_paired_with_worst() -> None:
    # Sorted .9 .7 .4 .1: (.9, .1) and then (.7, .4).
    assert online_dpo.pairs([0.4, 0.9, 0.1, 0.7], max_pairs=4) == [(1, 2), (3, 0)]


def test_right_answers_are_paired_with_one_wrong_answer_again_and_again() -> None:
    # Right 1, 2, 5; wrong 0, 3, 4, 6, 7: three pairs, the wrong 6 and 7 are left over.
    rewards = [0, 1, 1, 0, 0, 1, 0, 0]
    assert online_dpo.pairs(rewards, max_pairs=4) == [(1, 0), (2, 3), (5, 4)]
    assert online_dpo.pairs(rewards, max_pairs=2) == [(1, 0), (2, 3)]
    assert online_dpo.pairs([0, 0, 1, 0], max_pairs=4) == [(2, 0)]


@pytest.mark.parametrize("rewards", [[], [0.7], [0.7] * 5, [0.0, -0.0]])
def test_group_without_a_difference_makes_a_pair(rewards: list[float]) -> None:
    assert online_dpo.pairs(rewards, max_pairs=4) == []


def test_completion_in_the_middle_is_paired_with_itself() -> None:
    assert online_dpo.pairs([1, 2, 3], max_pairs=4) == [(2, 0)]
    assert online_dpo.pairs([1, 2, 2, 3], max_pairs=4) == [(3, 0)]  # the two in the middle are a tie


def slow(rewards: list[float], max_pairs: int) -> list[tuple[int, int]]:
    """The first best and the first worst of those that are left, again and again."""
    left, found = list(range(len(rewards))), []
    while left and len(found) < max_pairs:
        best = worst = left[0]
        for i in left:
            best = i if rewards[i] > rewards[best] else best
            worst = i if rewards[i] < rewards[worst] else worst
        if rewards[best] == rewards[worst]:
            break
        found.append((best, worst))
        left = [i for i in left if i not in (best, worst)]
    return found


@relaxed
@given(rewards_lists, st.integers(1, 6))
def test_pairs_differ_from_taking_the_extremes_in_turn(rewards: list[float], max_pairs: int) -> None:
    assert online_dpo.pairs(rewards, max_pairs=max_pairs) == slow(rewards, max_pairs)


@relaxed
@given(rewards_lists, st.integers(1, 6), st.integers(0, 2**31))
def test_completion_is_used_twice_or_order_changes_what_is_compared(rewards: list[float], max_pairs: int,
                                                                    seed: int) -> None:
    found = online_dpo.pairs(rewards, max_pairs=max_pairs)
    used = [index for pair in found for index in pair]
    assert len(set(used)) == len(used)
    assert all(rewards[chosen] > rewards[rejected] for chosen, rejected in found)
    shuffled = random.Random(seed).sample(rewards, len(rewards))
    assert [(rewards[a], rewards[b]) for a, b in found] == \
        [(shuffled[a], shuffled[b]) for a, b in online_dpo.pairs(shuffled, max_pairs=max_pairs)]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_reward_that_is_not_finite_is_ranked(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        online_dpo.pairs([1.0, bad], max_pairs=1)


@pytest.mark.parametrize("number", [0, -1])
def test_no_pairs_at_all_are_asked_for(number: int) -> None:
    # [:-1] would silently drop the last pair.
    with pytest.raises(ValueError, match="at least 1"):
        online_dpo.pairs([1.0, 0.0], max_pairs=number)


def test_loss_of_a_pair_depends_on_where_the_pair_came_from() -> None:
    assert online_dpo.loss is dpo.loss
