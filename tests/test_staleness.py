"""Bounded staleness: no group is trained on later than its bound, none is dropped, and nothing stands still."""

from __future__ import annotations

import heapq
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reasongym.rollout.staleness import StalenessGate


def admit_all(gate: StalenessGate) -> list[int]:
    tickets = []
    while gate.may_admit():
        tickets.append(gate.admit())
    return tickets


def test_without_a_bound_sampling_and_training_take_turns() -> None:
    gate = StalenessGate(batch=2, bound=0, version=0)
    assert admit_all(gate) == [0, 1]
    gate.end(1)
    assert gate.take() is None
    gate.end(0)
    assert gate.take() == [1, 0]
    assert admit_all(gate) == [], "these would be trained on one version too late"
    gate.advance(1)
    assert admit_all(gate) == [2, 3]


def test_one_version_behind_lets_one_batch_be_sampled_while_another_is_trained_on() -> None:
    gate = StalenessGate(batch=2, bound=1, version=5)
    assert admit_all(gate) == [0, 1, 2, 3]
    for ticket in (2, 3):
        gate.end(ticket)
    assert gate.take() == [2, 3]
    assert admit_all(gate) == []
    gate.advance(6)
    assert admit_all(gate) == [4, 5]
    for ticket in (4, 5, 0):
        gate.end(ticket)
    assert gate.take() is None, "0 and 1 began under version 5: now is the last time"
    gate.end(1)
    assert gate.take() == [0, 1]


def test_groups_with_little_time_left_are_not_crowded_out_two_versions_early() -> None:
    """With a bound of 2 and batches of 2: were 4 and 5 taken at version 1, four groups of version 0 would be left for
    version 2, which has room for two."""
    gate = StalenessGate(batch=2, bound=2, version=0)
    assert admit_all(gate) == [0, 1, 2, 3, 4, 5]
    for ticket in (0, 1):
        gate.end(ticket)
    assert gate.take() == [0, 1]
    gate.advance(1)
    assert admit_all(gate) == [6, 7]
    for ticket in (6, 7):
        gate.end(ticket)
    assert gate.take() is None
    for ticket in (5, 2):
        gate.end(ticket)
    assert gate.take() == [5, 2]


def test_a_dropped_group_makes_room_for_another() -> None:
    gate = StalenessGate(batch=1, bound=0, version=0)
    gate.end(gate.admit())
    gate.drop(0)
    assert gate.take() is None
    gate.end(gate.admit())
    assert gate.take() == [1]


def test_misuse_is_an_error() -> None:
    gate = StalenessGate(batch=1, bound=0, version=0)
    gate.end(gate.admit())
    with pytest.raises(RuntimeError, match="twice"):
        gate.end(0)
    with pytest.raises(RuntimeError, match="in time"):
        gate.admit()


def simulate(*, batch: int, bound: int, steps: int, seed: int, failures: float = 0.0) -> list[int]:
    """Runs with random, long-tailed durations; a failure begins a group's sampling anew under its old ticket. Staleness
    of every group trained on, in order. Fails where nothing could go on."""
    draw = random.Random(f"{batch}/{bound}/{seed}")
    gate = StalenessGate(batch=batch, bound=bound, version=0)
    now, version, training_until, begun = 0.0, 0, None, {}
    in_flight: list[tuple[float, int]] = []
    staleness: list[int] = []
    while version < steps:
        for ticket in admit_all(gate):
            begun[ticket] = version
            heapq.heappush(in_flight, (now + draw.paretovariate(1.1), ticket))
        if training_until is None and (chosen := gate.take()) is not None:
            staleness += [version - begun.pop(ticket) for ticket in chosen]
            training_until = now + draw.uniform(0.0, 3.0)
            continue
        next_end = in_flight[0][0] if in_flight else float("inf")
        assert in_flight or training_until is not None, "everything waits for something else"
        if training_until is not None and training_until <= next_end:
            now, training_until, version = training_until, None, version + 1
            gate.advance(version)
            continue
        now, ticket = heapq.heappop(in_flight)
        if draw.random() < failures:
            heapq.heappush(in_flight, (now + draw.paretovariate(1.1), ticket))
        else:
            gate.end(ticket)
    assert len(begun) <= (bound + 1) * batch
    return staleness


def test_ten_thousand_steps_with_long_tails_and_failures_never_pass_the_bound() -> None:
    staleness = simulate(batch=4, bound=2, steps=10_000, seed=0, failures=0.05)
    assert len(staleness) == 40_000
    assert max(staleness) == 2
    assert set(staleness) == {0, 1, 2}


@given(batch=st.integers(1, 6), bound=st.integers(0, 5), seed=st.integers(0, 10_000),
       failures=st.sampled_from([0, 0.3]))
@settings(max_examples=60, deadline=None)
def test_any_batch_and_bound_keep_going_within_the_bound(batch: int, bound: int, seed: int, failures: float) -> None:
    staleness = simulate(batch=batch, bound=bound, steps=60, seed=seed, failures=failures)
    assert len(staleness) == 60 * batch
    assert max(staleness) <= bound
