"""Bytes that a trainer rank and an engine worker need: estimates from a model's shape, meant to lie slightly high.

What is not modelled: fragmentation, mixture-of-experts layers, and attention scores (taken as never stored, as in
PyTorch's fused attention).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from reasongym.config import RunConfig
from reasongym.planning.shapes import ModelShape

__all__ = [
    "DTYPE_BYTES",
    "Device",
    "Dtype",
    "EngineMemory",
    "TrainerMemory",
    "adapter_parameters",
    "critic_memory",
    "engine_memory",
    "trainer_memory",
]

Device = Literal["cpu", "cuda"]
Dtype = Literal["bfloat16", "float32"]

GIB = 1024**3
DTYPE_BYTES = {"bfloat16": 2, "float32": 4}
LIVE_ELEMENTS = 1_000_000_000  # DeepSpeed's stage3_max_live_parameters: gathered at one time
STEP_ELEMENTS = 1_000_000_000  # DeepSpeed's sub_group_size: gradients flattened at one time in the optimizer's step
BUCKET_ELEMENTS = 500_000_000  # DeepSpeed's reduce_bucket_size
# Resident size after the imports: a rank (torch, deepspeed, ray) 0.3 GiB, an engine (vllm) 0.6 GiB, which runs as an
# actor and an engine core; the rest is work space. On a GPU: the CUDA context and the communication library's buffers.
RANK_OVERHEAD = {"cpu": GIB // 2, "cuda": GIB * 3 // 2}
ENGINE_OVERHEAD = {"cpu": 2 * GIB, "cuda": 2 * GIB}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerMemory:
    """One rank's bytes. gradients: accumulated in float32. optimizer: float32 master weights and Adam's two moments.

    offloaded: gradients and optimizer lie in host memory, and the step is made there. gathered: parameters that other
    ranks own, at the peak. step: a flat copy of gradients in the optimizer's step, when the activations are gone.
    loading: host memory while the model is read: all of it, or under ZeRO-3, where each parameter is partitioned as it
    is read, twice the largest. The files' pages are not counted: the kernel drops them when it needs the room.
    exported: the whole model, which rank 0 gathers in host memory to write it.
    """

    parameters: int
    gradients: int
    optimizer: int
    offloaded: bool
    reference: int
    gathered: int
    buckets: int
    activations: int
    logits: int
    step: int
    loading: int
    exported: int
    overhead: int

    @property
    def resident(self) -> int:
        """On the rank's device all the time."""
        state = 0 if self.offloaded else self.gradients + self.optimizer
        return self.parameters + state + self.reference + self.buckets + self.overhead

    @property
    def passing(self) -> int:
        """What comes and goes on the rank's device: in the backward pass or in the optimizer's step."""
        return max(self.gathered + self.activations + self.logits, self.step)

    @property
    def peak(self) -> int:
        """On the rank's device at most."""
        return self.resident + self.passing

    def host(self, device: Device, *, first: bool) -> int:
        """In host memory, beside the process where the device is a GPU. first: rank 0, which writes the model."""
        exported = self.exported if first else 0
        if device == "cpu":
            return max(self.peak, self.resident + exported)
        return max(self.loading, (self.gradients + self.optimizer if self.offloaded else 0) + exported)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineMemory:
    """One engine worker's bytes (an engine has `tensor_parallel` workers), and what its cache holds.

    cache_tokens: tokens of KV cache of the whole engine. step_tokens: what it would hold with all of a step's answers
    under way at full length, each group's prompt stored once.
    """

    weights: int
    cache: int
    overhead: int
    cache_tokens: int
    step_tokens: int

    @property
    def total(self) -> int:
        return self.weights + self.cache + self.overhead


def trainer_memory(config: RunConfig, shape: ModelShape, device: Device, dtype: Dtype) -> TrainerMemory:
    """What one rank of the policy needs under the configured ZeRO stage. Under LoRA the adapters alone are trained, and
    the policy without them is the reference."""
    adapters = adapter_parameters(config, shape)
    need = _partitioned(config, shape, device, dtype, count=shape.parameters + adapters, ranks=config.trainer.ranks,
                        trained=adapters or None)
    copied = config.algorithm.needs_reference and not adapters
    return replace(need, reference=need.parameters if copied else 0,
                   logits=_logits(config, shape), exported=shape.parameters * DTYPE_BYTES[dtype])


def critic_memory(config: RunConfig, shape: ModelShape, device: Device, dtype: Dtype, *, ranks: int) -> TrainerMemory:
    """What one of the `ranks` of PPO's critic needs: the body of the model and one output, whose float32 input and its
    gradient stand in for the logits. It is never exported."""
    unused = 0 if shape.tied else shape.vocabulary * shape.hidden
    need = _partitioned(config, shape, device, dtype, count=shape.parameters - unused + shape.hidden + 1, ranks=ranks)
    return replace(need, logits=2 * 4 * shape.hidden * _tokens(config))


def adapter_parameters(config: RunConfig, shape: ModelShape) -> int:
    """Elements of all LoRA adapters: the rank times the inputs and outputs of each target in each layer; 0 without
    LoRA. A target that Llama-like layers do not have counts as the widest they have."""
    lora, queries, keys = config.model.lora, shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    sides = {"q_proj": queries, "k_proj": keys, "v_proj": keys, "o_proj": queries}
    widths = [shape.hidden + sides.get(target, shape.intermediate) for target in lora.targets]
    return lora.rank * shape.layers * sum(widths)


def _partitioned(config: RunConfig, shape: ModelShape, device: Device, dtype: Dtype, *, count: int, ranks: int,
                 trained: int | None = None) -> TrainerMemory:
    """A model of `count` parameters on `ranks` ranks, `trained` of them or all, its output left out."""
    trainer, size = config.trainer, DTYPE_BYTES[dtype]
    owned = [ranks if trainer.zero_stage >= stage else 1 for stage in (1, 2, 3)]
    moving = count if trained is None else trained
    optimizer_share, gradient_share, parameter_share = moving // owned[0], moving // owned[1], count // owned[2]
    # Float32 without ZeRO trains the weights themselves; every other combination keeps a float32 master copy.
    master = 0 if dtype == "float32" and trainer.zero_stage == 0 else 4
    gathers = trainer.zero_stage == 3 and ranks > 1
    offloaded = trainer.offload_optimizer and device == "cuda"
    return TrainerMemory(
        parameters=parameter_share * size,
        gradients=gradient_share * 4,
        optimizer=optimizer_share * (master + 8),
        offloaded=offloaded,
        reference=0,
        gathered=min(count - parameter_share, LIVE_ELEMENTS) * size if gathers else 0,
        buckets=min(moving, BUCKET_ELEMENTS) * size if trainer.zero_stage else 0,
        activations=_activations(config, shape, size),
        logits=0,
        step=min(optimizer_share, STEP_ELEMENTS) * 4 if trainer.zero_stage and not offloaded else 0,
        loading=(2 * shape.vocabulary * shape.hidden if trainer.zero_stage == 3 else shape.parameters) * size,
        exported=0,
        overhead=RANK_OVERHEAD[device],
    )


def _activations(config: RunConfig, shape: ModelShape, size: int) -> int:
    """What the backward pass of the body keeps.

    A token and layer keep, in elements: twice the hidden width around each of two norms and once more in float32,
    queries, repeated keys and values and the attention's result, and four times the MLP's width. Measured on
    SmolLM2-135M with saved-tensor hooks: 44,751 bytes in float32 (estimate 47,616), 24,740 in bfloat16 (26,112).
    Checkpointing keeps each layer's input, and one layer in full while it is recomputed.
    """
    tokens = _tokens(config)
    norms = 2 * (4 + 2 * size) * shape.hidden
    layer = norms + 4 * size * (shape.heads * shape.head_dim + shape.intermediate)
    if config.trainer.gradient_checkpointing:
        return tokens * (shape.layers * size * shape.hidden + layer)
    return tokens * shape.layers * layer


def _tokens(config: RunConfig) -> int:
    """Of the largest micro-batch: a row that is longer than the budget goes alone."""
    longest = config.rollout.max_prompt_tokens + config.rollout.max_new_tokens
    return max(config.trainer.micro_batch_tokens, longest)


def _logits(config: RunConfig, shape: ModelShape) -> int:
    """Float32 logits of a chunk, their softmax and its gradient."""
    return 3 * 4 * shape.vocabulary * config.trainer.logprob_chunk_tokens


def engine_memory(config: RunConfig, shape: ModelShape, device: Device, dtype: Dtype,
                  device_bytes: int) -> EngineMemory:
    """What one engine worker needs. device_bytes: its GPU's memory; unused on a CPU, whose cache has a size of its own.

    On a GPU the cache is what weights and work space leave of `gpu_memory_utilization`: 0 where they leave nothing.
    """
    rollout, size = config.rollout, DTYPE_BYTES[dtype]
    weights = shape.parameters * size // rollout.tensor_parallel
    overhead = ENGINE_OVERHEAD[device]
    cache = int(rollout.kv_cache_gib * GIB)
    if device == "cuda":
        cache = max(0, int(rollout.gpu_memory_utilization * device_bytes) - weights - overhead)
    per_token = shape.kv_bytes_per_token(bytes_per_element=size, tensor_parallel=rollout.tensor_parallel)
    return EngineMemory(weights=weights, cache=cache, overhead=overhead, cache_tokens=cache // per_token,
                        step_tokens=_step_tokens(config))


def _step_tokens(config: RunConfig) -> int:
    rollout = config.rollout
    answers = -(-rollout.prompts_per_step * rollout.group_size // rollout.engines)
    at_once = min(answers, rollout.max_num_seqs)
    prompts = -(-at_once // rollout.group_size)
    return at_once * rollout.max_new_tokens + prompts * rollout.max_prompt_tokens
