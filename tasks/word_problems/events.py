"""What may happen after a story: each event is one more step on what the main person has."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from reasongym.tasks.word_problems.story import Story, count, plural

__all__ = ["add_events"]

_SMALLEST, _LARGEST = 4, 4000


class _Event(NamedTuple):
    """A sentence, the lead of its worked line, and the operation on what is held."""

    sentence: str
    lead: str
    operation: str
    operand: int


_Maker = Callable[[Story, int, str], _Event]
"""(story, amount held, plural unit) -> event. Divisions are drawn first and dropped where they leave a remainder."""


def add_events(story: Story, holds: str, how_many: int) -> None:
    """Append that many events to the story, no kind twice in a row, and the question that then fits."""
    makers = _THINGS if holds == "things" else _MONEY
    last: _Maker | None = None
    for _ in range(how_many):
        makers_left = [maker for maker in makers if maker is not last]
        last = _append(story, makers_left)
    # A wage or a harvest says nothing of what was there before, so the question leaves that out.
    story.ask(f"Counting only what is told here, how many {plural(story.unit)} does {story.name} have now?")


def _append(story: Story, makers: list[_Maker]) -> _Maker:
    held, unit = story.result, story.unit
    while True:  # ends: each list has an addition and a subtraction, and one of them always fits
        maker = story.pick(*makers)
        event = maker(story, held, plural(unit))
        divides = event.operation != "/" or held % event.operand == 0
        after = {"+": held + event.operand, "-": held - event.operand, "*": held * event.operand,
                 "/": held // event.operand}[event.operation]
        if divides and _SMALLEST <= after <= max(held, _LARGEST):
            story.say(event.sentence)
            story.step(event.lead, held, event.operation, event.operand, unit)
            return maker


def _some(story: Story, held: int) -> int:
    return story.number(2, max(2, min(60, held - _SMALLEST)))


def _gift(s: Story, held: int, units: str) -> _Event:
    k = s.number(2, 40)
    return _Event(f"then {s.friend} gives {s.name} {k} more {units}.", f"with the gift {s.name} has", "+", k)


def _drawer(s: Story, held: int, units: str) -> _Event:
    k = s.number(2, 25)
    return _Event(f"later {s.name} finds another {k} {units} in a cupboard.", f"with those found {s.name} has", "+", k)


def _give_away(s: Story, held: int, units: str) -> _Event:
    k = _some(s, held)
    return _Event(f"after that, {s.name} gives {k} {units} to {s.friend}.", f"after the present {s.name} has", "-", k)


def _spoiled(s: Story, held: int, units: str) -> _Event:
    k = _some(s, held)
    return _Event(f"sadly, {k} of the {units} get lost.", f"after the loss {s.name} has", "-", k)


def _half(s: Story, held: int, units: str) -> _Event:
    return _Event(f"{s.name} then hands half of the {units} to a neighbor.", f"{s.name} keeps", "/", 2)


def _boxes(s: Story, held: int, units: str) -> _Event:
    d = s.number(3, 8)
    return _Event(f"{s.name} sorts the {units} equally into {d} boxes and keeps only one of the boxes.",
                  "the kept box holds", "/", d)


def _double(s: Story, held: int, units: str) -> _Event:
    return _Event(f"the next day {s.name} gets as many {units} again as {s.she} already has.",
                  f"after doubling {s.name} has", "*", 2)


def _triple(s: Story, held: int, units: str) -> _Event:
    return _Event(f"over the following month, the number of {units} {s.name} has triples.",
                  f"after that month {s.name} has", "*", 3)


def _earn(s: Story, held: int, units: str) -> _Event:
    k = s.number(5, 60)
    job = s.pick("mowing a lawn", "walking the dogs of a neighbor", "washing cars", "tidying a garage")
    return _Event(f"{s.name} then earns {s.money(k)} for {job}.", f"with the pay {s.name} has", "+", k)


def _sell(s: Story, held: int, units: str) -> _Event:
    k = s.number(3, 45)
    thing = s.pick("an old bicycle lamp", "a used book", "a lamp", "a board game", "an old radio")
    return _Event(f"{s.name} sells {thing} for {s.money(k)}.", f"after the sale {s.name} has", "+", k)


def _spend(s: Story, held: int, units: str) -> _Event:
    k = _some(s, held)
    thing = s.pick("lunch", "a train ticket", "a pair of gloves", "groceries", "a museum visit")
    return _Event(f"after that, {s.name} spends {s.money(k)} on {thing}.", f"after paying {s.name} has", "-", k)


def _lend(s: Story, held: int, units: str) -> _Event:
    k = _some(s, held)
    return _Event(f"{s.name} lends {s.money(k)} to {s.friend}.", f"after lending some {s.name} has", "-", k)


def _save(s: Story, held: int, units: str) -> _Event:
    return _Event(f"{s.name} puts half of the money into a savings account and keeps the rest.",
                  f"{s.name} keeps", "/", 2)


def _share(s: Story, held: int, units: str) -> _Event:
    d = s.number(3, 6)
    return _Event(f"{s.name} shares all the money with {count(d - 1, 'cousin')}, and each of the {d} gets the same.",
                  f"{s.name} is left with", "/", d)


def _match(s: Story, held: int, units: str) -> _Event:
    return _Event(f"{s.her} aunt then doubles the money that {s.name} has.", f"after that {s.name} has", "*", 2)


_THINGS: tuple[_Maker, ...] = (_gift, _drawer, _give_away, _spoiled, _half, _boxes, _double, _triple)
_MONEY: tuple[_Maker, ...] = (_earn, _sell, _spend, _lend, _save, _share, _match)
