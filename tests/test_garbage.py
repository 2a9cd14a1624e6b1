"""What a run asks of the collector of garbage."""

from __future__ import annotations

import gc
import weakref

import pytest

from reasongym.training.garbage import settled


class Knot:
    """Refers to itself."""

    def __init__(self) -> None:
        self.itself = self


def test_what_is_there_is_passed_over_and_what_comes_later_is_not() -> None:
    with settled():
        assert gc.get_freeze_count() > 1000
        later = weakref.ref(Knot())
        gc.collect()
        assert later() is None


def test_garbage_from_before_is_not_kept_for_the_whole_run() -> None:
    before = weakref.ref(Knot())
    with settled():
        assert before() is None


def test_a_run_that_fails_leaves_the_collector_as_it_was() -> None:
    with pytest.raises(ZeroDivisionError), settled():
        raise ZeroDivisionError
    assert gc.get_freeze_count() == 0
