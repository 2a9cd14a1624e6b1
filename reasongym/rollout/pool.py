"""The engines of a run: started as Ray actors, fed by least load, completions handed over as each ends."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator, Sequence
from typing import Any

import ray

from reasongym.errors import EngineError, message
from reasongym.records import Completion
from reasongym.rollout.crew import SHORT_WAIT_S, Crew
from reasongym.rollout.dispatch import Backlog
from reasongym.rollout.requests import EngineSettings, Request
from reasongym.rollout.seat import Placement, Seat, reason_in, start_engine

__all__ = ["EnginePool"]

LISTEN_S = 30.0
"""How long an engine holds a call for completions before it answers that there is none."""
CANCEL_TIMEOUT_S = 20.0


class EnginePool(Crew):
    """A crew that is asked for completions: each request is answered once, by whichever engine, under its own seed.

    What an engine was sampling when it died, or left before it was done, is asked of the others.
    """

    def __init__(self, settings: EngineSettings | Sequence[EngineSettings], placements: Sequence[Placement], *,
                 start_timeout_s: float, completion_timeout_s: float, restarts: int = 0,
                 on_loss: Callable[[str], None] = lambda _: None) -> None:
        super().__init__(settings, placements, start_timeout_s=start_timeout_s, restarts=restarts, on_loss=on_loss)
        self.completion_timeout_s = completion_timeout_s
        self._in_flight: dict[int, tuple[Request, Seat]] = {}
        self._backlog = Backlog()
        self._unclaimed: list[tuple[Request, Completion]] = []
        self._next = 0
        self._heard = time.monotonic()

    def submit(self, requests: Sequence[Request]) -> None:
        """Dispatch the requests as `Backlog` says; they wait where no engine serves, or none has room.

        Neighbours with the same prompt are answered by one engine as far as that leaves the engines even.
        """
        with self._lock:
            if not self._in_flight:
                self._heard = time.monotonic()
            self._backlog.add(requests)
            self._dispatch()

    def take(self, timeout_s: float) -> list[tuple[Request, Completion]]:
        """Completions, in the order they ended; waits up to `timeout_s` for the first, where one is in flight.

        Raises EngineError when an engine has died too often, or nothing has ended for `completion_timeout_s`.
        """
        if self._unclaimed:
            unclaimed, self._unclaimed = self._unclaimed, []
            return unclaimed
        with self._lock:
            self._hear_of_starts()
            self._dispatch()
            for seat in self.seats:
                if seat.load and seat.listening is None:
                    seat.listening = seat.handle.completions.remote(LISTEN_S)
            listening = {seat.listening: (seat, seat.handle) for seat in self.seats if seat.listening is not None}
        if not listening and self._backlog:
            time.sleep(min(timeout_s, SHORT_WAIT_S))
        ended = [one for answer in (ray.wait(list(listening), timeout=timeout_s)[0] if listening else ())
                 for one in self._ended(answer, *listening[answer])]
        self._check_silence(bool(ended))
        return ended

    def stream(self, requests: Sequence[Request], idle: Callable[[], None] = lambda: None,
               ) -> Generator[tuple[Request, Completion], None, None]:
        """Submit, and yield each of these completions as it ends; others that end meanwhile are kept for `take`.

        idle is called where nothing ended for a second. What is still being sampled is cancelled where it raises, or
        the caller breaks off. Raises what `take` raises.
        """
        waiting = set(map(id, requests))
        others: list[tuple[Request, Completion]] = []
        self.submit(requests)
        try:
            while waiting:
                taken = self.take(SHORT_WAIT_S)
                if not taken:
                    idle()
                for request, completion in taken:
                    if id(request) in waiting:
                        waiting.remove(id(request))
                        yield request, completion
                    else:
                        others.append((request, completion))
        finally:
            self._unclaimed = others
            if waiting:
                self.cancel()

    def cancel(self) -> None:
        """Forget all that is in flight."""
        with self._lock:
            self._in_flight, self._unclaimed = {}, []
            self._backlog.clear()
            for seat in self.seats:
                seat.load = 0
            serving = [seat.handle for seat in self.seats if seat.serving]
        if serving:
            with contextlib.suppress(EngineError):  # a dead engine samples nothing any more
                self.call("cancel", handles=serving, timeout_s=CANCEL_TIMEOUT_S)

    def _start(self, settings: EngineSettings, index: int, placement: Placement) -> Any:
        return start_engine(settings, index, placement)

    def _release(self, seat: Seat) -> None:
        lost = [number for number, (_, where) in self._in_flight.items() if where is seat]
        self._backlog.add_first(self._in_flight.pop(number)[0] for number in lost)

    def _dispatch(self) -> None:
        able = [seat for seat in self.seats if seat.open]
        chosen: dict[int, tuple[Seat, list[Any]]] = {}
        while (given := self._backlog.next(able)) is not None:
            seat, requests = given
            seat.load += len(requests)
            _, numbered = chosen.setdefault(seat.index, (seat, []))
            for request in requests:
                self._in_flight[self._next] = (request, seat)
                sampling = {"max_tokens": request.max_new_tokens, "temperature": request.temperature,
                            "seed": request.seed}
                numbered.append((self._next, request.prompt.token_ids, sampling))
                self._next += 1
        for seat, numbered in chosen.values():
            seat.handle.submit.remote(numbered)

    def _ended(self, answer: Any, seat: Seat, handle: Any) -> list[tuple[Request, Completion]]:
        """What an engine says has ended; nothing of one that has been replaced meanwhile."""
        try:
            found = ray.get(answer)  # once: it is read anew each time, and that is most of what the driver does
        except ray.exceptions.RayError as error:
            self._lose(seat, handle, reason_in(error))
            return []
        with self._lock:
            if seat.handle is not handle:
                return []
            seat.listening = None
            kept = [(number, completion) for number, completion in found if number in self._in_flight]
            seat.load -= len(kept)
            return [(self._in_flight.pop(number)[0], completion) for number, completion in kept]

    def _check_silence(self, ended: bool) -> None:
        now = time.monotonic()
        if ended or not (self._in_flight or self._backlog):
            self._heard = now
        elif now - self._heard > self.completion_timeout_s:
            raise EngineError(message("sampling stands still", expected="a completion now and then",
                                      got=f"{len(self._in_flight) + len(self._backlog)} requests and no answer in "
                                          f"{self.completion_timeout_s:.0f} s",
                                      remedy="raise rollout.completion_timeout_s, or look at Ray's logs"))
