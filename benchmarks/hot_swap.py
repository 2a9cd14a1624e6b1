"""New weights into a real engine while it samples: how long it stands still, and the whole way from the ranks.

The embedded model on ZeRO-3 ranks (one, then two), one vLLM engine in a process of its own, our shared memory between
them, in float32 and in bfloat16; beside them a plain copy of the same bytes, and what packing them for the engine's
kernels takes with nothing else to do. The engine samples throughout in one half of the pushes, and waits in the other.
The first push, which goes through vLLM's own reload, is reported apart.
DTYPES=float32 leaves the other out: without its instructions a CPU samples in bfloat16 for many minutes.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ray
import torch

from reasongym.models import EMBEDDED, model_folder
from reasongym.records import Prompt
from reasongym.rollout.pool import EnginePool
from reasongym.rollout.requests import EngineSettings, requests_for
from reasongym.sync.transports import backend_name
from reasongym.tasks import Example
from reasongym.training.group import RankGroup
from reasongym.training.rank import Rank
from reasongym.training.zero import ZeroSettings
from reasongym.training.zero_rank import RankSettings

PUSHES = 10
BUCKET_MIB = 256


def measure() -> dict[str, float]:
    """Seconds: medians over the pushes, and the longest pause."""
    figures: dict[str, float] = {}
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, logging_level="ERROR",
             object_store_memory=100 * 2**20)
    try:
        for dtype in os.environ.get("DTYPES", "float32 bfloat16").split():
            figures |= {f"{dtype}_{name}": value for name, value in one(dtype).items()}
    finally:
        ray.shutdown()
    return figures


def one(dtype: str) -> dict[str, float]:
    """All figures of one number format."""
    model = model_folder(EMBEDDED)
    settings = EngineSettings(model=model, dtype=dtype, device="cpu", max_tokens=512, kv_cache_gib=0.5,
                              max_num_seqs=16, transport=backend_name("shared_memory"))
    pool = EnginePool(settings, [({"num_cpus": 0}, {})], start_timeout_s=300, completion_timeout_s=300, restarts=0,
                      on_loss=print)
    figures: dict[str, float] = {}
    try:
        pool.wait_ready()
        for world in (1, 2):
            figures |= pushes(pool, ranks(model, dtype, world), world)
    finally:
        pool.close()
    weights = torch.zeros(int(figures["bytes"] // 4))
    target = torch.zeros_like(weights)
    figures["copy_seconds"] = statistics.median(_timed(lambda: target.copy_(weights)) for _ in range(PUSHES))
    return figures | {"packing_seconds": packing(model, dtype)}


def packing(model: str, dtype: str) -> float:
    """vLLM's own, of every matrix of the model, by all cores; the ones before are freed as an update frees them."""
    from safetensors.torch import load_file
    from vllm.model_executor.layers.utils import dispatch_cpu_unquantized_gemm

    found = [tensor for file in Path(model).glob("*.safetensors") for tensor in load_file(file).values()]
    layers = [torch.nn.Linear(1, 1, bias=False).requires_grad_(False) for _ in found]
    for layer, tensor in zip(layers, found, strict=True):
        layer.weight = torch.nn.Parameter(tensor.to(getattr(torch, dtype)), requires_grad=False)
    matrices = [layer for layer in layers if layer.weight.ndim == 2]
    return statistics.median(
        _timed(lambda: [dispatch_cpu_unquantized_gemm(layer, remove_weight=False) for layer in matrices])
        for _ in range(PUSHES))


def ranks(model: str, dtype: str, world: int) -> RankGroup:
    """ZeRO-3 ranks that hold the model."""
    zero = ZeroSettings(stage=3, dtype=dtype, device="cpu", learning_rate=1e-6, weight_decay=0.0,  # type: ignore[arg-type]
                        betas=(0.9, 0.999), max_grad_norm=1.0, offload_optimizer=False)
    settings = RankSettings(model=model, zero=zero, world=world, temperature=1.0, chunk_tokens=512,
                            gradient_checkpointing=False, trust_remote_code=False, reference=False,
                            bucket_bytes=BUCKET_MIB * 2**20, threads=1, timeout_s=300, seed=0)
    return RankGroup(Rank, settings, [({"num_cpus": 0}, {})] * world, start_timeout_s=300, step_timeout_s=300)


def pushes(pool: EnginePool, group: RankGroup, world: int) -> dict[str, float]:
    """The figures of one number of ranks."""
    try:
        counts = group.build()
        handles = pool.feedable(lambda: None)
        group.call("connect", "shared_memory", handles, [1] * len(handles), 300.0)
        versions = iter(range(1, 1000))

        def push() -> tuple[float, float]:
            seconds = _timed(lambda: group.call("send_weights", next(versions), None))
            return seconds, max(pool.call("pause_seconds"))

        first, _ = push()
        idle = [push() for _ in range(PUSHES)]
        with ThreadPoolExecutor(1) as sampler:
            sampling = sampler.submit(sample, pool)
            busy = []
            while len(busy) < PUSHES and not sampling.done():
                busy.append(push())
            sampling.result()
    finally:
        group.close()
    name = f"ranks{world}"
    return {"bytes": float(counts["bytes"]), f"{name}_first_seconds": first,
            f"{name}_sync_seconds": statistics.median(seconds for seconds, _ in idle),
            f"{name}_pause_seconds": statistics.median(pause for _, pause in idle),
            f"{name}_sampling_pushes": float(len(busy)),
            f"{name}_sampling_sync_seconds": statistics.median(seconds for seconds, _ in busy),
            f"{name}_sampling_pause_seconds": statistics.median(pause for _, pause in busy),
            f"{name}_sampling_longest_pause_seconds": max(pause for _, pause in busy)}


def sample(pool: EnginePool) -> int:
    """Eight long answers side by side, as a step of training has them in flight."""
    prompts = [Prompt(example=Example(task="t", split="test", index=i, messages=(), reference=""), text="",
                      token_ids=tuple(range(100 + i, 120 + i))) for i in range(8)]
    requests = requests_for(prompts, samples=1, max_new_tokens=400, temperature=1.0, seed=0, step=1)
    return sum(len(completion.token_ids) for _, completion in pool.stream(requests))


def _timed(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
