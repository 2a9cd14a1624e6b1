"""What helps where memory lacks: changes of the configuration, cheapest first, each planned to see what it frees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from reasongym.config import RunConfig
from reasongym.errors import ReasongymError
from reasongym.planning.budgets import Budget, Place, cache_budget
from reasongym.planning.placement import num_critic_ranks
from reasongym.planning.plan import assess
from reasongym.planning.record import Plan

__all__ = ["Remedy", "remedies", "shortages"]

SMALLEST_CHUNK = 128  # tokens of logits; below it the head's products take longer, and its gradient is larger
TOGETHER = "these together"
FALLBACK_RANK = 32  # of adapters: usual for a model of billions of parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """settings: `key=value` for --set. cost: what it is paid with. needed: what the place then needs, in the budget's
    unit. fits: whether the place then holds it. settled: whether every place of the run does."""

    settings: tuple[str, ...]
    cost: str
    needed: int
    available: int
    fits: bool
    settled: bool


def shortages(plan: Plan) -> tuple[Budget, ...]:
    """Places that cannot hold what is needed, the KV cache among them."""
    lacking = [budget for budget in plan.budgets if not budget.fits]
    if plan.engine:
        cache = cache_budget(plan.config, plan.engine)
        lacking += [] if cache.fits else [cache]
    return tuple(lacking)


def remedies(plan: Plan, place: Place) -> tuple[Remedy, ...]:
    """For one place that lacks memory: each change that lowers its need or raises what is there, in order of cost; and
    where none of them is enough, as many of them together as are."""
    found: list[Remedy] = []
    together: dict[str, object] = {}
    for settings, cost in _candidates(plan, place):
        tried = _tried(plan, place, settings, cost)
        if tried is None or _share(tried) >= _share_now(plan, place):
            continue
        found.append(tried)
        together |= settings
        if len(together) > len(settings) and not any(remedy.fits for remedy in found):
            joined = _tried(plan, place, together, TOGETHER)
            if joined is not None and joined.fits:
                return (*found, _fewest(plan, place, together, joined))
    return tuple(found)


def _fewest(plan: Plan, place: Place, together: Mapping[str, object], joined: Remedy) -> Remedy:
    """Of settings that are enough together, the costliest that are not needed left out."""
    for key in reversed(list(together)):
        fewer = {name: value for name, value in together.items() if name != key}
        tried = _tried(plan, place, fewer, TOGETHER)
        if tried is not None and tried.fits:
            together, joined = fewer, tried
    return joined


def _share(remedy: Remedy) -> float:
    return remedy.needed / max(1, remedy.available)


def _share_now(plan: Plan, place: Place) -> float:
    budget = _budget(plan, place)
    return budget.needed / max(1, budget.available) if budget else 0.0


def _budget(plan: Plan, place: Place) -> Budget | None:
    if place == "cache":
        return cache_budget(plan.config, plan.engine) if plan.engine else None
    return next((budget for budget in plan.budgets if budget.place == place), None)


def _tried(plan: Plan, place: Place, settings: Mapping[str, object], cost: str) -> Remedy | None:
    """The plan with these settings; None where they are no configuration, or it is refused."""
    try:
        made = assess(_changed(plan.config, settings), plan.hardware, plan.shape)
    except (ReasongymError, ValidationError):
        return None
    budget = _budget(made, place)
    if budget is None:
        return None
    return Remedy(settings=tuple(f"{key}={_text(value)}" for key, value in settings.items()), cost=cost,
                  needed=budget.needed, available=budget.available, fits=budget.fits, settled=not shortages(made))


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _changed(config: RunConfig, settings: Mapping[str, object]) -> RunConfig:
    """With dotted keys replaced, checked anew. Raises ValidationError."""
    tree = config.model_dump()
    for key, value in settings.items():
        *sections, leaf = key.split(".")
        node = tree
        for section in sections:
            node = node[section]
        node[leaf] = value
    return RunConfig.model_validate(tree)


def _candidates(plan: Plan, place: Place) -> Iterator[tuple[Mapping[str, object], str]]:
    """What may help a place, cheapest first."""
    if place in {"rank", "critic", "training"}:
        yield from _smaller_passes(plan)
        yield from _less_state(plan, place)
    elif place in {"engine", "cache", "sampling", "sending"}:
        yield from _other_engines(plan, place)
        if place in {"sampling", "sending"}:
            yield from _less_state(plan, place)
    elif place == "host":
        yield from _lighter_host(plan)
    elif place == "shared memory":
        yield from ((({"sync.bucket_mib": size}, "more, smaller transfers")) for size in (128, 64, 32)
                    if size < plan.config.sync.bucket_mib)
    elif place == "disk":
        yield {"checkpoint.keep_last": 1}, "fewer checkpoints to go back to"
        yield {"checkpoint.keep_best": False}, "the best checkpoint is not kept"
        yield {"checkpoint.keep_last": 1, "checkpoint.keep_best": False}, "one checkpoint to go back to"


def _smaller_passes(plan: Plan) -> Iterator[tuple[Mapping[str, object], str]]:
    """Passes of fewer tokens, then recomputation: the objective stays."""
    trainer, rollout = plan.config.trainer, plan.config.rollout
    longest = rollout.max_prompt_tokens + rollout.max_new_tokens
    for tokens in _halves(trainer.micro_batch_tokens, longest):
        yield {"trainer.micro_batch_tokens": tokens}, "more, smaller passes over the same tokens"
    for chunk in _halves(trainer.logprob_chunk_tokens, SMALLEST_CHUNK)[:1]:
        yield {"trainer.logprob_chunk_tokens": chunk}, "smaller products with the output head"
    if not trainer.gradient_checkpointing:
        yield {"trainer.gradient_checkpointing": True}, "a third more compute in training"
    if trainer.sequence_parallel < trainer.ranks:
        yield ({"trainer.sequence_parallel": 2 * trainer.sequence_parallel},
               "ranks read rows together, and talk to each other in every layer")


def _halves(value: int, least: int) -> list[int]:
    """Two halvings and the least, largest first."""
    halves = [value // 2, value // 4]
    return [*(half for half in halves if half > least), *([least] if value > least else [])]


def _less_state(plan: Plan, place: Place) -> Iterator[tuple[Mapping[str, object], str]]:
    """Fewer bytes a parameter on the device: shared out further, moved to the host, or not trained."""
    config, trainer = plan.config, plan.config.trainer
    if trainer.zero_stage < 3:
        yield {"trainer.zero_stage": 3}, "parameters travel between ranks for every pass"
    if plan.device == "cuda" and not trainer.offload_optimizer:
        yield {"trainer.offload_optimizer": True}, "host memory, and states cross the bus in every update"
    key, ranks = "trainer.ranks", trainer.ranks
    if place == "critic":
        key, ranks = "algorithm.critic.ranks", num_critic_ranks(config)
    if plan.device == "cuda" and trainer.zero_stage == 3 and not trainer.offload_parameters:
        yield ({"trainer.offload_optimizer": True, "trainer.offload_parameters": True},
               "host memory, and weights cross the bus for every pass")
    for factor in (2, 4):
        yield {key: factor * ranks}, "more GPUs for the ranks" if plan.device == "cuda" else "more processes"
    if place != "critic" and not config.model.lora.rank:
        yield {"model.lora.rank": FALLBACK_RANK}, "adapters alone are trained: another objective"


def _other_engines(plan: Plan, place: Place) -> Iterator[tuple[Mapping[str, object], str]]:
    """A KV cache wants more of the GPU, a GPU that is too full an engine that takes less."""
    rollout = plan.config.rollout
    if plan.device == "cpu":
        yield from (({"rollout.kv_cache_gib": rollout.kv_cache_gib * factor}, "host memory") for factor in (2, 4))
        return
    shares = (0.8, 0.9, 0.95) if place == "cache" else (0.85, 0.7, 0.5, 0.4, 0.3, 0.2)
    cost = "less left for others on the GPU" if place == "cache" else "a smaller KV cache: answers may wait"
    for share in shares:
        if (share > rollout.gpu_memory_utilization) == (place == "cache"):
            yield {"rollout.gpu_memory_utilization": share}, cost
    if len(rollout.kinds) == 1:
        engines, width = rollout.num_engines, rollout.tensor_parallel
        for factor in (2, 4, 8):
            if engines % factor == 0:
                yield ({"rollout.tensor_parallel": width * factor, "rollout.engines": engines // factor},
                       "fewer engines, which talk to each other in every layer")
            yield {"rollout.tensor_parallel": width * factor}, "more GPUs for the engines"


def _lighter_host(plan: Plan) -> Iterator[tuple[Mapping[str, object], str]]:
    config = plan.config
    if plan.device == "cuda":
        if config.trainer.offload_optimizer:
            yield {"trainer.offload_optimizer": False}, "GPU memory"
        yield {"resources.nodes": 2 * config.resources.nodes}, "more machines"
        return
    yield {"rollout.kv_cache_gib": config.rollout.kv_cache_gib / 2}, "a smaller KV cache: answers may wait"
    yield from _smaller_passes(plan)
    if not config.model.lora.rank:
        yield {"model.lora.rank": FALLBACK_RANK}, "adapters alone are trained: another objective"
