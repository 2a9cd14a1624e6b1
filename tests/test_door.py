"""A worker's own way in for weights that are only prepared."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from multiprocessing.connection import Client, Listener

import pytest

from reasongym.sync.door import Door, Visitor

DEADLINE_S = 30.0


@pytest.fixture
def opened() -> Iterator[Callable[..., Door]]:
    with ExitStack() as stack:
        def open_door(**handlers: Callable[..., None]) -> Door:
            door = Door(handlers)
            stack.callback(door.close)
            return door

        yield open_door


def test_what_is_asked_is_done_before_the_answer_comes(opened: Callable[..., Door]) -> None:
    seen: list[object] = []
    visitor = Visitor(*opened(prepare=seen.append).address)
    for bucket in ({"path": "a"}, {"path": "b"}):
        visitor.ask("prepare", bucket, timeout_s=DEADLINE_S)
        assert seen[-1] == bucket


def test_what_fails_is_raised_by_the_visitor_and_the_door_stays_open(opened: Callable[..., Door]) -> None:
    def prepare(size: int) -> None:
        if size < 0:
            raise ValueError("no such size")

    visitor = Visitor(*opened(prepare=prepare).address)
    with pytest.raises(RuntimeError, match="could not prepare new weights: ValueError: no such size"):
        visitor.ask("prepare", -1, timeout_s=DEADLINE_S)
    with pytest.raises(RuntimeError, match="KeyError"):
        visitor.ask("destroy", timeout_s=DEADLINE_S)
    visitor.ask("prepare", 1, timeout_s=DEADLINE_S)


def test_a_late_answer_is_neither_waited_for_nor_taken_for_another(opened: Callable[..., Door]) -> None:
    release = threading.Event()
    visitor = Visitor(*opened(stage=lambda: release.wait(DEADLINE_S)).address)
    try:
        with pytest.raises(TimeoutError, match="did not stage new weights"):
            visitor.ask("stage", timeout_s=0.01)
        with pytest.raises(OSError, match="closed"):  # what comes late answers no other question
            visitor.ask("stage", timeout_s=DEADLINE_S)
    finally:
        release.set()


def test_another_key_opens_nothing_and_shuts_nobody_out(opened: Callable[..., Door]) -> None:
    seen: list[int] = []
    name, key = opened(prepare=seen.append).address
    for wrong in ("00" * 32, "00", "00" * 1000):
        with pytest.raises((EOFError, OSError)):
            Visitor(name, wrong).ask("prepare", 1, timeout_s=DEADLINE_S)
    Client(bytes.fromhex(name).decode(), family="AF_UNIX").close()
    visitor = Visitor(name, key)
    visitor.connection.send_bytes(b"no question")
    visitor.connection.close()
    Visitor(name, key).ask("prepare", 2, timeout_s=DEADLINE_S)
    assert seen == [2]


def test_a_new_visitor_comes_in_when_the_last_has_left(opened: Callable[..., Door]) -> None:
    seen: list[int] = []
    door = opened(prepare=seen.append)
    for number in range(3):
        visitor = Visitor(*door.address)
        visitor.ask("prepare", number, timeout_s=DEADLINE_S)
        visitor.connection.close()
    assert seen == [0, 1, 2]


def test_a_worker_that_is_gone_is_an_error_at_once() -> None:
    name = f"\0gone-{os.getpid()}"

    def hear_the_key_and_go() -> None:
        with listener.accept() as visitor:
            visitor.recv_bytes()

    with Listener(name, family="AF_UNIX") as listener:
        worker = threading.Thread(target=hear_the_key_and_go)
        worker.start()
        visitor = Visitor(name.encode().hex(), "00" * 32)
        worker.join(DEADLINE_S)
    with pytest.raises((EOFError, OSError)):
        visitor.ask("stage", timeout_s=DEADLINE_S)
