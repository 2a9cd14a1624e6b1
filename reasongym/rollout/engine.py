"""One vLLM engine behind a Ray actor: sampling, weight reception, sleep.

vLLM runs its core in processes of its own; this actor is their front and never holds weights itself. Requests come and
completions go in lists: a Ray call a completion would cost the driver more than all else that it does.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import logging
import os
import sys
import time
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, TypeVar

from reasongym.records import Completion, FinishReason
from reasongym.rollout.requests import EngineSettings
from reasongym.sync.checksums import ALL, Columns
from reasongym.sync.door import Visitor
from reasongym.sync.orphans import IN_ENGINE

__all__ = ["Engine", "actor_environment", "engine_arguments"]

T = TypeVar("T")
HEALTH_EVERY_S = 1.0


def actor_environment(device: str) -> dict[str, str]:
    """Environment variables of an engine's processes; they must be set before Python starts."""
    variables = {"VLLM_LOGGING_LEVEL": "WARNING", "TQDM_DISABLE": "1", "VLLM_NO_USAGE_STATS": "1",
                 "TOKENIZERS_PARALLELISM": "false", "VLLM_ENGINE_ITERATION_TIMEOUT_S": "600",
                 IN_ENGINE: "1"}
    if device == "cpu":
        library = os.path.join(sys.prefix, "lib", "libiomp5.so")  # Intel's OpenMP samples a quarter faster
        if os.path.exists(library):
            variables["LD_PRELOAD"] = library
        # vLLM keeps a core free for its front end by default: of two cores it would sample on one.
        variables["VLLM_CPU_NUM_OF_RESERVED_CPU"] = "0"
    return variables


class Engine:
    """The actor. Every method but the constructor is a coroutine, so calls overlap."""

    def __init__(self, settings: EngineSettings, index: int) -> None:
        logging.getLogger("vllm").setLevel(logging.WARNING)
        self.settings, self.index, self.count, self.version = settings, index, 0, "0"
        self.held_at, self.paused_s = 0.0, 0.0
        self.door: Visitor | None = None
        self.tasks: dict[int, asyncio.Future[Completion]] = {}
        self.ended: list[tuple[int, asyncio.Future[Completion]]] = []
        self.arrival = asyncio.Event()
        gc.disable()  # nothing that vLLM brings is garbage: to look for it would be a fifth of the import
        self.llm = _build(settings)
        gc.enable()

    async def ready(self) -> int:
        """Answers once the engine is built and while vLLM's own processes live: this actor's index."""
        await self.llm.check_health()
        return self.index

    async def submit(self, requests: Sequence[tuple[int, tuple[int, ...], Mapping[str, Any]]]) -> None:
        """Begin to sample. Each is (number, prompt's token ids, sampling: max_tokens, temperature, seed)."""
        for number, token_ids, sampling in requests:
            task = asyncio.ensure_future(self._sample(token_ids, sampling))
            self.tasks[number] = task
            task.add_done_callback(functools.partial(self._ended, number))

    async def completions(self, timeout_s: float) -> list[tuple[int, Completion]]:
        """What ended since the last call; waits up to `timeout_s` for something to end. Raises what sampling raised."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.arrival.wait(), timeout_s)
        self.arrival.clear()
        ended, self.ended = self.ended, []
        return [(number, task.result()) for number, task in ended]

    async def cancel(self) -> None:
        """Forget all that is being sampled."""
        tasks, self.tasks = list(self.tasks.values()), {}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.ended = []

    def _ended(self, number: int, task: asyncio.Future[Completion]) -> None:
        if self.tasks.pop(number, None) is not None:
            self.ended.append((number, task))
            self.arrival.set()

    async def _sample(self, token_ids: tuple[int, ...], sampling: Mapping[str, Any]) -> Completion:
        from vllm import SamplingParams, TokensPrompt
        from vllm.sampling_params import RequestOutputKind

        started = time.monotonic()
        self.count += 1
        parameters = SamplingParams(**sampling, logprobs=0, output_kind=RequestOutputKind.FINAL_ONLY)
        final = None
        # Prefixes are shared between requests of one version only. The cache cannot be emptied while something is being
        # sampled: with asynchronous sampling a system prompt's keys and values would stay those of the first weights.
        prompt = TokensPrompt(prompt_token_ids=list(token_ids), cache_salt=self.version)
        async for output in self.llm.generate(prompt, parameters, request_id=f"{self.index}-{self.count}"):
            final = output
        assert final is not None
        sampled = final.outputs[0]
        if sampled.finish_reason not in ("stop", "length"):
            raise RuntimeError(f"vLLM ended a request with finish_reason={sampled.finish_reason!r}")
        ids = tuple(sampled.token_ids)
        return Completion(
            token_ids=ids,
            logprobs=tuple(float(entry[token].logprob) for token, entry in zip(ids, sampled.logprobs, strict=True)),
            mask=(True,) * len(ids), versions=_versions(sampled.weight_versions, len(ids)), text=sampled.text,
            finish_reason=FinishReason.LENGTH if sampled.finish_reason == "length" else FinishReason.STOP,
            seed=int(sampling["seed"]), engine=self.index, seconds=time.monotonic() - started)

    async def init_weight_transfer_engine(self, init_info: dict[str, Any]) -> None:
        from vllm.distributed.weight_transfer.base import WeightTransferInitRequest

        await self._answered(self.llm.init_weight_transfer_engine(WeightTransferInitRequest(init_info=init_info)))

    async def start_weight_update(self) -> None:
        """Open an update. Sampling is held for all of it, unless the new weights are prepared beside those in use."""
        if self.door is None:
            address, *_ = await self._answered(self.llm.collective_rpc("reasongym_door"))
            self.door = await self._answered(asyncio.to_thread(Visitor, *address)) if address else None
        if self.door is not None:
            await self._through("stage")
            return
        await self._hold()
        await self._answered(self.llm.start_weight_update())

    async def update_weights(self, update_info: Any) -> None:
        from vllm.distributed.weight_transfer.base import WeightTransferUpdateRequest

        if self.door is not None:
            await self._through("prepare", update_info)
            return
        await self._answered(self.llm.update_weights(WeightTransferUpdateRequest(update_info=update_info)))

    async def finish_weight_update(self, weight_version: str | None = None) -> None:
        """Close the update, forget prefixes computed with the old weights, stamp the version, sample again."""
        if self.door is not None:
            await self._hold()
            await self._answered(self.llm.collective_rpc("reasongym_swap"))
        else:
            await self._answered(self.llm.finish_weight_update())
        if weight_version is not None:
            await self._answered(self.llm.update_weight_version(weight_version))
            self.version = weight_version
        recompute = self.settings.in_flight == "recompute"
        await self._answered(self.llm.reset_prefix_cache(reset_running_requests=recompute))
        await self._answered(self.llm.resume_generation())
        self.paused_s = time.monotonic() - self.held_at

    async def _hold(self) -> None:
        """Sample no more. The step that is being computed ends; what is in flight freezes then, and goes on later, or
        ends first."""
        drain = self.settings.in_flight == "drain"
        began = time.monotonic()
        # What `pause_generation` asks of the core, which then sleeps for 20 ms more.
        await self._answered(self.llm.engine_core.pause_scheduler_async(mode="wait" if drain else "keep",
                                                                        clear_cache=False))
        self.held_at = began if drain else time.monotonic()

    async def pause_seconds(self) -> float:
        """How long sampling was held for the last update."""
        return self.paused_s

    async def _through(self, *question: Any) -> None:
        assert self.door is not None
        await self._answered(asyncio.to_thread(self.door.ask, *question, timeout_s=self.settings.update_timeout_s))

    async def checksums(self, columns: Columns = ALL) -> dict[str, str]:
        """Checkpoint name -> digest of the weights in use (`sync.checksums`)."""
        return dict((await self._answered(self.llm.collective_rpc("reasongym_checksums", args=tuple(columns))))[0])

    async def corrupt(self, name: str) -> None:
        """Damage one parameter. For tests of the checksums only."""
        await self.llm.collective_rpc("reasongym_corrupt", args=(name,))

    async def _answered(self, call: Awaitable[T]) -> T:
        """What vLLM's core answers. One that has died never does, and vLLM waits for it."""
        task = asyncio.ensure_future(call)
        while not (await asyncio.wait([task], timeout=HEALTH_EVERY_S))[0]:
            try:
                await self.llm.check_health()
            except Exception:  # of whatever kind: the call is given up, and the error goes on
                task.cancel()
                raise
        return task.result()

    async def sleep(self) -> None:
        """Give the GPU to the trainer: weights to host memory, KV cache dropped."""
        await self.llm.sleep(level=1)

    async def wake_up(self) -> None:
        await self.llm.wake_up()

    async def shutdown(self) -> None:
        """End vLLM's processes."""
        self.llm.shutdown()


def _build(settings: EngineSettings) -> Any:
    """vLLM, with its core in a process of its own.

    On a CPU the core holds the model itself. vLLM would put it in a worker beside the core, only so that OpenMP finds
    in its environment which cores its threads have: the core is given that here. A worker would import all of vLLM once
    more, a third of the time that a small model takes to start, and each token would pass between the two. What is lost
    is vLLM's deadline for a step of the worker, 300 s; `rollout.completion_timeout_s` is the one that is left.
    """
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.usage.usage_lib import UsageContext
    from vllm.utils.ompmultiprocessing import OMPProcessManager
    from vllm.v1.engine.async_llm import AsyncLLM

    arguments = engine_arguments(settings)
    is_alone = settings.device == "cpu" and settings.tensor_parallel == 1
    if is_alone:
        arguments["distributed_executor_backend"] = "uni"
        os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"  # else vLLM makes "mp" of it; the core is one anyway
    config = AsyncEngineArgs(**arguments).create_engine_config(UsageContext.ENGINE_CONTEXT)
    with OMPProcessManager(config).configure_omp_envs(0, 0) if is_alone else contextlib.nullcontext():
        return AsyncLLM.from_vllm_config(config, disable_log_stats=True)


def _versions(spans: Sequence[Any] | None, length: int) -> tuple[int, ...]:
    """The policy version that sampled each token. spans: vLLM's, one a version, each from its first token on.

    An engine that was given no weights yet calls its version "default": the run's first, 0.
    """
    if not spans:
        return (0,) * length
    ends = [*(span.start for span in spans[1:]), length]
    return tuple(int(span.version) if span.version.isdigit() else 0
                 for span, end in zip(spans, ends, strict=True) for _ in range(span.start, end))


def engine_arguments(settings: EngineSettings) -> dict[str, Any]:
    """What vLLM is told of the engine, as keywords of its EngineArgs."""
    from vllm.config.weight_transfer import WeightTransferConfig

    arguments: dict[str, Any] = {
        "model": settings.model, "dtype": settings.dtype, "max_model_len": settings.max_tokens,
        "tensor_parallel_size": settings.tensor_parallel, "max_num_seqs": settings.max_num_seqs,
        "enforce_eager": settings.enforce_eager, "enable_prefix_caching": True, "seed": settings.seed,
        # The policy ratio needs logprobs of the distribution that was sampled: after temperature.
        "logprobs_mode": "processed_logprobs",
        # A model's own generation_config may cut the distribution (top_k, top_p) behind our back.
        "generation_config": "vllm",
        "disable_log_stats": True, "trust_remote_code": settings.trust_remote_code,
        "worker_extension_cls": "reasongym.sync.engine_side.WorkerExtension",
    }
    if settings.transport:
        arguments["weight_transfer_config"] = WeightTransferConfig(backend=settings.transport)
    if settings.tensor_parallel > 1:
        # In a placement group, as here, vLLM would ask Ray for the workers, and refuse the bundle of several GPUs.
        arguments["distributed_executor_backend"] = "mp"
    if settings.device == "cpu":
        # vLLM 0.32 on CPU rewinds a seeded generator when a prompt is split over two iterations, which PyTorch's CPU
        # generator cannot do ("CPU Generator does not use offset"); whole prompts avoid it.
        # Only whole blocks of a prompt are shared by its group. vLLM's 128 on CPU shares nothing of a shorter prompt;
        # 32, the smallest that its attention takes there, samples 1.4 (GSM8K) to 1.65 times (sums) as fast.
        arguments |= {"enable_chunked_prefill": False, "max_num_batched_tokens": max(8192, settings.max_tokens),
                      "block_size": 32, "kv_cache_memory_bytes": int(settings.kv_cache_gib * 2**30)}
    else:
        arguments |= {"gpu_memory_utilization": settings.gpu_memory_utilization,
                      "enable_sleep_mode": settings.sleep_mode}
    return arguments
