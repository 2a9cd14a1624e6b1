"""Bytes that a trainer rank and an engine worker need: what DeepSpeed, PyTorch and vLLM allocate, from a model's shape.

What is not modelled: fragmentation, mixture-of-experts layers, and attention scores (taken as never stored, as in
PyTorch's fused attention). `benchmarks/plan_accuracy.py` holds the figures of a CPU against processes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from reasongym.config import RunConfig
from reasongym.config.engine_groups import EngineKind
from reasongym.planning.activations import kept, largest_micro_batch, output_peak, value_peak
from reasongym.planning.placement import num_engines
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
MIB = 1024**2
DTYPE_BYTES = {"bfloat16": 2, "float32": 4}
REUSE_ELEMENTS = 1_000_000_000  # DeepSpeed's stage3_max_reuse_distance: parameters used again within it stay gathered
PREFETCH_ELEMENTS = 50_000_000  # DeepSpeed's stage3_prefetch_bucket_size: gathered ahead of their use
STEP_ELEMENTS = 1_000_000_000  # DeepSpeed's sub_group_size: stepped by the optimizer at one time
BUCKET_ELEMENTS = {"cpu": 2**25, "cuda": 500_000_000}  # reduce_bucket_size, ours and DeepSpeed's
PACKED = GIB  # vLLM's packed_buffer_size_bytes
# Resident size of a rank once it is built on a model of no size: Python, torch, deepspeed, transformers, ray, and the
# work space of the matrix products. Of an engine (vllm) 0.6 GiB, which runs as an actor and an engine core. On a GPU:
# the CUDA context and the communication library's buffers.
RANK_OVERHEAD = {"cpu": 640 * MIB, "cuda": GIB * 3 // 2}
ENGINE_OVERHEAD = {"cpu": 2 * GIB, "cuda": 2 * GIB}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerMemory:
    """One rank's bytes. gradients: accumulated in float32. optimizer: float32 master weights and Adam's two moments.

    offloaded: gradients and optimizer lie in host memory, and the step is made there. fetched: parameters, the
    reference's too, lie there and are gathered from there. gathered: parameters at the peak that ZeRO-3 has put
    together from all ranks. bucket: gradients on their way to be reduced. logits: what passes at the output, head
    gradients included. reduction: copies of the bucket, and what is left of the activations when it is full. step: a
    flat copy of gradients in the optimizer's step. packed, mapped: weights on their way to the engines: on a GPU a
    gathered bucket and vLLM's buffers of it, in /dev/shm what ranks and engines share, which rank 0 reads in full and
    each other rank writes its part of. loading: host memory while the model is read: all of it, or under ZeRO-3, where
    each parameter is partitioned as it is read, twice the largest. The files' pages are not counted: the kernel drops
    them when it needs the room. exported: the whole model, which rank 0 gathers in host memory to write it.
    """

    parameters: int
    gradients: int
    optimizer: int
    offloaded: bool
    fetched: bool
    reference: int
    gathered: int
    bucket: int
    activations: int
    logits: int
    reduction: int
    step: int
    packed: int
    mapped: int
    loading: int
    exported: int
    overhead: int

    @property
    def resident(self) -> int:
        """On the rank's device all the time."""
        state = 0 if self.offloaded else self.gradients + self.optimizer
        weights = 0 if self.fetched else self.parameters + self.reference
        return weights + state + self.bucket + self.overhead

    @property
    def passing(self) -> int:
        """What comes and goes on the rank's device: in the backward pass, as gradients are reduced, in the optimizer's
        step, or as weights are sent."""
        return max(self.gathered + self.activations + self.logits, self.reduction, self.step, self.packed)

    @property
    def peak(self) -> int:
        """On the rank's device at most."""
        return self.resident + self.passing

    @property
    def offload(self) -> int:
        """In pinned host memory: gradients once as they add up and once more for the optimizer, its state; weights."""
        state = 2 * self.gradients + self.optimizer if self.offloaded else 0
        return state + (self.parameters + self.reference if self.fetched else 0)

    def host(self, device: Device, *, first: bool) -> int:
        """In host memory, beside the process where the device is a GPU, and without the memory that processes share.
        first: rank 0, which writes the model."""
        exported = self.exported if first else 0
        if device == "cpu":
            return max(self.peak, self.resident + exported)
        return max(self.loading, self.offload + exported)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineMemory:
    """One engine worker's bytes (an engine has `tensor_parallel` workers), and what its cache holds.

    transfer: buffers of weights that arrive, beside what the engine was given. cache_tokens: tokens of KV cache of the
    whole engine. step_tokens: what it would hold with all of a step's answers under way at full length, each group's
    prompt stored once.
    """

    weights: int
    cache: int
    overhead: int
    transfer: int
    cache_tokens: int
    step_tokens: int

    @property
    def total(self) -> int:
        return self.weights + self.cache + self.overhead


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    """What a group of ranks trains. count: its parameters, of which `moving` are trained. lora: those are adapters.
    largest: elements of the largest tensor. divided: layers are held together with other ranks, and put together to be
    sent."""

    count: int
    moving: int
    largest: int
    lora: bool = False
    divided: bool = False


def trainer_memory(config: RunConfig, shape: ModelShape, device: Device, dtype: Dtype) -> TrainerMemory:
    """What one rank of the policy needs under the configured ZeRO stage. Under LoRA the adapters alone are trained, and
    the policy without them is the reference. Ranks that hold layers together count as one where ZeRO shares out."""
    adapters, size, width = adapter_parameters(config, shape), DTYPE_BYTES[dtype], config.trainer.tensor_parallel
    held = shape.divided(width)
    model = _Model(count=held.parameters + adapters, moving=adapters or held.parameters, largest=shape.embedding,
                   lora=bool(adapters), divided=width > 1)
    batch, team = largest_micro_batch(config, shape), config.trainer.sequence_parallel
    part = batch._replace(tokens=-(-batch.tokens // team))
    return _rank(config, device, size, model, ranks=config.trainer.ranks // width,
                 activations=kept(config, held, size, batch, lora=model.lora, team=team),
                 logits=output_peak(config, held, size, part, lora=model.lora),
                 copied=config.algorithm.needs_reference and not adapters, exported=shape.parameters * size,
                 loading=2 * shape.embedding if config.trainer.zero_stage == 3 else shape.parameters)


def critic_memory(config: RunConfig, shape: ModelShape, device: Device, dtype: Dtype, *, ranks: int) -> TrainerMemory:
    """What one of the `ranks` of PPO's critic needs: the body of the model and one output, whose float32 input and its
    gradient stand in for the logits. It has no adapters and no reference, and is never sent or exported."""
    size, unused = DTYPE_BYTES[dtype], 0 if shape.tied else shape.embedding
    count = shape.parameters - unused + shape.hidden + 1
    batch = largest_micro_batch(config, shape)
    return _rank(config, device, size, _Model(count=count, moving=count, largest=shape.embedding), ranks=ranks,
                 activations=kept(config, shape, size, batch, lora=False), logits=value_peak(shape, size, batch),
                 loading=2 * shape.embedding if config.trainer.zero_stage == 3 else shape.parameters)


def adapter_parameters(config: RunConfig, shape: ModelShape) -> int:
    """Elements of all LoRA adapters: the rank times the inputs and outputs of each target in each layer; 0 without
    LoRA. A target that Llama-like layers do not have counts as the widest they have."""
    lora = config.model.lora
    sides = {"q_proj": shape.queries, "k_proj": shape.keys, "v_proj": shape.keys, "o_proj": shape.queries}
    widths = [shape.hidden + sides.get(target, shape.intermediate) for target in lora.targets]
    return lora.rank * shape.layers * sum(widths)


def _rank(config: RunConfig, device: Device, size: int, model: _Model, *, ranks: int, activations: int, logits: int,
          loading: int, copied: bool = False, exported: int = 0) -> TrainerMemory:
    """One of `ranks` ranks. size: bytes of an element. loading: elements. copied: a reference policy is kept beside the
    policy. exported: bytes of what the ranks send and write, 0 for a critic."""
    trainer = config.trainer
    owned = [ranks if trainer.zero_stage >= stage else 1 for stage in (1, 2, 3)]
    optimizer_share, gradient_share = -(-model.moving // owned[0]), -(-model.moving // owned[1])
    parameter_share = -(-model.count // owned[2])
    # Float32 without ZeRO trains the weights themselves; every other combination keeps a float32 master copy.
    master = 0 if size == 4 and trainer.zero_stage == 0 else 4
    offloaded = trainer.offload_optimizer and device == "cuda"
    fetched = trainer.offload_parameters and device == "cuda"
    gathered = _gathered(model) * size if trainer.zero_stage == 3 and (ranks > 1 or fetched) else 0
    through_memory = device == "cpu" or config.sync.transport == "shared_memory"
    sent = exported if num_engines(config) else 0
    bucket = min(sent, max(config.sync.bucket_mib * MIB, model.largest * size))
    # Adapters are merged into a copy; parts come side by side, and are put together in another.
    copies = (gathered > 0) + model.lora + 2 * model.divided
    return TrainerMemory(
        parameters=parameter_share * size,
        gradients=gradient_share * 4,
        optimizer=optimizer_share * (master + 8),
        offloaded=offloaded,
        fetched=fetched,
        reference=parameter_share * size if copied else 0,
        gathered=gathered,
        bucket=_bucket(config, device, size, model),
        activations=activations,
        logits=logits,
        reduction=_reduction(config, device, size, model, ranks, gathered + activations),
        step=0 if offloaded else _step(config, optimizer_share),
        packed=0 if device == "cpu" else bucket * copies + min(sent, 0 if through_memory else _packed(config)),
        mapped=bucket * (2 if sent > bucket else 1) if through_memory else 0,
        loading=loading * size,
        exported=exported,
        overhead=RANK_OVERHEAD[device],
    )


def _gathered(model: _Model) -> int:
    """Elements: at the end of the forward pass, layers that the backward pass needs again within the reuse distance,
    what is fetched ahead, and the largest tensor, in use."""
    return min(model.count, REUSE_ELEMENTS // 2 + PREFETCH_ELEMENTS + model.largest)


def _bucket(config: RunConfig, device: Device, size: int, model: _Model) -> int:
    """A GPU's allocator hands out all of a bucket, and a CPU's pages come as they are written. ZeRO-1 reduces in
    float32; under ZeRO-1 and ZeRO-2 a GPU has two buckets that take turns."""
    stage = config.trainer.zero_stage
    if stage == 0:
        return 0
    written = BUCKET_ELEMENTS[device] if device == "cuda" else min(model.moving, BUCKET_ELEMENTS[device])
    return written * (4 if stage == 1 else size) * (2 if device == "cuda" and stage < 3 else 1)


def _reduction(config: RunConfig, device: Device, size: int, model: _Model, ranks: int, activations: int) -> int:
    """Bytes when a full bucket is reduced: its gradients side by side for each rank, once more where gloo works on a
    copy (a reduce-scatter on a CPU), and this rank's part in float32; with the activations that are left by then."""
    stage = config.trainer.zero_stage
    if stage == 0:  # DeepSpeed flattens so many gradients at one time, after the pass
        return 4 * min(model.moving, BUCKET_ELEMENTS["cuda"])
    elements = min(model.moving, max(BUCKET_ELEMENTS[device], model.largest))
    left = activations * max(0, model.moving - elements) // model.moving
    copies = 2 if stage == 3 and device == "cpu" else 1
    own = 4 * elements // ranks if stage == 3 and size != 4 else 0
    return left + copies * elements * (4 if stage == 1 else size) + own


def _step(config: RunConfig, share: int) -> int:
    """Bytes in the optimizer's step: the gradients, flat. Adam computes in place, by PyTorch's fused kernel on CPUs and
    DeepSpeed's on GPUs. Without ZeRO it steps tensor by tensor."""
    return 0 if config.trainer.zero_stage == 0 else 4 * min(share, STEP_ELEMENTS)


def _packed(config: RunConfig) -> int:
    """Bytes of vLLM's buffers: two that take turns through nccl, one through ipc."""
    return PACKED if config.resources.placement == "shared" else 2 * PACKED


def engine_memory(config: RunConfig, shape: ModelShape, device: Device, dtype: Dtype,
                  device_bytes: int) -> EngineMemory:
    """What one engine worker needs; where engines differ, of the narrowest, which holds most of the model.

    device_bytes: its GPU's memory; unused on a CPU, whose cache has a size of its own.
    On a GPU the cache is what weights and work space leave of `gpu_memory_utilization`: 0 where they leave nothing.
    """
    rollout, size = config.rollout, DTYPE_BYTES[dtype]
    kind = min(rollout.kinds, key=lambda kind: kind.tensor_parallel)
    weights = shape.parameters * size // kind.tensor_parallel
    overhead = ENGINE_OVERHEAD[device]
    cache = int(rollout.kv_cache_gib * GIB)
    if device == "cuda":
        cache = max(0, int(rollout.gpu_memory_utilization * device_bytes) - weights - overhead)
    per_token = shape.kv_bytes_per_token(bytes_per_element=size, tensor_parallel=kind.tensor_parallel)
    # Through ipc an engine reads the trainer's own buffer, through shared memory the file.
    arriving = _packed(config) if device == "cuda" and config.resources.placement == "separate" else 0
    return EngineMemory(weights=weights, cache=cache, overhead=overhead, cache_tokens=cache // per_token,
                        transfer=min(shape.parameters * size, arriving), step_tokens=_step_tokens(config, kind))


def _step_tokens(config: RunConfig, kind: EngineKind) -> int:
    rollout = config.rollout
    part = kind.share / sum(other.share * other.count for other in rollout.kinds)
    answers = math.ceil(rollout.prompts_per_step * rollout.oversample * rollout.group_size * part)
    at_once = min(answers, kind.max_num_seqs)
    prompts = -(-at_once // rollout.group_size)
    return at_once * rollout.max_new_tokens + prompts * rollout.max_prompt_tokens
