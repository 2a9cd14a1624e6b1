"""The engines of a run as actors: they start, die, take weights, join and leave. What they are asked is `pool`'s."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import ray

from reasongym.errors import EngineError, message
from reasongym.rollout.present import Present
from reasongym.rollout.requests import EngineSettings
from reasongym.rollout.seat import Placement, Seat, reason_of

__all__ = ["SHORT_WAIT_S", "Crew"]

SHORT_WAIT_S = 1.0
HEALTH_TIMEOUT_S = 30.0


class Crew(ABC):
    """One engine a placement, with its own of `settings` or the same for all.

    An engine that dies is started anew, up to `restarts` times in each place. Where a trainer feeds the engines, a new
    one serves once it has the present weights: `feedable` and `newcomers` give the handles that can take them, and
    `serve` is told who has. Engines join and leave while a run goes on; their numbers are never used again. on_loss is
    told why one was lost, in the thread that found out.

    One thread may submit and take while another replaces, feeds, adds and removes engines; only this one ends an engine
    that leaves, so that none is ended in the middle of a transfer.
    """

    def __init__(self, settings: EngineSettings | Sequence[EngineSettings], placements: Sequence[Placement], *,
                 start_timeout_s: float, restarts: int, on_loss: Callable[[str], None]) -> None:
        each = [settings] * len(placements) if isinstance(settings, EngineSettings) else settings
        self.call_timeout_s, self.num_replaced = start_timeout_s, 0
        self._restarts, self._on_loss = restarts, on_loss
        self._lock = threading.RLock()
        self._given_up: dict[int, str] = {}
        self._vacated: list[tuple[EngineSettings, Placement]] = []
        self._fed = any(one.transport for one in each)
        self._next_index = 0
        self._ending: list[tuple[Any, Any]] = []
        self.seats: list[Seat] = []
        for one, placement in zip(each, placements, strict=True):
            self._seat(one, placement)

    @abstractmethod
    def _start(self, settings: EngineSettings, index: int, placement: Placement) -> Any:
        """A new engine's handle, at once."""

    @abstractmethod
    def _release(self, seat: Seat) -> None:
        """The engine there answers nothing any more: what it was asked is asked of others."""

    @property
    def engines(self) -> list[Any]:
        """The handles of the present engines."""
        return [seat.handle for seat in self.seats]

    @property
    def idle_share(self) -> float:
        """Of the engines, those with nothing to sample."""
        seats = self.seats
        return sum(not seat.load for seat in seats) / max(len(seats), 1)

    @property
    def serving(self) -> bool:
        """Whether there is an engine that may be asked."""
        return any(seat.open for seat in self.seats)

    @property
    def present(self) -> list[Present]:
        """What is told of each engine, in the order of their numbers."""
        with self._lock:
            return [seat.present for seat in self.seats]

    @property
    def given_up(self) -> dict[int, str]:
        """Engines that were added and never served, with why."""
        with self._lock:
            return dict(self._given_up)

    def told_of(self, handles: Sequence[Any]) -> list[Present]:
        """Of each of these engines, in their order; EngineError where one is gone."""
        of_handle = {id(seat.handle): seat.present for seat in self.seats}
        if any(id(handle) not in of_handle for handle in handles):
            raise EngineError(message("an engine is gone", got="it died before the weights were sent",
                                      expected="an engine that takes them", remedy="--resume goes on"))
        return [of_handle[id(handle)] for handle in handles]

    def wait_ready(self) -> None:
        """Block until every engine answers. Raises EngineError with the engine's own reason, or at the deadline."""
        self.call("ready", what="start")

    def call(self, method: str, *arguments: Any, what: str | None = None, handles: Sequence[Any] | None = None,
             timeout_s: float | None = None) -> list[Any]:
        """Call a method on every engine, or on `handles`, and wait for all answers, at most `start_timeout_s`."""
        limit = timeout_s or self.call_timeout_s
        answers = [getattr(handle, method).remote(*arguments)
                   for handle in (self.engines if handles is None else handles)]
        try:
            return list(ray.get(answers, timeout=limit))
        except ray.exceptions.GetTimeoutError as error:
            raise EngineError(message(f"the engines did not {what or method} in time",
                                      got=f"no answer in {limit:.0f} s", expected="an answer from each",
                                      remedy="raise rollout.start_timeout_s, or look at Ray's logs")) from error
        except ray.exceptions.RayError as error:
            ended, _ = ray.wait(answers, num_returns=len(answers), timeout=0)
            failed = next((reason for answer in ended if (reason := reason_of(answer))), str(error))
            raise EngineError(message(f"an engine failed to {what or method}", got=failed,
                                      expected="a vLLM engine that answers",
                                      remedy="`reasongym doctor`; smaller rollout.kv_cache_gib or max_new_tokens")
                              ) from error

    def feedable(self, watch: Callable[[], None] = lambda: None) -> list[Any]:
        """The handles of the engines that can take weights now, newcomers apart; waits for the first where there is
        none.

        watch is called every second of that, and may raise. Raises EngineError where none is ready in time, or one has
        died too often.
        """
        deadline = time.monotonic() + self.call_timeout_s
        while True:
            with self._lock:
                self._hear_of_starts()
                settled = [seat for seat in self.seats if not seat.joining]
                able = [seat for seat in settled if seat.serving or seat.starting is None]
                starting = [seat.starting for seat in settled if seat.starting is not None]
            if not starting or not all(seat.leaving for seat in able):
                return [seat.handle for seat in able]
            if time.monotonic() > deadline:
                raise EngineError(message("no engine was started anew in time", expected="one that is ready",
                                          got=f"none in {self.call_timeout_s:.0f} s",
                                          remedy="raise rollout.start_timeout_s"))
            watch()
            ray.wait(starting, timeout=SHORT_WAIT_S)

    def newcomers(self) -> list[Any]:
        """The handles of engines that were added, are ready, and have not had weights yet."""
        with self._lock:
            return [seat.handle for seat in self.seats if seat.joining and not seat.leaving and seat.starting is None]

    def serve(self, handles: Sequence[Any], version: int = 0) -> None:
        """These engines hold the present weights, of `version`. One that was replaced meanwhile is not among the pool's
        any more."""
        with self._lock:
            for seat in self._seats_of(handles):
                seat.serving, seat.joining, seat.version = True, False, version

    def replace_dead(self, handles: Sequence[Any]) -> bool:
        """After a transfer to `handles` failed: whether one of them has died.

        Then all of them are started anew, for none is sure to be whole. EngineError where one has died too often.
        """
        present = self.engines
        answers = [handle.ready.remote() for handle in handles if any(handle is its for its in present)]
        answered, _ = ray.wait(answers, num_returns=len(answers), timeout=HEALTH_TIMEOUT_S) if answers else ([], [])
        reasons = [reason_of(answer) if answer in answered else "it does not answer" for answer in answers]
        reason = next(filter(None, reasons), "it died in a transfer" if len(answers) < len(handles) else "")
        if reason:
            for seat in self._seats_of(handles):
                self._lose(seat, seat.handle, reason)
        return bool(reason)

    def add(self, settings: Sequence[EngineSettings], placements: Sequence[Placement]) -> list[int]:
        """Start more engines; their numbers. They join as `newcomers`, or without a trainer when they are ready."""
        with self._lock:
            added = [self._seat(one, placement) for one, placement in zip(settings, placements, strict=True)]
            for seat in added:
                seat.serving, seat.joining, seat.starting = False, True, seat.handle.ready.remote()
            return [seat.index for seat in added]

    def leave(self, indices: Iterable[int], *, within_s: float) -> None:
        """These engines are asked nothing more, and end when they have answered all, or after `within_s`: what they
        have not answered then is asked of others, under the same seeds. `settle` carries it out."""
        with self._lock:
            for seat in self.seats:
                if seat.index in set(indices) and not seat.leaving:
                    seat.leaving, seat.leave_by = True, time.monotonic() + within_s

    def settle(self) -> None:
        """End the engines that leave and may, and hear of those that have started. EngineError as `feedable`."""
        with self._lock:
            self._hear_of_starts()
            for seat in self.seats:
                if seat.leaving and (not seat.load or time.monotonic() >= seat.leave_by):
                    self._end(seat)

    def give_up(self, handles: Sequence[Any], reason: str) -> None:
        """Newcomers that cannot be used."""
        with self._lock:
            for seat in self._seats_of(handles):
                self._give_up(seat, reason)

    def vacated(self) -> list[tuple[EngineSettings, Placement]]:
        """The places that were given up since the last call, with what was there."""
        with self._lock:
            vacated, self._vacated = self._vacated, []
            return vacated

    def retire(self) -> None:
        """Nothing is asked of the engines any more: they begin to end, and `close` waits for that."""
        with self._lock:
            retired, self.seats = self.seats, []
            for seat in retired:
                handle, seat.handle = seat.handle, None  # as in `_end`: nobody starts another in its place
                self._ending.append((handle, handle.shutdown.remote()))

    def close(self, timeout_s: float = 20.0) -> None:
        """End the engines and vLLM's processes; what does not end by itself in time is killed."""
        self.retire()
        ending, self._ending = self._ending, []
        ray.wait([answer for _, answer in ending], num_returns=len(ending), timeout=timeout_s)
        for handle, _ in ending:
            ray.kill(handle)

    def _seat(self, settings: EngineSettings, placement: Placement) -> Seat:
        handle = self._start(settings, self._next_index, placement)
        seat = Seat(self._next_index, settings, placement, handle, self._restarts)
        self._next_index += 1
        self.seats = [*self.seats, seat]  # a new list: another thread may be reading the old one
        return seat

    def _seats_of(self, handles: Sequence[Any]) -> list[Seat]:
        return [seat for seat in self.seats if any(seat.handle is handle for handle in handles)]

    def _lose(self, seat: Seat, handle: Any, reason: str) -> None:
        """Start another engine in its place, unless that is done, and keep what it was asked. One that has not served
        yet, or leaves, has no other."""
        with self._lock:
            if seat.handle is not handle:
                return
            if seat.joining or seat.leaving:
                self._give_up(seat, reason)
                return
            if not seat.restarts_left:
                raise EngineError(message(f"engine {seat.index} failed while sampling", got=reason,
                                          expected="a completion", remedy="resume with --resume; if it fails at the "
                                          "same step, lower rollout.max_num_seqs"))
            self._on_loss(f"engine {seat.index} is lost and is started anew: {reason}")
            self.num_replaced += 1
            ray.kill(handle)
            self._release(seat)
            seat.restarts_left, seat.serving, seat.load, seat.listening = seat.restarts_left - 1, False, 0, None
            seat.handle = self._start(seat.settings, seat.index, seat.placement)
            seat.starting, seat.since = seat.handle.ready.remote(), time.monotonic()

    def _hear_of_starts(self) -> None:
        """Engines that were started anew or added are ready, or died again, or take too long."""
        for seat in self.seats:
            if seat.starting is None:
                continue
            if ray.wait([seat.starting], timeout=0)[0]:
                starting, seat.starting = seat.starting, None
                if reason := reason_of(starting):
                    self._lose(seat, seat.handle, reason)
            elif time.monotonic() - seat.since > self.call_timeout_s:
                self._lose(seat, seat.handle, f"it is not ready after {self.call_timeout_s:.0f} s "
                                              "(rollout.start_timeout_s)")
        if not self._fed:
            for seat in self.seats:
                seat.serving, seat.joining = seat.starting is None, seat.joining and seat.starting is not None

    def _give_up(self, seat: Seat, reason: str) -> None:
        left = "left early" if seat.leaving else "is given up"
        self._on_loss(f"engine {seat.index} {left}: {reason}")
        if not seat.leaving:
            self._given_up[seat.index] = reason
        self._end(seat)

    def _end(self, seat: Seat) -> None:
        """The place is gone. What a thread still hears of its engine finds the handle changed."""
        handle, seat.handle = seat.handle, None
        self.seats = [other for other in self.seats if other is not seat]
        self._vacated.append((seat.settings, seat.placement))
        self._release(seat)
        seat.serving, seat.load, seat.listening = False, 0, None
        ray.kill(handle)
