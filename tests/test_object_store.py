"""Ray's object store holds what a step sends and answers no longer than the step: many steps leave as little as a
few."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ray", reason="the training stack is not installed")

from reasongym.errors import TrainerError
from reasongym.training.group import RankGroup
from reasongym.training.zero_rank import ZeroRank

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("ray_here")]

BLOB = 2**20  # bytes; Ray passes what is smaller than 100 kB without the store
STEPS = 150


class Echo(ZeroRank):
    """Takes and answers as much as a rank, and learns nothing."""

    def __init__(self, settings: Any, rank: int) -> None:
        self.rank = rank

    def train(self, blob: bytes) -> bytes:
        if blob.startswith(b"bad"):
            raise ValueError("bad")
        return blob


@pytest.fixture
def ranks() -> Iterator[RankGroup]:
    settings: Any = SimpleNamespace(zero=SimpleNamespace(device="cpu"), team_size=1)
    group = RankGroup(Echo, settings, [({"num_cpus": 0}, {"PYTHONPATH": os.path.dirname(__file__)})] * 2,
                      start_timeout_s=60, step_timeout_s=60)
    yield group
    group.close()


def stored_mib() -> float:
    import ray
    from ray._private.internal_api import memory_summary

    # Of this test's Ray: another one of the machine would be found by name.
    summary = memory_summary(address=ray.get_runtime_context().gcs_address, stats_only=True)
    assert "Spilled" not in summary, "a full store writes to the disk"
    return float(re.findall(r"Plasma memory usage (\d+) MiB", summary)[0])


def settled_mib(limit: float) -> float:
    """What is left once what is dropped has gone, which Ray does by and by."""
    deadline = time.monotonic() + 20
    while (found := stored_mib()) > limit and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def test_many_steps_leave_no_more_in_the_store_than_one(ranks: RankGroup) -> None:
    """The store has 200 MiB, and the steps move 600."""
    before = stored_mib()
    for step in range(STEPS):
        blob = step.to_bytes(4, "little") + os.urandom(BLOB)
        answers = ranks.scatter("train", [(blob,), (blob[::-1],)])
        assert answers == [blob, blob[::-1]]
    del answers
    assert settled_mib(before) <= before


def test_a_step_that_fails_leaves_nothing_in_the_store(ranks: RankGroup) -> None:
    """A rank's error travels with its arguments; a run that begins anew by itself would keep one step a failure."""
    before = stored_mib()
    for _ in range(5):
        with pytest.raises(TrainerError, match="bad"):
            ranks.scatter("train", [(b"bad" + os.urandom(BLOB),), (os.urandom(BLOB),)])
    assert settled_mib(before) <= before
