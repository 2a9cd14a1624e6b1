"""What is asked of an engine, and how its seed is made. No vLLM here."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from reasongym.config import RunConfig
from reasongym.config.engine_groups import EngineKind
from reasongym.planning import Plan
from reasongym.records import Prompt

__all__ = ["EngineSettings", "Request", "engine_settings", "requests_for", "settings_of_kind"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """How an engine is built; plain values, so that they travel to the actor's process as they are.

    model: a Hugging Face folder or hub id. transport: name of vLLM's weight-transfer backend, or None without training.
    kv_cache_gib: for CPU engines; GPU engines size their cache by gpu_memory_utilization. in_flight: what becomes of
    answers that new weights meet half-way (`rollout.in_flight`). update_timeout_s: longest wait for vLLM to take a
    bucket of new weights, in seconds. label: of the machines it is on, and of its group; empty without one. share:
    answers it is given against those of another engine.
    """

    model: str
    dtype: str
    device: str
    max_tokens: int
    tensor_parallel: int = 1
    max_num_seqs: int = 256
    kv_cache_gib: float = 2.0
    gpu_memory_utilization: float = 0.85
    enforce_eager: bool = True
    sleep_mode: bool = False
    trust_remote_code: bool = False
    transport: str | None = None
    in_flight: Literal["keep", "recompute", "drain"] = "keep"
    update_timeout_s: float = 600.0
    seed: int = 0
    label: str = ""
    share: float = 1.0


def engine_settings(config: RunConfig, plan: Plan, model: str, *, transport: str | None) -> list[EngineSettings]:
    """Those of every engine of the plan. model: a path for loaders. transport: None for engines that no trainer
    feeds."""
    of_kind = {kind: settings_of_kind(kind, config, plan, model, transport=transport) for kind in config.rollout.kinds}
    each = config.rollout.each_engine
    return [of_kind[each[slot.index]] for slot in plan.placement if slot.kind == "engine"]


def settings_of_kind(kind: EngineKind, config: RunConfig, plan: Plan, model: str, *,
                     transport: str | None) -> EngineSettings:
    """One engine's of a group; arguments as of `engine_settings`."""
    r = config.rollout
    return EngineSettings(
        model=model, dtype=plan.dtype, device=plan.device, max_tokens=r.max_prompt_tokens + r.max_new_tokens,
        tensor_parallel=kind.tensor_parallel, max_num_seqs=kind.max_num_seqs, kv_cache_gib=r.kv_cache_gib,
        gpu_memory_utilization=r.gpu_memory_utilization, enforce_eager=r.enforce_eager,
        sleep_mode=transport is not None and config.resources.placement == "shared",
        trust_remote_code=config.model.trust_remote_code, transport=transport, in_flight=r.in_flight,
        update_timeout_s=config.sync.timeout_s, seed=config.seed, label=kind.label or "", share=kind.share)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One completion to sample. temperature 0 is greedy; seed makes the completion repeatable."""

    key: tuple[int, int]  # (position of the prompt in the batch, sample within its group)
    prompt: Prompt
    max_new_tokens: int
    temperature: float
    seed: int


def requests_for(prompts: Sequence[Prompt], *, samples: int, max_new_tokens: int, temperature: float,
                 seed: int, step: int, first_row: int = 0) -> list[Request]:
    """`samples` requests a prompt. Each seed is a hash of (seed, step, prompt's place, sample): sums would collide."""
    return [
        Request(key=(row, sample), prompt=prompt, max_new_tokens=max_new_tokens, temperature=temperature,
                seed=_seed(seed, step, first_row + row, sample))
        for row, prompt in enumerate(prompts)
        for sample in range(samples)
    ]


def _seed(*parts: int) -> int:
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1  # torch generators take a signed 64-bit seed
