"""What is needed where, against what is there: one Budget a place, the fullest of its kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from reasongym.config import RunConfig
from reasongym.errors import ResourceError, message
from reasongym.planning.checks import Transport
from reasongym.planning.hardware import GIB, Hardware
from reasongym.planning.memory import Device, EngineMemory, TrainerMemory, adapter_parameters
from reasongym.planning.placement import Slot
from reasongym.planning.shapes import ModelShape

__all__ = ["Budget", "Needs", "Place", "budgets", "cache_budget", "check_budgets", "check_cache"]

Place = Literal["rank", "critic", "engine", "training", "sampling", "sending", "host", "shared memory", "disk", "cache"]
"""What a budget is of: a GPU of one role, a GPU that roles share at one of three moments, or a node."""

HOST_BASE = 2 * GIB  # Ray's own processes, the loop and the scoring workers at rest
HOST_PROCESS = 2 * GIB  # host side of a process that works on a GPU
LIGHTER = "set trainer.gradient_checkpointing or trainer.offload_optimizer, or lower trainer.micro_batch_tokens"
SMALLER_ENGINE = "lower rollout.gpu_memory_utilization, or set trainer.offload_optimizer"
SLEEPING_ENGINE = 2 * GIB  # what vLLM leaves on the GPU in sleep mode: its context, and memory not given back


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """needed, available: bytes. remedy: the settings that lower `needed`."""

    where: str
    needed: int
    available: int
    remedy: str
    place: Place = "engine"

    @property
    def share(self) -> float:
        return self.needed / self.available if self.available else float("inf")

    @property
    def fits(self) -> bool:
        return self.needed <= self.available


class Needs(NamedTuple):
    """Of one rank of the policy, one of the critic and one engine worker; None where the run has none."""

    trainer: TrainerMemory
    critic: TrainerMemory | None = None
    engine: EngineMemory | None = None


def budgets(config: RunConfig, hardware: Hardware, shape: ModelShape, device: Device, transport: Transport,
            needs: Needs, placement: Sequence[Slot]) -> tuple[Budget, ...]:
    """Every place whose memory the run depends on, for the machine or node that carries most."""
    found = [_host(config, hardware, device, needs, placement)]
    if device == "cuda":
        found = [*_gpus(config, hardware, needs), *found]
    if transport == "shared_memory" and needs.engine:
        found.append(_shared_memory(config, hardware, needs.trainer))
    found.append(_disk(config, hardware, shape, needs))
    return tuple(found)


def check_budgets(found: Sequence[Budget]) -> None:
    """Raises ResourceError for the first place that cannot hold what is needed."""
    for budget in found:
        if not budget.fits:
            raise ResourceError(message(f"not enough for {budget.where}", got=f"{budget.available / GIB:.1f} GiB",
                                        expected=f"about {budget.needed / GIB:.1f} GiB", remedy=budget.remedy))


def check_cache(config: RunConfig, engine: EngineMemory) -> None:
    """Raises ResourceError where an engine's KV cache cannot hold one answer at full length."""
    length = config.rollout.max_prompt_tokens + config.rollout.max_new_tokens
    if engine.cache_tokens < length:
        need = (engine.weights + engine.overhead) / GIB
        raise ResourceError(message("an engine's KV cache cannot hold one answer",
                                    got=f"{engine.cache_tokens:,} tokens",
                                    expected=f"{length:,} and more, beside {need:.1f} GiB of weights and work space",
                                    remedy="raise rollout.gpu_memory_utilization (GPU), rollout.kv_cache_gib (CPU) or "
                                           "rollout.tensor_parallel"))


def cache_budget(config: RunConfig, engine: EngineMemory) -> Budget:
    """An engine's KV cache, against one answer at full length; in tokens. `check_cache` asks the same."""
    return Budget(where="an engine's KV cache, in tokens of one answer", place="cache", available=engine.cache_tokens,
                  needed=config.rollout.max_prompt_tokens + config.rollout.max_new_tokens,
                  remedy="raise rollout.gpu_memory_utilization (GPU), rollout.kv_cache_gib (CPU) or "
                         "rollout.tensor_parallel")


def _gpus(config: RunConfig, hardware: Hardware, needs: Needs) -> list[Budget]:
    smallest = int(min(gpu.memory_gib for gpu in hardware.gpus) * GIB)
    asked = int(config.rollout.gpu_memory_utilization * smallest) if needs.engine else 0
    if config.resources.placement == "shared":
        return _shared_gpu(needs, smallest, asked)
    found = [Budget(where="a trainer's GPU", needed=needs.trainer.peak, available=smallest, place="rank",
                    remedy=f"raise trainer.ranks, {LIGHTER}")]
    if needs.critic:
        found.append(Budget(where="a critic's GPU", needed=needs.critic.peak, available=smallest, place="critic",
                            remedy=f"raise algorithm.critic.ranks, {LIGHTER}"))
    if needs.engine:
        found.append(Budget(where="an engine's GPU", needed=max(asked, needs.engine.total) + needs.engine.transfer,
                            available=smallest, place="engine", remedy=SMALLER_ENGINE))
    return found


def _shared_gpu(needs: Needs, available: int, asked: int) -> list[Budget]:
    """The critic lies over the policy, and they take turns; both stay. asked: bytes that the engine takes."""
    trainers = [need for need in (needs.trainer, needs.critic) if need]
    state = sum(need.resident for need in trainers)
    training = state + max(need.passing for need in trainers) + (SLEEPING_ENGINE if needs.engine else 0)
    turns = "a GPU while it trains" + ", its engine asleep" * bool(needs.engine)
    found = [Budget(where=turns, needed=training, available=available, place="training",
                    remedy=f"raise trainer.ranks, {LIGHTER}")]
    if needs.engine:
        found += [Budget(where="a GPU while it samples, beside the trainer's state", needed=state + asked,
                         available=available, place="sampling", remedy=SMALLER_ENGINE),
                  Budget(where="a GPU while weights pass to its engine", needed=state + asked + needs.trainer.packed,
                         available=available, place="sending", remedy=SMALLER_ENGINE)]
    return found


def _host(config: RunConfig, hardware: Hardware, device: Device, needs: Needs, placement: Sequence[Slot]) -> Budget:
    """Of the fullest node: rank 0 writes the model there and, on a CPU, shares memory with the engines; an engine that
    sleeps keeps its weights."""
    process = 0 if device == "cpu" else HOST_PROCESS
    of_node: Counter[int] = Counter()
    for slot in placement:
        if slot.kind == "engine" and needs.engine:
            asleep = needs.engine.weights if config.resources.placement == "shared" else 0
            worker = needs.engine.total if device == "cpu" else HOST_PROCESS + asleep
            of_node[slot.node] += worker * config.rollout.each_engine[slot.index].tensor_parallel
        elif slot.kind == "critic" and needs.critic:
            of_node[slot.node] += process + needs.critic.host(device, first=False)
        elif slot.kind == "rank":
            shared = needs.trainer.mapped if slot.index == 0 else 0
            of_node[slot.node] += process + needs.trainer.host(device, first=slot.index == 0) + shared
    remedy = "fewer ranks a node (resources.gpus_per_node), or unset trainer.offload_optimizer"
    if device == "cpu":
        remedy = "lower rollout.kv_cache_gib or trainer.micro_batch_tokens, or set trainer.gradient_checkpointing"
    return Budget(where="host memory of a node", place="host", needed=HOST_BASE + max(of_node.values()),
                  available=int(hardware.memory_gib * GIB), remedy=remedy)


def _shared_memory(config: RunConfig, hardware: Hardware, need: TrainerMemory) -> Budget:
    """Two buckets that take turns; a tensor larger than a bucket has one of its own. Writing past the end is fatal."""
    return Budget(where="/dev/shm, through which weights reach the engine", place="shared memory", needed=need.mapped,
                  available=int(hardware.shared_memory_gib * GIB),
                  remedy="enlarge it (in a container: --shm-size=8g), or lower sync.bucket_mib")


def _disk(config: RunConfig, hardware: Hardware, shape: ModelShape, needs: Needs) -> Budget:
    """Checkpoints kept and one being written (float32 master, two moments, bfloat16 weights; of a policy under LoRA,
    those of its adapters), and the final model."""
    kept = config.checkpoint.keep_last + config.checkpoint.keep_best + 1
    trained = (adapter_parameters(config, shape) or shape.parameters) + (shape.parameters if needs.critic else 0)
    return Budget(where=f"checkpoints under {config.runs}/ ({kept} at one time)", place="disk",
                  needed=kept * 14 * trained + 2 * shape.parameters,
                  available=int(hardware.disk_free_gib * GIB),
                  remedy="lower checkpoint.keep_last, unset checkpoint.keep_best, or set runs to another disk")
