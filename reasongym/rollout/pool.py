"""The engines of a run: started as Ray actors, fed by least load, completions handed over as each ends."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import ray

from reasongym.errors import EngineError, message
from reasongym.records import Completion
from reasongym.rollout.engine import Engine, actor_environment
from reasongym.rollout.requests import EngineSettings, Request

__all__ = ["EnginePool"]


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

    def stream(self, requests: Sequence[Request]) -> Iterator[tuple[Request, Completion]]:
        """Dispatch every request to the engine with the fewest in flight; yield completions in the order they end.

        Raises EngineError when an engine dies or nothing ends for `completion_timeout_s`.
        """
        waiting: dict[Any, tuple[Request, int]] = {}
        for request in requests:
            engine = min(range(len(self.engines)), key=self.load.__getitem__)
            self.load[engine] += 1
            sampling = {"max_tokens": request.max_new_tokens, "temperature": request.temperature, "seed": request.seed}
            waiting[self.engines[engine].generate.remote(request.prompt.token_ids, sampling)] = (request, engine)
        try:
            while waiting:
                ended, _ = ray.wait(list(waiting), num_returns=1, timeout=self.completion_timeout_s)
                if not ended:
                    silence = f"no answer in {self.completion_timeout_s:.0f} s"
                    raise EngineError(message("sampling stands still", expected="a completion now and then",
                                              got=f"{len(waiting)} requests and {silence}",
                                              remedy="raise rollout.completion_timeout_s, or look at Ray's logs"))
                for answer in ended:
                    request, engine = waiting.pop(answer)
                    self.load[engine] -= 1
                    yield request, _completion(answer, engine)
        finally:
            for answer, (_, engine) in waiting.items():
                ray.cancel(answer)
                self.load[engine] -= 1

    def close(self, timeout_s: float = 20.0) -> None:
        """End the engines and vLLM's processes; what does not end by itself in time is killed."""
        deadline = time.monotonic() + timeout_s
        endings = [engine.shutdown.remote() for engine in self.engines]
        ray.wait(endings, num_returns=len(endings), timeout=max(0.0, deadline - time.monotonic()))
        for engine in self.engines:
            ray.kill(engine)
        self.engines = []


def _completion(answer: Any, engine: int) -> Completion:
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
