"""The engines of a run: started as Ray actors, fed by least load, completions handed over as each ends."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import ray

from reasongym.errors import EngineError, message
from reasongym.records import Completion
from reasongym.rollout.requests import EngineSettings, Request
from reasongym.rollout.seat import Placement, Seat, reason_of, start_engine

__all__ = ["EnginePool"]

LISTEN_S = 30.0
"""How long an engine holds a call for completions before it answers that there is none."""
SHORT_WAIT_S = 1.0
HEALTH_TIMEOUT_S = 30.0
CANCEL_TIMEOUT_S = 20.0


class EnginePool:
    """N engines. `placements`: one an engine; its length is N.

    An engine that dies is started anew, up to `restarts` times in each place, and what it was sampling is asked of the
    others. Where a trainer feeds the engines, a new one serves once it has the present weights: `feedable` gives the
    handles that can take them, and `serve` is told who has. on_loss is told why one was lost, in the thread that found
    out.

    One thread submits and takes; another may replace and feed engines meanwhile.
    """

    def __init__(self, settings: EngineSettings, placements: Sequence[Placement], *, start_timeout_s: float,
                 completion_timeout_s: float, restarts: int = 0,
                 on_loss: Callable[[str], None] = lambda _: None) -> None:
        self.settings, self.call_timeout_s, self.completion_timeout_s = settings, start_timeout_s, completion_timeout_s
        self._on_loss = on_loss
        self.seats = [Seat(index, placement, start_engine(settings, index, placement), restarts)
                      for index, placement in enumerate(placements)]
        self.num_replaced = 0
        self._in_flight: dict[int, tuple[Request, Seat]] = {}
        self._waiting: list[Request] = []
        self._unclaimed: list[tuple[Request, Completion]] = []
        self._next = 0
        self._heard = time.monotonic()
        self._lock = threading.RLock()

    @property
    def engines(self) -> list[Any]:
        """The handles of the present engines."""
        return [seat.handle for seat in self.seats]

    @property
    def idle_share(self) -> float:
        """Of the engines, those with nothing to sample."""
        return sum(not seat.load for seat in self.seats) / len(self.seats)

    @property
    def serving(self) -> bool:
        """Whether there is an engine that may be asked."""
        return any(seat.serving for seat in self.seats)

    def wait_ready(self) -> None:
        """Block until every engine answers. Raises EngineError with the engine's own reason, or at the deadline."""
        self.call("ready", what="start")

    def call(self, method: str, *arguments: Any, what: str | None = None, handles: Sequence[Any] | None = None,
             timeout_s: float | None = None) -> list[Any]:
        """Call a method on every engine, or on `handles`, and wait for all answers, at most `start_timeout_s`."""
        limit = timeout_s or self.call_timeout_s
        answers = [getattr(handle, method).remote(*arguments) for handle in handles or self.engines]
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
        """The handles of the engines that can take weights now; waits for the first where there is none.

        watch is called every second of that, and may raise. Raises EngineError where none is ready in time, or one has
        died too often.
        """
        deadline = time.monotonic() + self.call_timeout_s
        while True:
            with self._lock:
                self._hear_of_starts()
                able = [seat.handle for seat in self.seats if seat.serving or seat.starting is None]
                starting = [seat.starting for seat in self.seats if seat.starting is not None]
            if able or not self.seats:
                return able
            if time.monotonic() > deadline:
                raise EngineError(message("no engine was started anew in time", expected="one that is ready",
                                          got=f"none in {self.call_timeout_s:.0f} s",
                                          remedy="raise rollout.start_timeout_s"))
            watch()
            ray.wait(starting, timeout=SHORT_WAIT_S)

    def serve(self, handles: Sequence[Any]) -> None:
        """These engines hold the present weights. One that was replaced meanwhile is not among the pool's any more."""
        with self._lock:
            for seat in self.seats:
                if any(seat.handle is handle for handle in handles):
                    seat.serving = True

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
            for seat in self.seats:
                if any(seat.handle is handle for handle in handles):
                    self._lose(seat, seat.handle, reason)
        return bool(reason)

    def submit(self, requests: Sequence[Request]) -> None:
        """Dispatch every request to the engine with the fewest in flight; they wait where none serves."""
        with self._lock:
            if not self._in_flight:
                self._heard = time.monotonic()
            able = [seat for seat in self.seats if seat.serving]
            if not able:
                self._waiting += requests
                return
            chosen: dict[int, list[Any]] = {}
            for request in requests:
                seat = min(able, key=lambda seat: seat.load)
                seat.load += 1
                self._in_flight[self._next] = (request, seat)
                sampling = {"max_tokens": request.max_new_tokens, "temperature": request.temperature,
                            "seed": request.seed}
                chosen.setdefault(seat.index, []).append((self._next, request.prompt.token_ids, sampling))
                self._next += 1
            for index, numbered in chosen.items():
                self.seats[index].handle.submit.remote(numbered)

    def take(self, timeout_s: float) -> list[tuple[Request, Completion]]:
        """Completions, in the order they ended; waits up to `timeout_s` for the first, where one is in flight.

        Raises EngineError when an engine has died too often, or nothing has ended for `completion_timeout_s`.
        """
        if self._unclaimed:
            unclaimed, self._unclaimed = self._unclaimed, []
            return unclaimed
        with self._lock:
            self._ask_again()
            for seat in self.seats:
                if seat.load and seat.listening is None:
                    seat.listening = seat.handle.completions.remote(LISTEN_S)
            listening = {seat.listening: (seat, seat.handle) for seat in self.seats if seat.listening is not None}
        if not listening and self._waiting:
            time.sleep(min(timeout_s, SHORT_WAIT_S))
        ended = [one for answer in (ray.wait(list(listening), timeout=timeout_s)[0] if listening else ())
                 for one in self._ended(answer, *listening[answer])]
        self._check_silence(bool(ended))
        return ended

    def _ended(self, answer: Any, seat: Seat, handle: Any) -> list[tuple[Request, Completion]]:
        """What an engine says has ended; nothing of one that has been replaced meanwhile."""
        if reason := reason_of(answer):
            self._lose(seat, handle, reason)
            return []
        with self._lock:
            if seat.handle is not handle:
                return []
            seat.listening = None
            kept = [(number, completion) for number, completion in ray.get(answer) if number in self._in_flight]
            seat.load -= len(kept)
            return [(self._in_flight.pop(number)[0], completion) for number, completion in kept]

    def _lose(self, seat: Seat, handle: Any, reason: str) -> None:
        """Start another engine in its place, unless that is done, and keep what it was asked."""
        with self._lock:
            if seat.handle is not handle:
                return
            if not seat.restarts_left:
                raise EngineError(message(f"engine {seat.index} failed while sampling", got=reason,
                                          expected="a completion", remedy="resume with --resume; if it fails at the "
                                          "same step, lower rollout.max_num_seqs"))
            self._on_loss(f"engine {seat.index} is lost and is started anew: {reason}")
            self.num_replaced += 1
            ray.kill(handle)
            seat.restarts_left, seat.serving, seat.load, seat.listening = seat.restarts_left - 1, False, 0, None
            seat.handle = start_engine(self.settings, seat.index, seat.placement)
            seat.starting = seat.handle.ready.remote()
            lost = [number for number, (_, where) in self._in_flight.items() if where is seat]
            self._waiting += [self._in_flight.pop(number)[0] for number in lost]

    def _hear_of_starts(self) -> None:
        """Engines that were started anew are ready, or died again."""
        for seat in self.seats:
            if seat.starting is not None and ray.wait([seat.starting], timeout=0)[0]:
                starting, seat.starting = seat.starting, None
                if reason := reason_of(starting):
                    self._lose(seat, seat.handle, reason)

    def _ask_again(self) -> None:
        """What dead engines were asked is asked of others. A new one that no trainer feeds serves once it is ready."""
        self._hear_of_starts()
        if self.settings.transport is None:
            for seat in self.seats:
                seat.serving = seat.starting is None
        if self._waiting and self.serving:
            waiting, self._waiting = self._waiting, []
            self.submit(waiting)

    def _check_silence(self, ended: bool) -> None:
        now = time.monotonic()
        if ended or not (self._in_flight or self._waiting):
            self._heard = now
        elif now - self._heard > self.completion_timeout_s:
            raise EngineError(message("sampling stands still", expected="a completion now and then",
                                      got=f"{len(self._in_flight) + len(self._waiting)} requests and no answer in "
                                          f"{self.completion_timeout_s:.0f} s",
                                      remedy="raise rollout.completion_timeout_s, or look at Ray's logs"))

    def stream(self, requests: Sequence[Request], idle: Callable[[], None] = lambda: None,
               ) -> Iterator[tuple[Request, Completion]]:
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
            self._in_flight, self._waiting, self._unclaimed = {}, [], []
            for seat in self.seats:
                seat.load = 0
            serving = [seat.handle for seat in self.seats if seat.serving]
        if serving:
            with contextlib.suppress(EngineError):  # a dead engine samples nothing any more
                self.call("cancel", handles=serving, timeout_s=CANCEL_TIMEOUT_S)

    def close(self, timeout_s: float = 20.0) -> None:
        """End the engines and vLLM's processes; what does not end by itself in time is killed."""
        handles, self.seats = self.engines, []
        endings = [handle.shutdown.remote() for handle in handles]
        ray.wait(endings, num_returns=len(endings), timeout=timeout_s)
        for handle in handles:
            ray.kill(handle)
