"""The engines of a run: started as Ray actors, fed by least load, completions handed over as each ends."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
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


class EnginePool:
    """N engines. `placements`: Ray options and environment variables an engine; its length is N."""

    def __init__(self, settings: EngineSettings, placements: Sequence[tuple[dict[str, Any], dict[str, str]]], *,
                 start_timeout_s: float, completion_timeout_s: float) -> None:
        self.completion_timeout_s = completion_timeout_s
        self.call_timeout_s = start_timeout_s
        common = actor_environment(settings.device)
        remote = ray.remote(Engine)
        self.engines = [remote.options(runtime_env={"env_vars": common | variables}, max_concurrency=4096, **options)
                        .remote(settings, index) for index, (options, variables) in enumerate(placements)]
        self.load = [0] * len(self.engines)
        self._in_flight: dict[int, tuple[Request, int]] = {}
        self._listening: dict[int, Any] = {}
        self._unclaimed: list[tuple[Request, Completion]] = []
        self._next = 0
        self._heard = time.monotonic()

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

    def submit(self, requests: Sequence[Request]) -> None:
        """Dispatch every request to the engine with the fewest in flight. One thread at a time uses the pool."""
        by_engine: dict[int, list[Any]] = {}
        if not self._in_flight:
            self._heard = time.monotonic()
        for request in requests:
            engine = min(range(len(self.engines)), key=self.load.__getitem__)
            self.load[engine] += 1
            self._in_flight[self._next] = (request, engine)
            sampling = {"max_tokens": request.max_new_tokens, "temperature": request.temperature, "seed": request.seed}
            by_engine.setdefault(engine, []).append((self._next, request.prompt.token_ids, sampling))
            self._next += 1
        for engine, numbered in by_engine.items():
            self.engines[engine].submit.remote(numbered)

    def take(self, timeout_s: float) -> list[tuple[Request, Completion]]:
        """Completions, in the order they ended; waits up to `timeout_s` for the first, where one is in flight.

        Raises EngineError when an engine dies or nothing has ended for `completion_timeout_s`.
        """
        if self._unclaimed:
            unclaimed, self._unclaimed = self._unclaimed, []
            return unclaimed
        ended: list[tuple[Request, Completion]] = []
        for engine, load in enumerate(self.load):
            if load and engine not in self._listening:
                self._listening[engine] = self.engines[engine].completions.remote(LISTEN_S)
        answers = {answer: engine for engine, answer in self._listening.items()}
        for answer in ray.wait(list(answers), timeout=timeout_s)[0] if answers else ():
            del self._listening[answers[answer]]
            for number, completion in _completions(answer, answers[answer]):
                if number in self._in_flight:
                    request, engine = self._in_flight.pop(number)
                    self.load[engine] -= 1
                    ended.append((request, completion))
        self._check_silence(bool(ended))
        return ended

    def _check_silence(self, ended: bool) -> None:
        now = time.monotonic()
        if ended or not self._in_flight:
            self._heard = now
        elif now - self._heard > self.completion_timeout_s:
            raise EngineError(message("sampling stands still", expected="a completion now and then",
                                      got=f"{len(self._in_flight)} requests and no answer in "
                                          f"{self.completion_timeout_s:.0f} s",
                                      remedy="raise rollout.completion_timeout_s, or look at Ray's logs"))

    def stream(self, requests: Sequence[Request]) -> Iterator[tuple[Request, Completion]]:
        """Submit, and yield each of these completions as it ends; others that end meanwhile are kept for `take`.

        What is still being sampled is cancelled where the caller breaks off. Raises what `take` raises.
        """
        waiting = set(map(id, requests))
        others: list[tuple[Request, Completion]] = []
        self.submit(requests)
        try:
            while waiting:
                for request, completion in self.take(SHORT_WAIT_S):
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
        self._in_flight, self._unclaimed, self.load = {}, [], [0] * len(self.engines)
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


def _completions(answer: Any, engine: int) -> list[tuple[int, Completion]]:
    try:
        return ray.get(answer)  # type: ignore[no-any-return]
    except ray.exceptions.RayError as error:
        raise EngineError(message(f"engine {engine} failed while sampling", got=_reason(error),
                                  expected="a completion", remedy="resume with --resume; if it fails at the same "
                                  "step, lower rollout.max_num_seqs")) from error


def _reason(error: BaseException) -> str:
    """The last line of the actor's own traceback: what went wrong, not how Ray tells it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:500] if lines else type(error).__name__
