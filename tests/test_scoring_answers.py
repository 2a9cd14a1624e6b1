"""The queue of answers: what is joined to what, what counts as waiting, and that nobody's future is forgotten."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from pathlib import Path

import pytest
from scoring_pools import PoolOf, own_pools, row, wait_until

from reasongym.errors import DataError, ScoringError
from reasongym.scoring import answers
from reasongym.scoring.answers import AnswerQueue, Verdicts
from reasongym.scoring.cache import VerdictCache
from reasongym.verifiers import Status, Verdict

RIGHT = {"a": Verdict.correct()}
pool_of = pytest.fixture(own_pools)


def queue(size: int = 100, *, cache: int = 100) -> AnswerQueue:
    return AnswerQueue(size, VerdictCache(cache))


def finish_all(waiting: AnswerQueue, futures: list[Future[Verdicts]], verdicts: Verdicts = RIGHT) -> int:
    """Checks until all are done; how many checks that took."""
    checks = 0
    while not all(future.done() for future in futures):
        for job in waiting.take(1):
            waiting.finish(job, verdicts)
            checks += 1
    return checks


def test_equal_answers_in_flight_are_checked_once(pool_of: PoolOf, tmp_path: Path) -> None:
    pool = pool_of("counted", workers=2)
    log, gate = tmp_path / "log", tmp_path / "gate"
    futures = [pool.submit(str(gate), row(str(log))) for _ in range(8)]
    wait_until(log.exists)
    futures += [pool.submit(str(gate), row(str(log))) for _ in range(8)]  # while it is being checked
    gate.touch()
    assert [future.result(60)["counted"].score for future in futures] == [1.0] * 16
    assert log.read_text() == "."
    assert (pool.num_cached, pool.counts[Status.CORRECT]) == (15, 16)


def test_equal_answers_share_a_failure_that_is_then_forgotten() -> None:
    waiting = queue()
    futures = [waiting.put(b"x") for _ in range(3)]
    assert finish_all(waiting, futures, {"a": Verdict.timeout("killed")}) == 1
    assert {future.result()["a"].status for future in futures} == {Status.TIMEOUT}
    assert finish_all(waiting, [waiting.put(b"x")]) == 1, "a failure of one moment is no answer for the next"


def test_one_taker_leaves_the_others_their_share() -> None:
    waiting = queue()
    for number in range(10):
        waiting.put(str(number).encode())
    assert [len(waiting.take(32, among=4)) for _ in range(4)] == [3, 2, 2, 1]  # of 10, 7, 5 and 3
    assert [len(waiting.take(32, among=1))] == [2]


def test_nothing_is_shared_where_nothing_is_remembered() -> None:
    waiting = queue(cache=0)
    assert finish_all(waiting, [waiting.put(b"x") for _ in range(3)]) == 3
    assert waiting.num_shared == 0


def test_who_gives_up_takes_no_one_elses_verdict_along() -> None:
    waiting = queue()
    first, second, third = (waiting.put(b"x") for _ in range(3))
    assert first.cancel()
    (job,) = waiting.take(1)
    assert not second.cancel(), "it is being checked"
    late = waiting.put(b"x")
    assert not late.cancel(), "one that joins a running check is running too"
    waiting.finish(job, RIGHT)
    assert [future.result() for future in (second, third, late)] == [RIGHT] * 3
    assert waiting.counts[Status.CORRECT] == 3


def test_an_answer_that_everyone_gave_up_is_not_checked() -> None:
    waiting = queue(2)
    for future in (waiting.put(b"x"), waiting.put(b"x")):
        future.cancel()
    other = threading.Timer(0.05, lambda: waiting.put(b"y"))
    other.start()  # put blocks until `take` has thrown the others out, then `take` finds it
    assert [job.frame for job in waiting.take(5)] == [b"y"]


def test_those_who_wait_for_an_equal_answer_fill_the_queue_too() -> None:
    """A million equal lines behind an endless one would otherwise be a million futures."""
    waiting = queue(3)
    waiting.put(b"x")
    (job,) = waiting.take(1)
    for _ in range(3):
        waiting.put(b"x")
    blocked = threading.Thread(target=waiting.put, args=(b"x",), daemon=True)
    blocked.start()
    blocked.join(0.1)
    assert blocked.is_alive()
    waiting.finish(job, {"a": Verdict.timeout("killed")})  # not remembered: the next is let in for want of others alone
    blocked.join(30)
    assert not blocked.is_alive()
    assert waiting.num_shared == 3


def test_a_batch_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MAX_BATCH_BYTES", 10)
    waiting = queue()
    for frame in (b"1" * 6, b"2" * 6, b"3" * 30, b"4", b"5"):
        waiting.put(frame)
    assert [[job.frame[:1] for job in waiting.take(9)] for _ in range(4)] == [[b"1"], [b"2"], [b"3"], [b"4", b"5"]]


def test_each_gets_a_dictionary_of_its_own() -> None:
    waiting = queue()
    futures = [waiting.put(b"x") for _ in range(2)]
    finish_all(waiting, futures)
    futures[0].result().clear()
    assert futures[1].result() == waiting.put(b"x").result() == RIGHT


def test_a_closed_queue_lets_go_of_everyone() -> None:
    waiting = queue(1)
    running = waiting.put(b"x")
    (job,) = waiting.take(1)
    left = waiting.put(b"y")
    waiting.close()
    assert left.cancelled()
    assert waiting.take(1) == []
    with pytest.raises(ScoringError, match="closed"):
        waiting.put(b"z")
    waiting.fail(job, DataError("why"))
    with pytest.raises(DataError, match="why"):
        running.result(0)


def test_what_is_given_back_comes_first_and_can_still_be_joined() -> None:
    waiting = queue()
    futures = [waiting.put(frame) for frame in (b"a", b"b", b"c", b"d")]
    first, *others = waiting.take(3)
    waiting.give_back(others)
    futures.append(waiting.put(b"b"))
    assert not futures[1].cancel(), "it was begun once"
    taken = waiting.take(9)
    assert [job.frame for job in taken] == [b"b", b"c", b"d"]
    for job in (first, *taken):
        waiting.finish(job, RIGHT)
    assert [future.result(0) for future in futures] == [RIGHT] * 5
    assert waiting.num_shared == 1


def test_what_is_given_back_counts_as_waiting() -> None:
    waiting = queue(2)
    for frame in (b"a", b"b"):
        waiting.put(frame)
    waiting.give_back(waiting.take(2))
    blocked = threading.Thread(target=waiting.put, args=(b"c",), daemon=True)
    blocked.start()
    blocked.join(0.1)
    assert blocked.is_alive()
    for job in waiting.take(2):
        waiting.finish(job, RIGHT)
    blocked.join(30)
    assert not blocked.is_alive()


@pytest.mark.parametrize("is_closed_first", [True, False])
def test_what_is_given_back_to_a_closed_queue_is_left_without_a_verdict_by_nobody(is_closed_first: bool) -> None:
    waiting = queue()
    future = waiting.put(b"a")
    jobs = waiting.take(1)
    if is_closed_first:
        waiting.close()
    waiting.give_back(jobs)
    if not is_closed_first:
        waiting.close()
    with pytest.raises(ScoringError, match="closed"):
        future.result(0)


def test_long_texts_are_not_remembered() -> None:
    cache = VerdictCache(10)
    cache.put(b"long", {"a": Verdict.wrong("x" * 60_000)})
    cache.put(b"short", {"a": Verdict.wrong("x")})
    assert (b"long" in cache, b"short" in cache) == (False, True)
