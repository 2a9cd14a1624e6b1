"""What a user asks of a running trainer's engines, as small files in the run's folder. No Ray here.

    engines/
        present.json         the engines there are: written by the trainer where that changes
        order-<id>.json      asked, and not taken up yet
        taken-<id>.json      being carried out
        answer-<id>.json     what was done, or why it was refused

An order belongs to whoever renames its file: one that its user has withdrawn is never carried out, and one that the
trainer has taken up cannot be withdrawn.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from reasongym.errors import EngineError, message
from reasongym.files import make_folder, write_atomic
from reasongym.rollout.present import Present

__all__ = ["Answer", "Order", "OrderBook", "Roster", "answer_of", "place_order", "read_roster", "withdraw"]

FOLDER, PRESENT = "engines", "present.json"
MOST_AT_ONCE = 1024
POLL_S = 0.2


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Order(_Message):
    """Engines to add, or to remove. label: of their group; None where the run has one group. finish_s: longest time
    that an engine which is removed goes on with what it has begun. until: seconds since 1970 after which nothing is
    done."""

    add: Annotated[int, Field(ge=0, le=MOST_AT_ONCE)] = 0
    remove: Annotated[int, Field(ge=0, le=MOST_AT_ONCE)] = 0
    label: str | None = None
    finish_s: Annotated[float, Field(ge=0)] = 60.0
    until: float

    @model_validator(mode="after")
    def _one_thing(self) -> Order:
        if bool(self.add) == bool(self.remove):
            raise ValueError("an order adds engines or removes them")
        return self


class Answer(_Message):
    """engines: the numbers of those that start, or leave. refused: why nothing was done, else empty."""

    engines: tuple[int, ...] = ()
    refused: str = ""


class Roster(_Message):
    """Every engine, and those that were added and given up before they served, with why. version: of the weights."""

    version: int = 0
    engines: tuple[Present, ...] = ()
    given_up: dict[int, str] = Field(default_factory=dict)


M = TypeVar("M", bound=_Message)


class OrderBook:
    """The trainer's side. What a trainer of this run that was killed had taken up is forgotten."""

    def __init__(self, run: Path) -> None:
        self.folder = make_folder(run / FOLDER)
        self._shown: Roster | None = None
        for left in (*self.folder.glob("taken-*.json"), *self.folder.glob("answer-*.json"), self.folder / PRESENT):
            left.unlink(missing_ok=True)

    def take(self) -> list[tuple[str, Order]]:
        """Orders that have come, with the names by which they are answered; what is no order, or too late, is
        refused."""
        found = []
        for path in sorted(self.folder.glob("order-*.json")):
            name = path.stem.removeprefix("order-")
            with contextlib.suppress(OSError):  # withdrawn
                order = _read(path.rename(self._taken(name)), Order)
                if order is None:
                    self.answer(name, Answer(refused="the file is not an order"))
                elif order.until < time.time():
                    self.answer(name, Answer(refused="the order came too late"))
                else:
                    found.append((name, order))
        return found

    def answer(self, name: str, answer: Answer) -> None:
        """Raises ResourceError where it cannot be written."""
        write_atomic(self.folder / f"answer-{name}.json", answer.model_dump_json())
        self._taken(name).unlink(missing_ok=True)

    def show(self, roster: Roster) -> None:
        """Write present.json, unless it says so already. Raises ResourceError."""
        if roster != self._shown:
            write_atomic(self.folder / PRESENT, roster.model_dump_json())
            self._shown = roster

    def _taken(self, name: str) -> Path:
        return self.folder / f"taken-{name}.json"


def place_order(run: Path, order: Order) -> str:
    """The name by which `answer_of` and `withdraw` know it. Raises ResourceError where it cannot be written."""
    name = f"{time.time_ns()}-{secrets.token_hex(4)}"
    write_atomic(make_folder(run / FOLDER) / f"order-{name}.json", order.model_dump_json())
    return name


def answer_of(run: Path, name: str, *, until: float) -> Answer | None:
    """What the trainer says, waited for until then (seconds since 1970); None where it has not said anything.

    Raises EngineError where the order is gone: the trainer ended while it had it.
    """
    folder = run / FOLDER
    while True:
        # Looked for in the order in which they come, so that none is missed for having moved on meanwhile.
        waits = any((folder / f"{state}-{name}.json").exists() for state in ("order", "taken"))
        path = folder / f"answer-{name}.json"
        if (answer := _read(path, Answer)) is not None:
            path.unlink(missing_ok=True)
            return answer
        if not waits:
            raise EngineError(message("the order was lost", got="neither the order nor an answer in the run's folder",
                                      expected="an answer of the trainer", remedy="look with --list, and ask again: "
                                      "the trainer ended, or began anew, while it had the order"))
        if time.time() >= until:
            return None
        time.sleep(POLL_S)


def withdraw(run: Path, name: str) -> bool:
    """Whether the order was taken back before the trainer took it up."""
    mine = run / FOLDER / f"withdrawn-{name}.json"
    try:
        (run / FOLDER / f"order-{name}.json").rename(mine)
    except FileNotFoundError:
        return False
    mine.unlink(missing_ok=True)
    return True


def read_roster(run: Path) -> Roster | None:
    """What the trainer last wrote; None where it has written nothing."""
    return _read(run / FOLDER / PRESENT, Roster)


def _read(path: Path, kind: type[M]) -> M | None:
    """None for a file that is not there, or is nothing of the kind."""
    try:
        return kind.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
