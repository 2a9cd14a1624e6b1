"""Single answers that a worker is sent before it has answered the ones in front of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from scoring_pools import RULES, PoolOf, as_one_batch, own_pools, row

from reasongym.errors import ScoringError
from reasongym.scoring import process
from reasongym.scoring import slot as slot_module
from reasongym.scoring.answers import Verdicts
from reasongym.scoring.process import WorkerProcess, make_setup
from reasongym.scoring.protocol import Channel, encode_answer
from reasongym.scoring.slot import AHEAD_BYTES, MOST_IN_TURN, TURN_S, Slot
from reasongym.verifiers import Status

SlotOf = Callable[..., Slot]
pool_of = pytest.fixture(own_pools)


@pytest.fixture
def slot_of() -> Iterator[SlotOf]:
    """A started slot for these verifiers."""
    slots: list[Slot] = []

    def start(*names: str, timeout_s: float = 30.0) -> Slot:
        setup = make_setup([f"{RULES}:{name}" for name in names], memory_mib=512, timeout_s=timeout_s)
        slots.append(Slot(setup, names, timeout_s=timeout_s, start_timeout_s=60.0))
        slots[-1].start()
        return slots[-1]

    yield start
    for slot in slots:
        slot.close()


def turn(slot: Slot, *responses: str, reference: str = "right") -> dict[int, Verdicts]:
    """By their places, those that got their verdicts."""
    found: dict[int, Verdicts] = {}
    slot.check([encode_answer(response, row(reference)) for response in responses], found.__setitem__)
    return found


def check(slot: Slot, *responses: str, reference: str = "right") -> list[Verdicts]:
    """As a pool does: what one turn leaves comes with the next."""
    found: list[Verdicts] = []
    while len(found) < len(responses):
        taken = turn(slot, *responses[len(found):], reference=reference)
        assert list(taken) == list(range(len(taken))) != [], "one after another, and never none"
        found += taken.values()
    return found


def test_each_answer_gets_its_own_verdict_in_every_part(slot_of: SlotOf) -> None:
    found = check(slot_of("same", "told"), "right", "a", "b", "right")
    assert [verdicts["same"].score for verdicts in found] == [1.0, 0.0, 0.0, 1.0]
    told = [verdicts["told"].extracted or "" for verdicts in found]
    assert [text.split(",")[0] for text in told] == ["('right'", "('a'", "('b'", "('right'"]


def test_an_answer_that_hangs_is_killed_alone_and_those_behind_it_are_checked(slot_of: SlotOf) -> None:
    slot = slot_of("same", "hang", timeout_s=2.0)
    found = check(slot, "right", "hang", "b", "hang", "c")
    assert [verdicts["hang"].status for verdicts in found] == [
        Status.CORRECT, Status.TIMEOUT, Status.CORRECT, Status.TIMEOUT, Status.CORRECT]
    assert all(verdicts["same"].status in (Status.CORRECT, Status.WRONG) for verdicts in found)
    assert slot.num_replaced == 2


def test_an_answer_that_brings_its_worker_down_does_so_for_none_behind_it(slot_of: SlotOf) -> None:
    slot = slot_of("raises_or_dies")
    statuses = [verdicts["raises_or_dies"].status for verdicts in check(slot, "a", "die", "b", "raise", "c")]
    assert statuses == [Status.CORRECT, Status.ERROR, Status.CORRECT, Status.ERROR, Status.CORRECT]
    assert slot.num_replaced == 1


def test_a_worker_that_is_out_of_memory_checks_nothing_more_of_what_it_was_sent(slot_of: SlotOf,
                                                                                tmp_path: Path) -> None:
    """It would be checked twice, first by what the memory ran out of."""
    slot, note = slot_of("noted"), tmp_path / "note"
    found = check(slot, "a", "memory", "b", "c", reference=str(note))
    assert [verdicts["noted"].status for verdicts in found] == [
        Status.CORRECT, Status.ERROR, Status.CORRECT, Status.CORRECT]
    assert note.read_text() == "a memory b c "
    assert slot.num_replaced == 1


@pytest.mark.parametrize("text", ["x", "[]", "{}", '{"verdicts":[],"seconds":0,"retire":false}',
                                  '{"verdicts":[{"score":1}],"seconds":0,"retire":false}',
                                  '{"verdicts":7,"seconds":0,"retire":false}',
                                  '{"verdicts":[{"score":1,"status":"correct","extracted":null,"reason":""}]}',
                                  '{"verdicts":[7],"seconds":0,"retire":false}',
                                  pytest.param("[" * 100_000, id="deep"),
                                  pytest.param(f'{{"verdicts":[],"seconds":1{"0" * 400},"retire":0}}', id="long")])
def test_what_is_no_record_is_an_error_of_the_answer_that_sent_it_alone(slot_of: SlotOf, text: str) -> None:
    slot = slot_of("same", "scribbles")
    found = check(slot, "right", f"send {text}", "b")
    assert [verdicts["scribbles"].status for verdicts in found] == [Status.CORRECT, Status.ERROR, Status.CORRECT]
    assert "what is no record" in found[1]["scribbles"].reason
    assert [verdicts["same"].score for verdicts in found] == [1.0, 0.0, 0.0]
    assert slot.num_replaced == 1


def test_those_behind_an_answer_that_costs_the_worker_are_left_for_others(slot_of: SlotOf,
                                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slot_module, "TURN_S", 60.0)
    assert list(turn(slot_of("raises_or_dies"), "a", "die", "b", "c")) == [0, 1]


def test_a_slow_turn_ends_with_what_was_sent_ahead(slot_of: SlotOf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slot_module, "TURN_S", 0.0)
    long = "x" * (AHEAD_BYTES * 2 // 5)  # two of them are sent ahead
    assert list(turn(slot_of("told"), *[long] * 6)) == [0, 1, 2]


def test_a_worker_that_cannot_be_replaced_costs_one_answer_of_a_turn(pool_of: PoolOf, tmp_path: Path,
                                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    pool = pool_of("raises_or_dies")
    (slot,) = pool._slots
    start, failures = slot.start, iter([True, True])  # once when it is to be ready early, once when it is needed

    def failing() -> WorkerProcess:
        if next(failures, False):
            raise ScoringError("no more processes")
        return start()

    monkeypatch.setattr(slot, "start", failing)
    monkeypatch.setattr(slot, "appetite", lambda most: 4)
    found = [verdicts["raises_or_dies"] for verdicts in as_one_batch(pool, tmp_path / "gate", ["a", "die", "b", "c"])]
    assert [verdict.status for verdict in found] == [Status.CORRECT, Status.ERROR, Status.ERROR, Status.CORRECT]
    assert "exited with status 3" in found[1].reason
    assert "no worker could check it: ScoringError: no more processes" in found[2].reason


@pytest.mark.parametrize("response", ["die", "hang"])
def test_a_worker_that_cannot_be_killed_costs_one_answer_and_not_the_pools_thread(
        pool_of: PoolOf, tmp_path: Path, response: str) -> None:
    pool, kill = pool_of("raises_or_dies", timeout_s=3.0), WorkerProcess.kill
    (slot,) = pool._slots

    def stubborn(worker: WorkerProcess) -> None:
        kill(worker)
        raise ScoringError("a verifier worker could not be killed")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slot, "appetite", lambda most: 4)
        patch.setattr(WorkerProcess, "kill", stubborn)
        found = [verdicts["raises_or_dies"] for verdicts in as_one_batch(pool, tmp_path / "gate", ["a", response, "b"])]
    assert [verdict.status for verdict in found] == [Status.CORRECT, Status.ERROR, Status.CORRECT]
    assert "could not be killed" in found[1].reason


def test_answers_larger_than_what_is_sent_ahead_block_nobody(slot_of: SlotOf) -> None:
    long = "x" * (AHEAD_BYTES * 3 // 4)
    found = check(slot_of("told"), *[f"{long}{number}" for number in range(6)], "short")
    assert all(verdicts["told"].status is Status.WRONG for verdicts in found)
    assert len({verdicts["told"].extracted for verdicts in found[-2:]}) == 2


@pytest.mark.parametrize(("room_bytes", "frames"), [(process.SEND_BYTES, [6]), (1, [2, 2, 2])])
def test_nothing_is_sent_ahead_through_a_socket_without_room(slot_of: SlotOf, monkeypatch: pytest.MonkeyPatch,
                                                             room_bytes: int, frames: list[int]) -> None:
    """The pool would wait for a worker that waits for the pool to read its verdicts."""
    monkeypatch.setattr(process, "SEND_BYTES", room_bytes)
    slot, send, sent = slot_of("same"), Channel.send, list[int]()

    def counting(channel: Channel, *parts: bytes, deadline: float | None = None) -> None:
        sent.append(len(parts))
        send(channel, *parts, deadline=deadline)

    monkeypatch.setattr(Channel, "send", counting)
    check(slot, "x" * 30_000, "y" * 30_000, "z" * 30_000)
    assert sent == frames


def test_only_answers_that_are_quickly_checked_are_taken_together(slot_of: SlotOf,
                                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    slot, now = slot_of("hang", timeout_s=0.3), time.monotonic()
    assert slot.appetite(32) == 1, "nothing is known of their time yet"
    with monkeypatch.context() as patch:
        patch.setattr(slot_module, "time", SimpleNamespace(monotonic=lambda: now))
        slot._timeout_s = 30.0
        for _ in range(100):
            check(slot, "quick")
    assert slot.appetite(1) == MOST_IN_TURN
    slot._timeout_s = 0.3
    check(slot, "hang")
    assert slot.appetite(32) == 1
    slot._answer_s = 4 * TURN_S
    turn(slot, "quick")
    assert slot.appetite(32) == 1, "one quick answer does not make the slow one forgotten"
