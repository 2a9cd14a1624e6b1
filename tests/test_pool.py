"""The pool's engines come and go: requests are answered once, and no engine serves without the present weights.

The engines are Ray actors without vLLM; `test_engine` has a real one.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("ray", reason="the training stack is not installed")

from scoring_pools import wait_until

from reasongym.errors import EngineError
from reasongym.records import Completion, FinishReason, Prompt
from reasongym.rollout import pool as pool_module
from reasongym.rollout.pool import EnginePool
from reasongym.rollout.requests import EngineSettings, Request
from reasongym.tasks import Example

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("ray_here")]


class Stand:
    """Answers each request at once, but for prompts of the token 0: those never end."""

    def __init__(self, index: int) -> None:
        self.index, self.ended, self.arrived, self.told = index, [], asyncio.Event(), False

    async def ready(self) -> int:
        return self.index

    async def submit(self, requests: list[Any]) -> None:
        for number, token_ids, sampling in requests:
            if token_ids != (0,):
                self.ended.append((number, Completion(
                    token_ids=(1,), logprobs=(-1.0,), mask=(True,), versions=(0,), text="", engine=self.index,
                    finish_reason=FinishReason.STOP, seed=sampling["seed"])))
                self.arrived.set()

    async def completions(self, timeout_s: float) -> list[Any]:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.arrived.wait(), timeout_s)
        self.arrived.clear()
        ended, self.ended = self.ended, []
        return ended

    async def cancel(self) -> None: ...

    async def shutdown(self) -> None:
        self.told = True

    async def was_told_to_end(self) -> bool:
        return self.told

    async def die(self) -> None:
        os._exit(1)


PoolOf = Callable[..., EnginePool]


@pytest.fixture
def pool_of(monkeypatch: pytest.MonkeyPatch) -> Iterator[PoolOf]:
    import ray

    made: list[EnginePool] = []

    def start(settings: EngineSettings, index: int, placement: Any) -> Any:
        here = {"env_vars": {"PYTHONPATH": os.path.dirname(__file__)}}
        return ray.remote(Stand).options(num_cpus=0, max_concurrency=100, runtime_env=here).remote(index)

    def opened(engines: int, *, restarts: int = 3, transport: str | None = None) -> EnginePool:
        settings = EngineSettings(model="", dtype="float32", device="cpu", max_tokens=8, transport=transport)
        made.append(EnginePool(settings, [({}, {})] * engines, start_timeout_s=60, completion_timeout_s=60,
                               restarts=restarts))
        made[-1].wait_ready()
        return made[-1]

    monkeypatch.setattr(pool_module, "start_engine", start)
    yield opened
    for pool in made:
        pool.close()


def requests(*tokens: int) -> list[Request]:
    return [Request(key=(place, 0), max_new_tokens=1, temperature=1.0, seed=place, prompt=Prompt(
        example=Example(task="t", split="test", index=place, messages=(), reference=""), text="", token_ids=(token,)))
        for place, token in enumerate(tokens)]


def kill(handle: Any) -> None:
    import ray

    with pytest.raises(ray.exceptions.RayError):
        ray.get(handle.die.remote())


def taken(pool: EnginePool, count: int) -> list[tuple[int, int]]:
    """(request, engine) of that many completions, in the order of the requests."""
    found: list[tuple[int, int]] = []
    deadline = time.monotonic() + 60
    while len(found) < count and time.monotonic() < deadline:
        found += [(request.seed, completion.engine) for request, completion in pool.take(0.1)]
    assert len(found) == count
    return sorted(found)


def test_retired_engines_end_while_nobody_waits_and_are_gone_when_the_pool_is_closed(pool_of: PoolOf) -> None:
    import ray

    pool = pool_of(2)
    handles = pool.engines
    pool.retire()
    assert pool.engines == []
    wait_until(lambda: all(ray.get([one.was_told_to_end.remote() for one in handles])))  # and lives: it kills none
    pool.close()
    for handle in handles:
        wait_until(functools.partial(is_gone, handle))


def is_gone(handle: Any) -> bool:
    import ray

    try:
        ray.get(handle.ready.remote(), timeout=60)
    except ray.exceptions.RayActorError:
        return True
    return False



def test_what_a_dead_engine_was_asked_is_answered_once_by_another(pool_of: PoolOf) -> None:
    pool = pool_of(2, transport="shared_memory")
    pool.submit(requests(0, 0, 0, 0))  # two each, and none ends
    assert pool.take(0.1) == []
    killed = pool.engines[0]
    kill(killed)
    while pool.engines[0] is killed:
        assert pool.take(0.1) == []
    for _ in range(20):
        assert pool.take(0.1) == []
    assert [seat.serving for seat in pool.seats] == [False, True]
    assert [seat.load for seat in pool.seats] == [0, 4]
    pool.submit(requests(1, 1))
    assert taken(pool, 2) == [(0, 1), (1, 1)]


def test_a_new_engine_serves_once_it_was_fed_and_not_before(pool_of: PoolOf) -> None:
    pool = pool_of(1, transport="shared_memory")
    pool.submit(requests(0))
    killed = pool.engines[0]
    kill(killed)
    while pool.engines[0] is killed:
        pool.take(0.1)
    for _ in range(10):
        pool.take(0.1)
    pool.submit(requests(1, 1))
    assert pool.take(0.1) == []
    handles = pool.feedable()
    assert handles == pool.engines
    assert pool.take(0.1) == []
    pool.serve(handles)
    assert [engine for _, engine in taken(pool, 2)] == [0, 0]


def test_an_engine_that_was_replaced_after_it_was_fed_does_not_serve(pool_of: PoolOf) -> None:
    pool = pool_of(2, transport="shared_memory")
    fed = pool.feedable()
    pool.submit(requests(0, 0))
    kill(fed[0])
    while pool.engines[0] is fed[0]:
        pool.take(0.1)
    pool.serve(fed)
    assert [seat.serving for seat in pool.seats] == [False, True]


@pytest.mark.parametrize("found_out", [True, False])
def test_a_transfer_that_failed_for_a_death_is_made_again_with_new_engines(pool_of: PoolOf, found_out: bool) -> None:
    """Whether or not the thread that samples has replaced the dead one meanwhile."""
    pool = pool_of(2, transport="shared_memory")
    fed = pool.feedable()
    pool.submit(requests(0, 0))
    kill(fed[0])
    while found_out and pool.engines[0] is fed[0]:
        pool.take(0.1)
    assert pool.replace_dead(fed)
    assert pool.num_replaced == 2
    assert not any(handle in fed for handle in pool.engines)
    assert not pool.replace_dead(pool.feedable()), "a transfer that failed for another reason"


def test_a_death_that_two_threads_hear_of_costs_one_engine(pool_of: PoolOf) -> None:
    """One waits for completions of the old engine while the other replaces it."""
    pool = pool_of(1, transport="shared_memory")
    pool.submit(requests(0))
    fed = pool.feedable()
    taking = threading.Thread(target=pool.take, args=(20.0,))
    taking.start()
    while pool.seats[0].listening is None:
        time.sleep(0.01)
    assert not pool.replace_dead(fed)
    pool._lose(pool.seats[0], fed[0], "found by the thread that feeds")  # before the other one hears of it
    taking.join(30)
    assert not taking.is_alive()
    assert pool.num_replaced == 1


def test_without_a_trainer_a_new_engine_serves_as_soon_as_it_is_ready(pool_of: PoolOf) -> None:
    pool = pool_of(1)
    pool.submit(requests(1, 0))
    kill(pool.engines[0])
    pool.submit(requests(1, 1))
    assert len(taken(pool, 3)) == 3


def test_an_engine_that_dies_too_often_ends_the_run(pool_of: PoolOf) -> None:
    pool = pool_of(1, restarts=0)
    pool.submit(requests(0))
    kill(pool.engines[0])
    with pytest.raises(EngineError, match="engine 0 failed while sampling"):
        taken(pool, 1)
