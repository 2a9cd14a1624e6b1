"""The calls by which an engine takes new weights, in their order: nothing is sampled between two versions."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from reasongym.rollout.engine import Engine
from reasongym.rollout.requests import EngineSettings


class Core:
    """vLLM's, as far as an update speaks to it. Writes down each call when it is answered, some time after it came."""

    def __init__(self) -> None:
        self.answered: list[str] = []
        self.engine_core = SimpleNamespace(pause_scheduler_async=self._pause)

    def __getattr__(self, name: str) -> Any:
        async def call(*arguments: Any, **keywords: Any) -> None:
            for _ in range(5 if name == "reset_prefix_cache" else 1):  # as vLLM's takes more turns than other calls
                await asyncio.sleep(0)
            words = [*arguments, *(f"{key}={value}" for key, value in keywords.items())]
            self.answered.append(" ".join(map(str, [name, *words])))

        return call

    async def _pause(self, *, mode: str, clear_cache: bool) -> None:
        assert not clear_cache
        await asyncio.sleep(0)
        self.answered.append(f"pause {mode}")


class OpenDoor:
    """One that was found open."""

    def __init__(self, core: Core) -> None:
        self.core = core

    def ask(self, *question: Any, timeout_s: float) -> None:
        self.core.answered.append(f"door {question[0]} within {timeout_s:.0f}")


def updated(*, staged: bool, in_flight: str) -> tuple[Engine, list[str]]:
    """An engine after an update to version 3, and the calls of it."""
    engine, core = Engine.__new__(Engine), Core()
    engine.settings = EngineSettings(model="m", dtype="float32", device="cpu", max_tokens=8, update_timeout_s=7.0,
                                     in_flight=in_flight)  # type: ignore[arg-type]
    engine.llm, engine.version, engine.held_at = core, "2", 0.0  # type: ignore[assignment]
    engine.door = OpenDoor(core) if staged else None  # type: ignore[assignment]

    async def update() -> None:
        if staged:
            await engine.start_weight_update()
        else:
            await engine._hold()
        await engine.finish_weight_update("3")

    asyncio.run(update())
    return engine, core.answered


@pytest.mark.parametrize("in_flight", ["keep", "recompute", "drain"])
def test_prefixes_are_forgotten_and_the_version_is_stamped_before_sampling_goes_on(in_flight: str) -> None:
    recompute = in_flight == "recompute"
    last = ["update_weight_version 3", f"reset_prefix_cache reset_running_requests={recompute}", "resume_generation"]
    pause = "pause wait" if in_flight == "drain" else "pause keep"
    engine, staged = updated(staged=True, in_flight=in_flight)
    assert staged == ["door stage within 7", pause, "collective_rpc reasongym_swap", *last]
    assert engine.version == "3"
    _, reloaded = updated(staged=False, in_flight=in_flight)
    assert reloaded == [pause, "finish_weight_update", *last]
