"""`reasongym engines` and the files by which it asks a running trainer: nothing is done that its user took back."""

from __future__ import annotations

import fcntl
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner, Result

from reasongym.cli import cli, engines
from reasongym.errors import ConfigError, DataError, EngineError
from reasongym.rollout import orders
from reasongym.rollout.orders import Answer, Order, OrderBook, Roster, answer_of, place_order, read_roster, withdraw
from reasongym.rollout.present import Present


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A run that goes on: its lock is held."""
    monkeypatch.setattr(orders, "POLL_S", 0.01)
    monkeypatch.setattr(engines, "LOOK_EVERY_S", 0.01)
    (tmp_path / "config.yaml").write_text("steps: 3\n")
    with (tmp_path / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield tmp_path


def order(**more: object) -> Order:
    return Order(**({"add": 1, "until": time.time() + 60} | more))  # type: ignore[arg-type]


def called(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["engines", *arguments])


def serving(*numbers: int) -> tuple[Present, ...]:
    return tuple(Present(number, "", 1, "serving", 4, 3) for number in numbers)


def trainer(run: Path, answer: Answer, *rosters: Roster) -> Callable[[], None]:
    """Answers the first order, then writes one roster after another. What is called ends it."""
    book, over = OrderBook(run), threading.Event()

    def serve() -> None:
        while not over.wait(0.005):
            for name, _ in book.take():
                book.answer(name, answer)
                for roster in rosters:
                    over.wait(0.02)
                    book.show(roster)

    thread = threading.Thread(target=serve)
    thread.start()
    return lambda: (over.set(), thread.join(10))[1]


# The files


def test_an_order_that_was_taken_back_is_not_carried_out(run: Path) -> None:
    book = OrderBook(run)
    name = place_order(run, order())
    assert withdraw(run, name)
    assert book.take() == []
    assert not withdraw(run, name)


def test_an_order_that_was_taken_up_cannot_be_taken_back_and_is_taken_up_once(run: Path) -> None:
    book = OrderBook(run)
    name = place_order(run, order(add=2))
    assert [(found, one.add) for found, one in book.take()] == [(name, 2)]
    assert book.take() == []
    assert not withdraw(run, name)
    assert answer_of(run, name, until=0.0) is None
    book.answer(name, Answer(engines=(1, 2)))
    assert answer_of(run, name, until=0.0) == Answer(engines=(1, 2))
    assert list((run / "engines").iterdir()) == []


def test_an_order_that_comes_too_late_or_is_none_is_refused(run: Path) -> None:
    book = OrderBook(run)
    late = place_order(run, order(until=time.time() - 1))
    (run / "engines" / "order-mine.json").write_text('{"add": 1, "remove": 2, "until": 9e9}')
    assert book.take() == []
    refused = [answer_of(run, name, until=0.0) for name in (late, "mine")]
    assert [answer.refused for answer in refused if answer] == ["the order came too late", "the file is not an order"]


def test_a_trainer_that_begins_anew_neither_repeats_an_order_nor_shows_engines_of_before(run: Path) -> None:
    book = OrderBook(run)
    name = place_order(run, order())
    book.take()
    book.show(Roster(engines=serving(0, 1)))
    again = OrderBook(run)
    assert again.take() == []
    assert read_roster(run) is None
    with pytest.raises(EngineError, match="the order was lost"):
        answer_of(run, name, until=0.0)


def test_the_list_of_engines_is_written_where_it_changes_only(run: Path) -> None:
    book, path = OrderBook(run), run / "engines" / "present.json"
    book.show(Roster(engines=serving(0), given_up={1: "no memory"}))
    assert read_roster(run) == Roster(engines=serving(0), given_up={1: "no memory"})
    path.unlink()
    book.show(Roster(engines=serving(0), given_up={1: "no memory"}))
    assert not path.exists()


# The command


def test_added_engines_are_waited_for_until_they_serve(run: Path) -> None:
    starting = Present(1, "", 1, "starting", 0, 3)
    end = trainer(run, Answer(engines=(1,)), Roster(engines=(*serving(0), starting)), Roster(engines=serving(0, 1)))
    done = called(str(run), "--add", "1")
    end()
    assert (done.exit_code, done.output.splitlines()) == (0, ["engines 1 start", "engines 1 serve"])


def test_removed_engines_are_waited_for_until_they_are_gone(run: Path) -> None:
    leaving = Present(1, "", 1, "leaving", 0, 3)
    end = trainer(run, Answer(engines=(1,)), Roster(engines=(*serving(0), leaving)), Roster(engines=serving(0)))
    done = called(str(run), "--remove", "1")
    end()
    assert (done.exit_code, done.output.splitlines()) == (0, ["engines 1 leave", "engines 1 have left"])


def test_an_engine_that_was_given_up_is_not_said_to_serve(run: Path) -> None:
    end = trainer(run, Answer(engines=(1,)), Roster(engines=serving(0), given_up={1: "no memory"}))
    done = called(str(run), "--add", "1")
    end()
    assert isinstance(done.exception, EngineError)
    assert "1: no memory" in str(done.exception)


def test_what_the_trainer_refuses_is_the_users_mistake(run: Path) -> None:
    end = trainer(run, Answer(refused="no engine would be left that serves"))
    done = called(str(run), "--remove", "1")
    end()
    assert isinstance(done.exception, ConfigError)
    assert "no engine would be left" in str(done.exception)


def test_an_order_that_nobody_takes_up_is_taken_back(run: Path) -> None:
    done = called(str(run), "--add", "1", "--timeout", "0.05")
    assert isinstance(done.exception, EngineError)
    assert "the order was taken back" in str(done.exception)
    assert list((run / "engines").iterdir()) == []


def test_engines_that_take_too_long_are_said_to_be_on_their_way(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    late = [0.0]  # seconds; the order is answered long before its time is over
    clock = SimpleNamespace(time=lambda: time.time() + late[0], sleep=lambda _: late.__setitem__(0, 61.0))
    monkeypatch.setattr(engines, "time", clock)
    end = trainer(run, Answer(engines=(1,)))
    done = called(str(run), "--add", "1", "--timeout", "60")
    end()
    assert isinstance(done.exception, EngineError)
    assert "engines 1 are on their way" in str(done.exception)


def test_the_engines_are_listed(run: Path) -> None:
    OrderBook(run).show(Roster(engines=(*serving(0), Present(3, "cheap", 2, "leaving", 4, 1)), given_up={2: "no room"}))
    lines = called(str(run)).output.splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["0", "serving", "4", "1", "3", "-"], ["3", "leaving", "4", "2", "1", "cheap"],
        ["2", "given", "up:", "no", "room"]]


@pytest.mark.parametrize(("arguments", "error", "text"), [
    (("--add", "1", "--remove", "1"), ConfigError, "one thing at a time"),
    (("--list", "--add", "1"), ConfigError, "one thing at a time"),
    (("--add", "5000"), ConfigError, "at most 1024"),
])
def test_nonsense_is_refused(run: Path, arguments: tuple[str, ...], error: type[Exception], text: str) -> None:
    done = called(str(run), *arguments)
    assert isinstance(done.exception, error)
    assert text in str(done.exception)
    assert not (run / "engines").exists()


@pytest.mark.parametrize("arguments", [("--add", "0"), ("--remove", "-1"), ("--finish", "-1"), ("--timeout", "0")])
def test_numbers_that_mean_nothing_are_refused(run: Path, arguments: tuple[str, ...]) -> None:
    assert called(str(run), *arguments).exit_code == 2


def test_a_run_that_has_ended_is_not_asked(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("steps: 3\n")
    (tmp_path / "ended.json").write_text(json.dumps({"state": "finished"}))
    for folder in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(DataError):
            raise called(str(folder), "--add", "1").exception or AssertionError
    assert not (tmp_path / "engines").exists()
