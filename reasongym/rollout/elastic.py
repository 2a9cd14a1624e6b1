"""Engines join and leave while a run goes on, as its user asks: see `orders`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from reasongym.errors import EngineError, ResourceError, SyncError, TrainerError
from reasongym.rollout.crew import Crew
from reasongym.rollout.orders import Answer, Order, OrderBook, Roster
from reasongym.rollout.present import Present
from reasongym.rollout.requests import EngineSettings
from reasongym.rollout.seat import Placement

__all__ = ["Elastic", "Feed", "Room"]

EVERY_S = 1.0

Feed = Callable[[Sequence[Any]], None]
"""Gives the present weights to the engines of these handles, checked as sync.verify says, and has them serve."""


class Room(Protocol):
    """Where more engines can be."""

    def take(self, settings: EngineSettings) -> Placement:
        """Raises ResourceError where there is no room for such an engine."""

    def give_back(self, settings: EngineSettings, placement: Placement) -> None:
        """An engine of these settings is not there any more."""


class Elastic:
    """Carries out orders. groups: one engine's settings of each group. fixed: why this run's engines cannot change,
    else empty. tell: shown to the run's user.

    An engine that is added is fed apart from the others: one that cannot take the weights is given up, and harms none.
    """

    def __init__(self, crew: Crew, book: OrderBook, room: Room, groups: Sequence[EngineSettings], *, fixed: str,
                 tell: Callable[[str], None]) -> None:
        self._crew, self._book, self._room, self._tell = crew, book, room, tell
        self._groups, self._fixed = list(groups), fixed
        self._next = 0.0

    def attend(self, feed: Feed, version: int) -> None:
        """What there is to do, at most once a second: in the thread that feeds, while the ranks rest and hold the
        weights of `version`. Raises EngineError where an engine has died too often."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + EVERY_S
        for name, order in self._book.take():
            answer = self._done(order)
            self._tell(f"engines asked for: {order.add} to add, {order.remove} to remove; "
                       f"{answer.refused or 'engines ' + ', '.join(map(str, answer.engines))}")
            with contextlib.suppress(ResourceError):  # what ends a run for a full disk is a record that it needs
                self._book.answer(name, answer)
        self._crew.settle()
        self._welcome(feed)
        for settings, placement in self._crew.vacated():
            self._room.give_back(settings, placement)
        roster = Roster(version=version, engines=tuple(self._crew.present), given_up=self._crew.given_up)
        with contextlib.suppress(ResourceError):
            self._book.show(roster)

    def _done(self, order: Order) -> Answer:
        group = self._group(order.label)
        if self._fixed or isinstance(group, str):
            return Answer(refused=self._fixed or str(group))
        return self._add(order.add, group) if order.add else self._remove(order, group)

    def _group(self, label: str | None) -> EngineSettings | str:
        """The settings of the group meant, or why none is."""
        if len(self._groups) == 1 and label is None:
            return self._groups[0]
        labels = [group.label for group in self._groups]
        if (label or "") in labels:
            return self._groups[labels.index(label or "")]
        return (f"no group of engines has the label {label}" if label else "the run has several groups of engines") + \
            f"; there are: {', '.join(name or '(none)' for name in labels)}"

    def _add(self, count: int, settings: EngineSettings) -> Answer:
        taken: list[Placement] = []
        try:
            for _ in range(count):
                taken.append(self._room.take(settings))
        except ResourceError as error:
            for placement in taken:
                self._room.give_back(settings, placement)
            return Answer(refused=" ".join(str(error).split()))
        return Answer(engines=tuple(self._crew.add([settings] * count, taken)))

    def _remove(self, order: Order, settings: EngineSettings) -> Answer:
        """The newest leave first: those that do not serve yet, then those that were added last."""
        there = [one for one in self._crew.present if one.state != "leaving"]
        able = [one for one in there if one.label == settings.label]
        if order.remove > len(able):
            return Answer(refused=f"{len(able)} engines of that group are there, and {order.remove} were to go")
        leaving = {one.index for one in sorted(able, key=_goes_first)[:order.remove]}
        if not any(one.state == "serving" for one in there if one.index not in leaving):
            return Answer(refused="no engine would be left that serves")
        self._crew.leave(leaving, within_s=order.finish_s)
        return Answer(engines=tuple(sorted(leaving)))

    def _welcome(self, feed: Feed) -> None:
        newcomers = self._crew.newcomers()
        if not newcomers:
            return
        try:
            feed(newcomers)
        except (EngineError, SyncError, TrainerError) as error:  # a rank that has died fails the next transfer too
            self._crew.give_up(newcomers, " ".join(str(error).split())[:500])


def _goes_first(one: Present) -> tuple[bool, int]:
    return one.state == "serving", -one.index
