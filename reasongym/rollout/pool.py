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
from reasongym.rollout.engine import Engine, actor_environment
from reasongym.rollout.requests import EngineSettings, Request

__all__ = ["EnginePool"]

LISTEN_S = 30.0
"""How long an engine holds a call for completions before it answers that there is none."""
SHORT_WAIT_S = 1.0
HEALTH_TIMEOUT_S = 30.0


class EnginePool:
    """N engines. `placements`: Ray options and environment variables an engine; its length is N.

    An engine that dies is started anew, up to `restarts` times each, and what it was sampling is asked of the others.
    Where a trainer feeds the engines, a new one serves once it has the present weights: `joining` says that some wait
    for them, `wait_joining` and `serve` stand before and after the transfer. on_loss is told why, in the thread that
    found out.
    """

    def __init__(self, settings: EngineSettings, placements: Sequence[tuple[dict[str, Any], dict[str, str]]], *,
                 start_timeout_s: float, completion_timeout_s: float, restarts: int = 0,
                 on_loss: Callable[[str], None] = lambda _: None) -> None:
        self.completion_timeout_s = completion_timeout_s
        self.call_timeout_s = start_timeout_s
        self.settings, self._placements, self._on_loss = settings, list(placements), on_loss
        self.engines = [self._start(index) for index in range(len(placements))]
        self.load = [0] * len(self.engines)
        self.serving = set(range(len(self.engines)))
        self.num_replaced = 0
        self._restarts_left = [restarts] * len(self.engines)
        self._starting: dict[int, Any] = {}
        self._in_flight: dict[int, tuple[Request, int]] = {}
        self._listening: dict[int, Any] = {}
        self._waiting: list[Request] = []
        self._unclaimed: list[tuple[Request, Completion]] = []
        self._next = 0
        self._heard = time.monotonic()
        self._lock = threading.RLock()

    def _start(self, index: int) -> Any:
        options, variables = self._placements[index]
        environment = {"env_vars": actor_environment(self.settings.device) | variables}
        return ray.remote(Engine).options(runtime_env=environment, max_concurrency=4096, **options).remote(
            self.settings, index)

    def wait_ready(self) -> None:
        """Block until every engine answers. Raises EngineError with the engine's own reason, or at the deadline."""
        self.call("ready", what="start")

    def call(self, method: str, *arguments: Any, what: str | None = None) -> list[Any]:
        """Call a method on every engine and wait for all answers, at most `start_timeout_s`."""
        answers = [getattr(engine, method).remote(*arguments) for engine in self.engines]
        try:
            return list(ray.get(answers, timeout=self.call_timeout_s))
        except ray.exceptions.GetTimeoutError as error:
            raise EngineError(message(f"the engines did not {what or method} in time",
                                      got=f"no answer in {self.call_timeout_s:.0f} s", expected="an answer from each",
                                      remedy="raise rollout.start_timeout_s, or look at Ray's logs")) from error
        except ray.exceptions.RayError as error:
            raise EngineError(message(f"an engine failed to {what or method}", got=_reason(error),
                                      expected="a vLLM engine that answers",
                                      remedy="`reasongym doctor`; smaller rollout.kv_cache_gib or max_new_tokens")
                              ) from error

    @property
    def joining(self) -> bool:
        """Whether engines were started anew and do not serve yet."""
        return len(self.serving) < len(self.engines)

    def wait_joining(self) -> None:
        """Block until those answer. Raises EngineError as `wait_ready` does."""
        self.call("ready", what="start")

    def serve(self) -> None:
        """All engines hold the present weights."""
        with self._lock:
            self._starting = {}
            self.serving = set(range(len(self.engines)))

    def replace_dead(self) -> bool:
        """Start all engines anew where one of them has died, since none is sure to be whole after a transfer that broke
        off; whether that was so. Raises EngineError where one has died too often."""
        answers = [engine.ready.remote() for engine in self.engines]
        answered, _ = ray.wait(answers, num_returns=len(answers), timeout=HEALTH_TIMEOUT_S)
        reasons = [_reason_of(answer) if answer in answered else "it does not answer" for answer in answers]
        reason = next(filter(None, reasons), "")
        for engine in range(len(self.engines)) if reason else ():
            self._lose(engine, reasons[engine] or f"beside one that died: {reason}")
        return bool(reason)

    def submit(self, requests: Sequence[Request]) -> None:
        """Dispatch every request to the engine with the fewest in flight. One thread at a time uses the pool."""
        by_engine: dict[int, list[Any]] = {}
        with self._lock:
            if not self._in_flight:
                self._heard = time.monotonic()
            if not self.serving:
                self._waiting += requests
                return
            for request in requests:
                engine = min(self.serving, key=self.load.__getitem__)
                self.load[engine] += 1
                self._in_flight[self._next] = (request, engine)
                sampling = {"max_tokens": request.max_new_tokens, "temperature": request.temperature,
                            "seed": request.seed}
                by_engine.setdefault(engine, []).append((self._next, request.prompt.token_ids, sampling))
                self._next += 1
            for engine, numbered in by_engine.items():
                self.engines[engine].submit.remote(numbered)

    def take(self, timeout_s: float) -> list[tuple[Request, Completion]]:
        """Completions, in the order they ended; waits up to `timeout_s` for the first, where one is in flight.

        Raises EngineError when an engine has died too often, or nothing has ended for `completion_timeout_s`.
        """
        if self._unclaimed:
            unclaimed, self._unclaimed = self._unclaimed, []
            return unclaimed
        self._dispatch_waiting()
        ended: list[tuple[Request, Completion]] = []
        for engine, load in enumerate(self.load):
            if load and engine not in self._listening:
                self._listening[engine] = self.engines[engine].completions.remote(LISTEN_S)
        answers = {answer: engine for engine, answer in self._listening.items()}
        for answer in ray.wait(list(answers), timeout=timeout_s)[0] if answers else ():
            ended += self._heard_of(answers[answer], answer)
        if not answers and self._waiting:
            time.sleep(min(timeout_s, SHORT_WAIT_S))
        self._check_silence(bool(ended))
        return ended

    def _heard_of(self, engine: int, answer: Any) -> list[tuple[Request, Completion]]:
        """What an engine says has ended; nothing of one that has been replaced meanwhile."""
        with self._lock:
            if self._listening.get(engine) != answer:
                return []
            del self._listening[engine]
        try:
            found = ray.get(answer)
        except ray.exceptions.RayError as error:
            self._lose(engine, _reason(error))
            return []
        with self._lock:
            kept = [(number, completion) for number, completion in found if number in self._in_flight]
            self.load[engine] -= len(kept)
            return [(self._in_flight.pop(number)[0], completion) for number, completion in kept]

    def _lose(self, engine: int, reason: str) -> None:
        """Start another in its place, and keep what it was asked. Raises EngineError where it has died too often."""
        with self._lock:
            if not self._restarts_left[engine]:
                raise EngineError(message(f"engine {engine} failed while sampling", got=reason, expected="a completion",
                                          remedy="resume with --resume; if it fails at the same step, lower "
                                          "rollout.max_num_seqs"))
            self._restarts_left[engine] -= 1
            self.num_replaced += 1
            self._on_loss(f"engine {engine} is lost and is started anew: {reason}")
            ray.kill(self.engines[engine])
            self.engines[engine] = self._start(engine)
            self.serving.discard(engine)
            self._starting[engine] = self.engines[engine].ready.remote()
            self._listening.pop(engine, None)
            lost = [number for number, (_, where) in self._in_flight.items() if where == engine]
            self._waiting += [self._in_flight.pop(number)[0] for number in lost]
            self.load[engine] = 0

    def _dispatch_waiting(self) -> None:
        """Ask again what dead engines were asked. A new engine that no trainer feeds serves as soon as it is ready."""
        if self.settings.transport is None and self._starting:
            for answer in ray.wait(list(self._starting.values()), timeout=0)[0]:
                engine = next(index for index, its in self._starting.items() if its == answer)
                del self._starting[engine]
                if reason := _reason_of(answer):
                    self._lose(engine, reason)
                else:
                    self.serving.add(engine)
        if self._waiting and self.serving:
            waiting, self._waiting = self._waiting, []
            self.submit(waiting)

    def _check_silence(self, ended: bool) -> None:
        now = time.monotonic()
        if ended or not self._in_flight:
            self._heard = now
        elif now - self._heard > self.completion_timeout_s:
            raise EngineError(message("sampling stands still", expected="a completion now and then",
                                      got=f"{len(self._in_flight)} requests and no answer in "
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
            self._in_flight, self._waiting, self._unclaimed, self.load = {}, [], [], [0] * len(self.engines)
        with contextlib.suppress(EngineError):  # a dead engine samples nothing any more
            self.call("cancel")

    def close(self, timeout_s: float = 20.0) -> None:
        """End the engines and vLLM's processes; what does not end by itself in time is killed."""
        deadline = time.monotonic() + timeout_s
        endings = [engine.shutdown.remote() for engine in self.engines]
        ray.wait(endings, num_returns=len(endings), timeout=max(0.0, deadline - time.monotonic()))
        for engine in self.engines:
            ray.kill(engine)
        self.engines = []


def _reason_of(answer: Any) -> str:
    """Why a call failed; empty where it did not."""
    try:
        ray.get(answer)
    except ray.exceptions.RayError as error:
        return _reason(error)
    return ""


def _reason(error: BaseException) -> str:
    """The last line of the actor's own traceback: what went wrong, not how Ray tells it, nor what it guesses."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1].partition(" Some common causes")[0][:300] if lines else type(error).__name__
