"""Ray's calls in this process: actors that answer when the test says so. No process is started, and nothing waits."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import ray

from reasongym.records import Completion, FinishReason

__all__ = ["StandInEngine", "stand_in_ray"]


class Reply:
    """Of a remote call. ended: whether `ray.wait` finds it; error: what `ray.get` raises then."""

    def __init__(self) -> None:
        self.ended, self.value, self.error = False, None, None

    def say(self, value: Any = None, error: Exception | None = None) -> None:
        self.ended, self.value, self.error = True, value, error


class StandInEngine:
    """Remembers what it is asked. Answers a request when `answer` is called, and is ready when `start` was."""

    def __init__(self, settings: Any, index: int, placement: Any) -> None:
        self.settings, self.index, self.placement = settings, index, placement
        self.asked: dict[int, Any] = {}
        self.prompts: list[tuple[int, ...]] = []
        self.listeners: list[Reply] = []
        self.done: list[Any] = []
        self.dead = False
        self.ready_reply = Reply()

    def __getattr__(self, method: str) -> Any:
        return SimpleNamespace(remote=lambda *arguments: self._call(method, *arguments))

    def start(self, error: str = "") -> None:
        self.ready_reply.say(error=ray.exceptions.RayError(error) if error else None)

    def answer(self, *numbers: int) -> None:
        """All that it was asked, or these."""
        for number in numbers or list(self.asked):
            seed = self.asked.pop(number)
            self.done.append((number, Completion(
                token_ids=(1,), logprobs=(-1.0,), mask=(True,), versions=(0,), text=str(seed), engine=self.index,
                finish_reason=FinishReason.STOP, seed=seed)))
        self._tell()

    def die(self) -> None:
        self.dead = True
        for reply in [*self.listeners, self.ready_reply]:
            reply.say(error=ray.exceptions.RayError("it died"))

    def _tell(self) -> None:
        if self.done and self.listeners:
            self.listeners.pop().say(self.done)
            self.done = []

    def _call(self, method: str, *arguments: Any) -> Reply:
        if method == "ready":
            return self.ready_reply
        reply = Reply()
        if method == "submit":
            for number, token_ids, sampling in arguments[0]:
                self.asked[number] = sampling["seed"]
                self.prompts.append(token_ids)
        elif method == "completions":
            self.listeners.append(reply)
            self._tell()
        elif method == "cancel":
            self.asked, self.done = {}, []
            reply.say()
        else:
            reply.say()
        return reply


def _wait(replies: Sequence[Reply], num_returns: int = 1,
          timeout: float | None = None) -> tuple[list[Reply], list[Reply]]:
    ended = [reply for reply in replies if reply.ended]
    if not ended and timeout:
        time.sleep(0.001)
    return ended, [reply for reply in replies if not reply.ended]


def _get(replies: Any, timeout: float | None = None) -> Any:
    if isinstance(replies, list):
        return [_get(reply, timeout) for reply in replies]
    if not replies.ended:
        raise ray.exceptions.GetTimeoutError("not yet")
    if replies.error:
        raise replies.error
    return replies.value


def stand_in_ray() -> Any:
    """For the name `ray` in a module."""
    return SimpleNamespace(wait=_wait, get=_get, kill=lambda engine: engine.die(), exceptions=ray.exceptions)
