"""Engines of several kinds join and leave a pool: who is asked what, and that each request is answered once.

The engines stand in this process; `test_pool` has real actors, `test_elastic_stack` real engines in a run.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ray", reason="the training stack is not installed")

from stand_in_ray import StandInEngine, stand_in_ray

from reasongym.errors import EngineError, ResourceError, SyncError
from reasongym.records import Prompt
from reasongym.rollout import crew, seat
from reasongym.rollout import elastic as elastic_module
from reasongym.rollout import pool as pool_module
from reasongym.rollout.dispatch import AHEAD, Backlog
from reasongym.rollout.elastic import Elastic
from reasongym.rollout.orders import Answer, Order, Roster
from reasongym.rollout.pool import EnginePool
from reasongym.rollout.requests import EngineSettings, Request
from reasongym.tasks import Example

pytestmark = pytest.mark.stack

FED, ALONE = "shared_memory", None


def settings_of(label: str = "", *, share: float = 1.0, max_num_seqs: int = 256, width: int = 1,
                transport: str | None = FED) -> EngineSettings:
    return EngineSettings(model="", dtype="float32", device="cpu", max_tokens=8, transport=transport, label=label,
                          share=share, max_num_seqs=max_num_seqs, tensor_parallel=width)


def group(row: int, size: int) -> list[Request]:
    """Requests for one prompt; each has a seed of its own."""
    prompt = Prompt(example=Example(task="t", split="test", index=row, messages=(), reference=""), text="",
                    token_ids=(row,))
    return [Request(key=(row, sample), max_new_tokens=1, temperature=1.0, seed=1000 * row + sample, prompt=prompt)
            for sample in range(size)]


def groups(count: int, size: int) -> list[Request]:
    return [request for row in range(count) for request in group(row, size)]


@pytest.fixture
def pool_of(monkeypatch: pytest.MonkeyPatch) -> Callable[..., EnginePool]:
    for module in (crew, seat, pool_module):
        monkeypatch.setattr(module, "ray", stand_in_ray())
    monkeypatch.setattr(pool_module, "start_engine", StandInEngine)

    def opened(*each: EngineSettings, restarts: int = 3, start_timeout_s: float = 60.0) -> EnginePool:
        pool = EnginePool(list(each), [({}, {})] * len(each), start_timeout_s=start_timeout_s,
                          completion_timeout_s=60.0, restarts=restarts)
        for engine in pool.engines:
            engine.start()
        return pool

    return opened


def seeds(requests: list[Request]) -> list[int]:
    return sorted(request.seed for request in requests)


def taken(pool: EnginePool) -> list[int]:
    return sorted(request.seed for request, _ in pool.take(0.0))


# Dispatch


def dealt(requests: list[Request], *engines: EngineSettings, loads: tuple[int, ...] = ()) -> list[list[Request]]:
    """What each engine gets of them."""
    seats = [SimpleNamespace(settings=one, load=load)
             for one, load in zip(engines, loads or (0,) * len(engines), strict=True)]
    backlog, got = Backlog(), {id(seat): list[Request]() for seat in seats}
    backlog.add(requests)
    while (given := backlog.next(seats)) is not None:
        seat, some = given
        seat.load += len(some)
        got[id(seat)] += some
    return list(got.values())


def test_the_answers_to_one_prompt_are_sampled_by_one_engine() -> None:
    first, second, third = dealt(groups(8, 8), *[settings_of()] * 3)
    rows = [{request.key[0] for request in some} for some in (first, second, third)]
    assert not rows[0] & rows[1] | rows[1] & rows[2] | rows[0] & rows[2]
    assert sorted(map(len, (first, second, third))) == [16, 24, 24]


@pytest.mark.parametrize(("count", "size", "engines", "most"), [
    (1, 64, 4, 16),  # one prompt would keep three of four idle
    (5, 8, 4, 12),   # a fifth group would take one engine twice as long as the others
    (3, 16, 2, 24),
])
def test_a_group_is_split_where_engines_would_wait_for_one_that_has_it_all(
        count: int, size: int, engines: int, most: int) -> None:
    got = dealt(groups(count, size), *[settings_of()] * engines)
    assert max(map(len, got)) == most


def test_an_engine_of_four_gpus_is_given_four_times_as_much() -> None:
    cheap, other, fast = dealt(groups(12, 8), settings_of(share=1), settings_of(share=1), settings_of(share=4))
    assert [len(cheap), len(other), len(fast)] == [16, 16, 64]


def test_what_an_engine_already_has_counts() -> None:
    busy, idle = dealt(groups(4, 8), settings_of(), settings_of(), loads=(32, 0))
    assert [len(busy), len(idle)] == [0, 32]


def test_no_engine_is_given_more_than_it_can_soon_sample() -> None:
    """What waits is there for whichever engine is done first, also one that joins meanwhile."""
    small, large = dealt(groups(100, 4), settings_of(max_num_seqs=4), settings_of(max_num_seqs=16))
    assert len(small) == AHEAD * 4
    assert len(large) == AHEAD * 16


def test_a_request_that_waits_goes_to_whoever_is_done(pool_of: Callable[..., EnginePool]) -> None:
    pool = pool_of(settings_of(max_num_seqs=1), settings_of(max_num_seqs=1))
    pool.submit(groups(6, 1))
    first, second = pool.engines
    assert (len(first.asked), len(second.asked)) == (2, 2)
    pool.take(0.0)  # listens
    second.answer()
    assert len(pool.take(0.0)) == 2
    pool.take(0.0)
    assert (len(first.asked), len(second.asked)) == (2, 2)


# Joining


def test_an_engine_that_joins_is_asked_nothing_before_it_has_weights(pool_of: Callable[..., EnginePool]) -> None:
    pool = pool_of(settings_of())
    assert pool.add([settings_of("cheap")], [({}, {})]) == [1]
    new = pool.engines[1]
    assert pool.newcomers() == []
    new.start()
    pool.settle()
    assert pool.newcomers() == [new]
    assert pool.feedable() == [pool.engines[0]], "a transfer to all is not risked for it"
    pool.submit(groups(4, 2))
    assert not new.asked
    pool.serve([new], version=7)
    pool.submit(groups(4, 2))
    assert new.asked
    assert pool.newcomers() == []
    assert (pool.present[1].state, pool.present[1].version) == ("serving", 7)
    assert new in pool.feedable()


def test_without_a_trainer_an_engine_that_joins_serves_when_it_is_ready(pool_of: Callable[..., EnginePool]) -> None:
    pool = pool_of(settings_of(transport=ALONE))
    pool.add([settings_of(transport=ALONE)], [({}, {})])
    pool.engines[1].start()
    pool.settle()
    assert [one.state for one in pool.present] == ["serving", "serving"]


def test_an_engine_that_cannot_start_is_given_up_and_the_run_goes_on(pool_of: Callable[..., EnginePool]) -> None:
    pool = pool_of(settings_of(), restarts=0)
    pool.add([settings_of()], [({"at": "x"}, {})])
    pool.engines[1].start(error="ValueError: no memory")
    pool.settle()
    assert [one.index for one in pool.present] == [0]
    assert pool.given_up == {1: "ValueError: no memory"}
    assert pool.vacated() == [(settings_of(), ({"at": "x"}, {}))]
    assert pool.vacated() == []


def test_an_engine_that_is_never_ready_is_given_up_at_its_deadline(pool_of: Callable[..., EnginePool]) -> None:
    pool = pool_of(settings_of(), start_timeout_s=60.0)
    pool.add([settings_of()], [({}, {})])
    pool.settle()
    assert len(pool.present) == 2
    pool.seats[1].since -= 61.0
    pool.settle()
    assert "not ready after" in pool.given_up[1]


def test_an_engine_that_was_started_anew_and_hangs_is_lost_again(pool_of: Callable[..., EnginePool]) -> None:
    pool = pool_of(settings_of(), settings_of(), restarts=1, start_timeout_s=60.0)
    pool._lose(pool.seats[0], pool.engines[0], "gone")
    pool.settle()
    pool.seats[0].since -= 61.0
    with pytest.raises(EngineError, match="not ready after"):
        pool.settle()


def test_numbers_of_engines_are_never_used_again(pool_of: Callable[..., EnginePool]) -> None:
    pool = pool_of(settings_of(), settings_of())
    pool.leave([1], within_s=0)
    pool.settle()
    assert pool.add([settings_of()], [({}, {})]) == [2]


# Leaving


def test_an_engine_that_leaves_answers_what_it_has_and_nothing_more(pool_of: Callable[..., EnginePool]) -> None:
    pool = pool_of(settings_of(), settings_of())
    stays, leaves = pool.engines
    pool.submit(groups(4, 2))
    pool.take(0.0)
    pool.leave([1], within_s=60)
    pool.settle()
    assert not leaves.dead
    assert pool.feedable() == [stays, leaves], "what it still samples is of the present policy"
    before = len(leaves.asked)
    pool.submit(group(9, 4))
    assert len(leaves.asked) == before
    leaves.answer()
    assert len(pool.take(0.0)) == before
    pool.settle()
    assert leaves.dead
    assert pool.engines == [stays]
    stays.answer()
    assert len(pool.take(0.0)) == 12 - before


def test_what_an_engine_has_not_answered_in_time_is_answered_by_others_under_the_same_seeds(
        pool_of: Callable[..., EnginePool]) -> None:
    pool = pool_of(settings_of(), settings_of())
    stays, leaves = pool.engines
    requests = groups(4, 2)
    pool.submit(requests)
    pool.take(0.0)
    leaves.answer(next(iter(leaves.asked)))
    found = taken(pool)
    pool.take(0.0)
    leaves.answer(next(iter(leaves.asked)))  # on its way when the engine's time runs out
    pool.leave([1], within_s=0)
    pool.settle()
    found += taken(pool)
    stays.answer()
    found += taken(pool)
    assert not stays.asked
    assert sorted(found) == seeds(requests)
    assert sorted(request.seed for request in requests) == sorted(set(found))


def test_what_another_thread_hears_of_an_engine_that_has_left_changes_nothing(
        pool_of: Callable[..., EnginePool]) -> None:
    pool = pool_of(settings_of(), settings_of())
    seat, handle = pool.seats[1], pool.engines[1]
    pool.submit(groups(4, 2))
    pool.take(0.0)
    (listener,) = handle.listeners
    pool.leave([1], within_s=0)
    pool.settle()
    assert pool._ended(listener, seat, handle) == []
    assert len(pool.vacated()) == 1, "one place was given up twice"
    assert (pool.num_replaced, len(pool.engines)) == (0, 1)


def test_an_engine_that_dies_while_it_leaves_is_not_started_anew(pool_of: Callable[..., EnginePool]) -> None:
    pool = pool_of(settings_of(), settings_of(), restarts=0)
    stays, leaves = pool.engines
    pool.submit(groups(4, 2))
    pool.take(0.0)
    pool.leave([1], within_s=60)
    leaves.die()
    pool.take(0.0)
    pool.take(0.0)
    assert pool.engines == [stays]
    assert len(stays.asked) == 8
    assert pool.given_up == {}


def test_weights_wait_for_an_engine_that_will_be_asked_and_not_for_one_that_leaves(
        pool_of: Callable[..., EnginePool]) -> None:
    pool = pool_of(settings_of(), settings_of())
    pool.submit(groups(4, 2))
    pool.leave([1], within_s=60)
    pool._lose(pool.seats[0], pool.engines[0], "gone")
    waited = []

    def watch() -> None:
        waited.append(pool.engines[0])
        pool.engines[0].start()

    assert pool.feedable(watch) == pool.engines
    assert waited, "weights went to the engine that leaves alone, again and again"


# Orders


class Book:
    """Orders of this test, and what was answered."""

    def __init__(self, *orders: Order) -> None:
        self.orders = [(str(number), order) for number, order in enumerate(orders)]
        self.answers: list[Answer] = []
        self.roster = Roster()

    def take(self) -> list[tuple[str, Order]]:
        orders, self.orders = self.orders, []
        return orders

    def answer(self, name: str, answer: Answer) -> None:
        self.answers.append(answer)

    def show(self, roster: Roster) -> None:
        self.roster = roster


class Rooms:
    """Room for so many engines."""

    def __init__(self, left: int) -> None:
        self.left = left

    def take(self, settings: EngineSettings) -> Any:
        if not self.left:
            raise ResourceError("no room")
        self.left -= 1
        return {"place": self.left}, {}

    def give_back(self, settings: EngineSettings, placement: Any) -> None:
        self.left += 1


def asked(pool: EnginePool, *orders: Order, room: int = 9, kinds: tuple[EngineSettings, ...] = (), fixed: str = "",
          ) -> tuple[Elastic, Book, Rooms]:
    book, rooms = Book(*orders), Rooms(room)
    elastic = Elastic(pool, book, rooms, kinds or [settings_of()], fixed=fixed,  # type: ignore[arg-type]
                      tell=lambda _: None)
    return elastic, book, rooms


def again(elastic: Elastic, pool: EnginePool, fed: list[Any] | None = None) -> None:
    """Attends at once, whenever it last did."""
    elastic._next = 0.0
    elastic.attend(lambda handles: (fed.append(handles) if fed is not None else None, pool.serve(handles, 3))[1], 3)


def order(*, add: int = 0, remove: int = 0, label: str | None = None, finish_s: float = 0.0) -> Order:
    return Order(add=add, remove=remove, label=label, finish_s=finish_s, until=time.time() + 60)


def test_engines_that_are_added_are_fed_apart_and_then_serve(pool_of: Callable[..., EnginePool]) -> None:
    pool, fed = pool_of(settings_of()), []
    elastic, book, _ = asked(pool, order(add=2))
    again(elastic, pool, fed)
    assert book.answers == [Answer(engines=(1, 2))]
    assert [one.state for one in book.roster.engines] == ["serving", "starting", "starting"]
    for engine in pool.engines[1:]:
        engine.start()
    again(elastic, pool, fed)
    assert fed == [pool.engines[1:]]
    assert [one.state for one in book.roster.engines] == ["serving"] * 3
    assert [one.version for one in book.roster.engines] == [0, 3, 3]


def test_an_engine_that_cannot_take_weights_is_given_up_and_harms_no_other(pool_of: Callable[..., EnginePool]) -> None:
    pool = pool_of(settings_of())
    elastic, book, rooms = asked(pool, order(add=1), room=1)
    again(elastic, pool)
    pool.engines[1].start()

    def failing(handles: Any) -> None:
        raise SyncError("an engine failed to load weights\n  got: nothing there")

    elastic._next = 0.0
    elastic.attend(failing, 3)
    assert [one.state for one in book.roster.engines] == ["serving"]
    assert "failed to load weights" in book.roster.given_up[1]
    assert rooms.left == 1
    assert pool.num_replaced == 0


def test_the_newest_leave_first_and_one_always_stays(pool_of: Callable[..., EnginePool]) -> None:
    pool = pool_of(settings_of(), settings_of(), settings_of())
    elastic, book, rooms = asked(pool, order(remove=3), order(remove=4), order(remove=2))
    again(elastic, pool)
    assert book.answers[0].refused == "no engine would be left that serves"
    assert "3 engines" in book.answers[1].refused
    assert book.answers[2] == Answer(engines=(1, 2))
    assert [one.index for one in book.roster.engines] == [0]
    assert rooms.left == 11


def test_engines_that_have_yet_to_serve_do_not_count_as_those_that_stay(pool_of: Callable[..., EnginePool]) -> None:
    cheap, fast = settings_of("cheap"), settings_of("fast", width=4)
    pool = pool_of(cheap)
    elastic, book, _ = asked(pool, order(add=1, label="fast"), order(remove=1, label="cheap"), kinds=(cheap, fast))
    again(elastic, pool)
    assert pool.engines[1].settings == fast
    assert book.answers[1].refused == "no engine would be left that serves"


@pytest.mark.parametrize(("label", "text"), [(None, "several groups of engines"), ("slow", "no group of engines")])
def test_an_order_that_does_not_say_which_group_is_refused(pool_of: Callable[..., EnginePool], label: str | None,
                                                           text: str) -> None:
    pool = pool_of(settings_of("cheap"))
    elastic, book, _ = asked(pool, order(add=1, label=label), kinds=(settings_of("cheap"), settings_of("fast")))
    again(elastic, pool)
    assert text in book.answers[0].refused
    assert "cheap, fast" in book.answers[0].refused
    assert len(pool.engines) == 1


def test_where_there_is_room_for_some_none_is_added_and_no_room_is_lost(pool_of: Callable[..., EnginePool]) -> None:
    pool = pool_of(settings_of())
    elastic, book, rooms = asked(pool, order(add=3), room=2)
    again(elastic, pool)
    assert "no room" in book.answers[0].refused
    assert (len(pool.engines), rooms.left) == (1, 2)


def test_engines_on_the_ranks_gpus_stay_what_they_are(pool_of: Callable[..., EnginePool]) -> None:
    pool = pool_of(settings_of(), settings_of())
    elastic, book, _ = asked(pool, order(add=1), order(remove=1), fixed="they share")
    again(elastic, pool)
    assert [answer.refused for answer in book.answers] == ["they share", "they share"]


def test_orders_are_looked_for_once_a_second_and_not_after_every_answer(
        pool_of: Callable[..., EnginePool], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [time.monotonic()]
    monkeypatch.setattr(elastic_module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    pool, looked = pool_of(settings_of()), Counter[str]()
    elastic, book, _ = asked(pool)
    take = book.take
    book.take = lambda: looked.update(["take"]) or take()  # type: ignore[method-assign]
    for _ in range(100):
        elastic.attend(lambda handles: None, 0)
    assert looked["take"] == 1
    now[0] += 1.0
    elastic.attend(lambda handles: None, 0)
    assert looked["take"] == 2


def test_of_engines_that_are_retired_none_is_started_anew(pool_of: Callable[..., EnginePool]) -> None:
    pool = pool_of(settings_of(), settings_of(), restarts=1)
    seat, handle = pool.seats[0], pool.engines[0]
    pool.retire()
    pool._lose(seat, handle, "heard of late")
    assert (pool.seats, pool.num_replaced, seat.handle) == ([], 0, None)
