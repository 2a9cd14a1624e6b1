"""How long a step takes, from rates that are assumed: an order of magnitude before the first step, no measurement.

What is not counted: verifiers (they run beside sampling), evaluation, checkpoints, and the first steps' compilation.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from reasongym.config import RunConfig
from reasongym.config.policy_gradient import PolicyGradientConfig, PpoConfig
from reasongym.config.preference import DpoConfig, OfflineConfig
from reasongym.planning.activations import largest_micro_batch, shares_prompt
from reasongym.planning.memory import DTYPE_BYTES, REUSE_ELEMENTS, adapter_parameters
from reasongym.planning.placement import num_critic_ranks, num_engines
from reasongym.planning.rates import Rates
from reasongym.planning.record import Plan
from reasongym.planning.shapes import ModelShape

__all__ = ["StepTime", "step_time"]

GIGA = 1e9
ADAM_BYTES = 28  # a parameter, float32: weights, gradient and two moments read, all but the gradient written


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTime:
    """Seconds. sampling: of the fullest engine. scoring: forward passes of policy, reference and critic before the
    update. training: forward and backward. communication: between ranks, as far as it is not hidden behind training.
    optimizer: the update itself. sync: weights to the engines. together: sampling and training overlap."""

    sampling: float
    scoring: float
    training: float
    communication: float
    optimizer: float
    sync: float
    sampled_tokens: int
    trained_tokens: int
    engine_tokens_per_s: float
    together: bool

    @property
    def total(self) -> float:
        """Of a step."""
        update = self.scoring + self.training + self.communication + self.optimizer
        return (max(self.sampling, update) if self.together else self.sampling + update) + self.sync

    def as_dict(self) -> dict[str, float | int | bool]:
        """For JSON."""
        return {**asdict(self), "total": self.total}


def step_time(plan: Plan, rates: Rates) -> StepTime | None:
    """Of a planned run; None for a model of unknown shape."""
    if plan.shape is None:
        return None
    config, shape = plan.config, plan.shape
    tokens = _tokens(config, shape, rates)
    speed = _engine_speed(plan, shape, rates) if config.algorithm.samples else math.inf
    training = tokens.trained * config.trainer.epochs * _flops(config, shape) / _flops_per_s(plan, rates)
    communication = _communication(plan, shape, rates, tokens.trained * config.trainer.epochs)
    hidden = training if plan.device == "cuda" else 0.0  # DeepSpeed's overlap_comm
    return StepTime(
        sampling=tokens.sampled_by_fullest / speed, training=training,
        scoring=_passes(config) * tokens.trained * 2 * _products(shape) / _flops_per_s(plan, rates),
        communication=max(0.0, communication - hidden), optimizer=_optimizer(plan, shape, rates),
        sync=_sync(plan, shape, rates), sampled_tokens=tokens.sampled, trained_tokens=tokens.trained,
        engine_tokens_per_s=0.0 if math.isinf(speed) else speed, together=config.rollout.mode == "async")


@dataclass(frozen=True, slots=True)
class _Tokens:
    sampled: int
    sampled_by_fullest: int
    trained: int


def _tokens(config: RunConfig, shape: ModelShape, rates: Rates) -> _Tokens:
    """Prompts at their longest, answers at the assumed mean."""
    rollout, algorithm = config.rollout, config.algorithm
    answer = max(1, round(rates.answer_share * rollout.max_new_tokens))
    if isinstance(algorithm, OfflineConfig):
        rows = algorithm.batch_size * (2 if isinstance(algorithm, DpoConfig) else 1)
        return _Tokens(0, 0, rows * (rollout.max_prompt_tokens + answer))
    answers = rollout.prompts_per_step * rollout.group_size
    prompts = rollout.prompts_per_step if shares_prompt(config, shape) else answers
    shares = [kind.share for kind in rollout.each_engine]
    fullest = math.ceil(answers * max(shares) / sum(shares))
    return _Tokens(answers * answer, fullest * answer, answers * answer + prompts * rollout.max_prompt_tokens)


def _products(shape: ModelShape) -> int:
    """Parameters that a token is multiplied with: all but an embedding that is only looked up."""
    return shape.parameters - (0 if shape.tied else shape.embedding)


def _flops(config: RunConfig, shape: ModelShape) -> float:
    """A trained token: 2 a parameter forward and 4 backward; adapters need the gradient of inputs alone; recomputing
    adds a forward pass. Attention adds 4 x layers x width for each token seen, half of a row on average."""
    passes = 2 if adapter_parameters(config, shape) else 3
    passes += config.trainer.gradient_checkpointing
    row = largest_micro_batch(config, shape).row
    return passes * (2.0 * _products(shape) + 4.0 * shape.layers * shape.queries * row / 2)


def _flops_per_s(plan: Plan, rates: Rates) -> float:
    """Of all ranks: each has a GPU, or a part of its node's cores."""
    devices = plan.config.trainer.ranks if plan.device == "cuda" else min(plan.config.resources.nodes,
                                                                          plan.config.trainer.ranks)
    return devices * rates.peak_tflops * 1e12 * rates.training_share


def _passes(config: RunConfig) -> int:
    """Forward passes without gradient, of models of the policy's size: the reference, the policy before several
    updates, and a critic (whose update is counted as three passes more)."""
    algorithm, updates = config.algorithm, config.trainer.mini_batches * config.trainer.epochs
    old = isinstance(algorithm, PolicyGradientConfig) and updates > 1
    critic = 4 if isinstance(algorithm, PpoConfig) else 0
    return algorithm.needs_reference + old + critic


def _engine_speed(plan: Plan, shape: ModelShape, rates: Rates) -> float:
    """Tokens/s of the narrowest engine: all weights and the KV cache of its answers are read for each token of each of
    them, or the products take longer."""
    if rates.sampling_tokens_per_s:
        return rates.sampling_tokens_per_s
    assert plan.engine is not None
    rollout, size = plan.config.rollout, DTYPE_BYTES[plan.dtype]
    kind = min(rollout.kinds, key=lambda kind: kind.tensor_parallel)
    answers = math.ceil(rollout.prompts_per_step * rollout.group_size * kind.share
                        / sum(other.share * other.count for other in rollout.kinds))
    seen = rollout.max_prompt_tokens + rates.answer_share * rollout.max_new_tokens / 2
    at_once = max(1, min(answers, kind.max_num_seqs, int(plan.engine.cache_tokens / seen)))
    workers = kind.tensor_parallel if plan.device == "cuda" else 1 / num_engines(plan.config)
    cache = at_once * seen * shape.kv_bytes_per_token(bytes_per_element=size)
    reading = (shape.parameters * size + cache) / (workers * rates.memory_gb_per_s * GIGA)
    computing = at_once * 2 * _products(shape) / (workers * rates.peak_tflops * 1e12)
    return at_once * rates.sampling_share / max(reading, computing)


def _communication(plan: Plan, shape: ModelShape, rates: Rates, trained: int) -> float:
    """ZeRO-3 gathers all parameters for the forward and for the backward pass of every micro-batch (once where they
    stay gathered in between) and reduces gradients; below it, gradients are reduced and weights gathered once an
    update."""
    trainer, size = plan.config.trainer, DTYPE_BYTES[plan.dtype]
    ranks = trainer.ranks
    if ranks == 1:
        return 0.0
    moving = adapter_parameters(plan.config, shape) or shape.parameters
    micros = math.ceil(trained / ranks / trainer.micro_batch_tokens)
    updates = trainer.mini_batches * trainer.epochs
    gathers = 1 if shape.parameters * 2 <= REUSE_ELEMENTS else 2 + trainer.gradient_checkpointing
    elements = micros * (gathers * shape.parameters + moving) if trainer.zero_stage == 3 else updates * 2 * moving
    nodes = {slot.node for slot in plan.placement if slot.kind == "rank"}
    speed = rates.network_gb_per_s if len(nodes) > 1 else rates.link_gb_per_s
    return elements * size * (ranks - 1) / ranks / (speed * GIGA)


def _optimizer(plan: Plan, shape: ModelShape, rates: Rates) -> float:
    trainer = plan.config.trainer
    moving = adapter_parameters(plan.config, shape) or shape.parameters
    moving += shape.parameters * bool(num_critic_ranks(plan.config))
    share = moving / (trainer.ranks if trainer.zero_stage else 1)
    updates = trainer.mini_batches * trainer.epochs
    if plan.trainer is not None and plan.trainer.offloaded:
        return updates * share * (4 + DTYPE_BYTES[plan.dtype] + ADAM_BYTES / 4) / (rates.host_gb_per_s * GIGA)
    ranks_of_node = 1 if plan.device == "cuda" else trainer.ranks / plan.config.resources.nodes
    return updates * share * ADAM_BYTES * ranks_of_node / (rates.memory_gb_per_s * GIGA)


def _sync(plan: Plan, shape: ModelShape, rates: Rates) -> float:
    """Engines take the weights side by side; what travels slowest counts."""
    if not plan.config.algorithm.samples:
        return 0.0
    nodes = {slot.node for slot in plan.placement}
    speed = rates.transfer_gb_per_s
    if plan.transport == "nccl":
        speed = min(speed, rates.network_gb_per_s if len(nodes) > 1 else rates.link_gb_per_s)
    return shape.parameters * DTYPE_BYTES[plan.dtype] / (speed * GIGA)
