"""What the driver spends on an answer: 100,000 answers of 1,000 tokens through the training loop's own `train_step`.

Engines are Ray actors that answer at once and ranks such that learn nothing. All between them is what a run has:
prompts through the chat template, the engine pool, the scoring pool with its workers, groups, advantages,
micro-batches, metrics and rollouts on disk. All these processes share the machine's cores.

    python -m benchmarks.coordinator profile [sync|async]     where the driver's time goes, of 8,192 answers
"""

from __future__ import annotations

import asyncio
import contextlib
import cProfile
import io
import os
import pstats
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import ray

from benchmarks.processor_time import seconds_by_part
from reasongym.algorithms.correction import MismatchSums
from reasongym.arrays import flags, floats, integers
from reasongym.config import RunConfig, load_config
from reasongym.config.sections import LoraConfig
from reasongym.models import EMBEDDED, load_tokenizer, model_folder
from reasongym.records import Completion, FinishReason
from reasongym.rollout import pool as pool_module
from reasongym.rollout.pool import EnginePool
from reasongym.rollout.prompts import PromptSource
from reasongym.rollout.requests import EngineSettings
from reasongym.scoring import ScoringPool
from reasongym.tracking import MetricsLog, Progress, RunFolder
from reasongym.tracking.loggers import Loggers, RunInfo
from reasongym.training.checkpoints import LoopState
from reasongym.training.garbage import settled
from reasongym.training.group import RankGroup
from reasongym.training.loop import train_step
from reasongym.training.quiet import quiet_libraries
from reasongym.training.rows import MicroBatch
from reasongym.training.session import Session
from reasongym.training.task import make_task, reward_parts
from reasongym.training.update import LossSettings
from reasongym.training.zero import ZeroSettings
from reasongym.training.zero_rank import RankSettings, StepTotals, ZeroRank

PROMPTS, GROUP = 128, 8  # of a step, as in the recipe gpu8
TOKENS = 1000
MARKS = (1_000, 10_000, 100_000)
MIB = 2**20
DRAWN = 64  # answers an engine draws; it gives each of them many times


def measure() -> dict[str, float]:
    """By the answers made so far, of those since the mark before: answers a second, microseconds of processor time for
    one in the driver and in each other part, and the driver's resident memory."""
    found: dict[str, float] = {}
    for mode in ("sync", "async"):
        found |= {f"{mode}_{name}": value for name, value in run(mode, MARKS).items()}
    return found


def run(mode: str, marks: Sequence[int], *, prompts: int = PROMPTS, tokens: int = TOKENS) -> dict[str, float]:
    """One run up to the last mark, on a Ray of its own."""
    found: dict[str, float] = {}
    with local_ray(), stand_in_session(mode, marks[-1], prompts=prompts, tokens=tokens) as session, settled():
        state = train_step(session, LoopState())  # caches, imports and first pages
        done, began, spent, resident = 0, time.perf_counter(), seconds_by_part(), resident_mib()
        for mark in marks:
            before = done
            while done < mark:
                state = train_step(session, state)
                done += prompts * GROUP
            now, cpu = time.perf_counter(), seconds_by_part()
            values = {"per_second": (done - before) / (now - began), "resident_mib": resident_mib()} | {
                f"{part}_us": 1e6 * (cpu[part] - spent[part]) / (done - before) for part in sorted(spent)}
            print(f"{mode} to {done:>7,} answers: " + ", ".join(f"{name} {v:,.0f}" for name, v in values.items()),
                  flush=True)
            found |= {f"{name}_to_{mark}": value for name, value in values.items()}
            began, spent = now, cpu
        assert len(session.metrics.read()) == state.step
    return found | {"resident_mib_grown_by": found[f"resident_mib_to_{marks[-1]}"] - resident}


@contextlib.contextmanager
def stand_in_session(mode: str, answers: int, *, prompts: int, tokens: int) -> Iterator[Session]:
    """A run's session over engines and ranks that only stand there, on a Ray that runs."""
    config = load_config("cpu", overrides=[f"{key}={value}" for key, value in {
        "task.name": "arithmetic", "task.settings": "{range: [1, 3]}", "rollout.prompts_per_step": prompts,
        "rollout.group_size": GROUP,
        "rollout.max_new_tokens": tokens, "rollout.mode": mode, "rollout.engines": 2, "trainer.ranks": 2,
        "trainer.micro_batch_tokens": 16_384, "evaluation.every": 0, "checkpoint.every": 0,
        "steps": 2 + -(-answers // (prompts * GROUP)), "tracking.loggers": "[]"}.items()])
    quiet_libraries()  # as a run does
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as stack:
        yield _session(config, RunFolder(Path(scratch) / "run"), stack)


@contextlib.contextmanager
def local_ray() -> Iterator[None]:
    """As large as a run's own."""
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR",
             object_store_memory=512 * MIB)
    yield
    ray.shutdown()


def _session(config: RunConfig, folder: RunFolder, stack: contextlib.ExitStack) -> Session:
    task = make_task(config, training=True)
    parts = reward_parts(config, task)
    prompts = PromptSource(task, config.task.split, tokenizer=load_tokenizer(model_folder(EMBEDDED)), seed=config.seed,
                           max_tokens=config.rollout.max_prompt_tokens)
    scoring = stack.enter_context(ScoringPool.configured(parts, config.scoring))
    progress = stack.enter_context(Progress(config.steps, plain=True, stream=io.StringIO()))
    loggers = Loggers((), RunInfo(name="run", folder=str(folder.path), config={}, project=None, prometheus_host="",
                                  prometheus_port=0), timeout_s=60, tell=progress.note)
    metrics = MetricsLog(folder, False)
    stack.callback(metrics.close)
    engines = _engines(config)
    stack.callback(engines.close)
    ranks = RankGroup(StandInRank, _rank_settings(config), [({"num_cpus": 0}, here())] * config.trainer.ranks,
                      start_timeout_s=300, step_timeout_s=300)
    stack.callback(ranks.close)
    plan: Any = SimpleNamespace(shares_gpus=False, critic_apart=False)
    session = StandInSession(
        config=config, plan=plan, model="", task=task, parts=parts, judges=(), prompts=prompts, held_out=[],
        engines=engines, ranks=ranks, scoring=scoring, folder=folder, metrics=metrics, loggers=loggers,
        progress=progress, checkpoints=SimpleNamespace(steps=list), weight_bytes=0)  # type: ignore[arg-type]
    stack.callback(session.stop_sampling)
    session.push_weights(0)
    return session


def _engines(config: RunConfig) -> EnginePool:
    def start(settings: EngineSettings, index: int, placement: Any) -> Any:
        options = {"num_cpus": 0, "max_concurrency": 100, "runtime_env": {"env_vars": here()}}
        return ray.remote(StandInEngine).options(**options).remote(index, settings.max_tokens)

    with mock.patch.object(pool_module, "start_engine", start):
        settings = EngineSettings(model="", dtype="", device="cpu", max_tokens=config.rollout.max_new_tokens)
        engines = EnginePool(settings, [({}, {})] * config.rollout.num_engines, start_timeout_s=300,
                             completion_timeout_s=300)
    engines.wait_ready()
    return engines


def _rank_settings(config: RunConfig) -> RankSettings:
    zero = ZeroSettings(stage=0, dtype="float32", device="cpu", learning_rate=0.0, weight_decay=0.0, betas=(0.9, 0.999),
                        max_grad_norm=1.0, offload_optimizer=False)
    return RankSettings(model="", zero=zero, world=config.trainer.ranks, temperature=1.0, chunk_tokens=1024,
                        gradient_checkpointing=False, trust_remote_code=False, reference=False, bucket_bytes=MIB,
                        threads=1, timeout_s=300, seed=0, lora=LoraConfig())


def here() -> dict[str, str]:
    """Environment variables by which an actor finds this file."""
    return {"PYTHONPATH": str(Path(__file__).parent.parent), "CUDA_VISIBLE_DEVICES": ""}


class StandInSession(Session):
    """Weights are a number that the engines are told."""

    def push_weights(self, version: int) -> dict[str, float]:
        self.engines.call("hold", version)
        if self.ahead:
            self.ahead.advance(version)
        return {}


class StandInEngine:
    """Answers each request at once, with `tokens` tokens. No two answers are alike, and one or two of eight are right:
    those to sums of 1 to 3 lie between 2 and 6."""

    def __init__(self, index: int, tokens: int) -> None:
        draw = random.Random(index)
        self.index, self.version, self.count = index, 0, 0
        self.drawn = [(integers(draw.randrange(49_000) for _ in range(tokens)),
                       floats(-draw.expovariate(1) for _ in range(tokens))) for _ in range(DRAWN)]
        self.mask = flags([True]) * tokens
        self.words = "so the sum is one more " * (tokens // 6)
        self.ended: list[tuple[int, Completion]] = []
        self.arrived = asyncio.Event()

    async def ready(self) -> int:
        return self.index

    async def hold(self, version: int) -> None:
        self.version = version

    async def submit(self, requests: Sequence[tuple[int, tuple[int, ...], Any]]) -> None:
        self.ended += [(number, self._answer(sampling)) for number, _, sampling in requests]
        self.arrived.set()

    async def completions(self, timeout_s: float) -> list[tuple[int, Completion]]:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.arrived.wait(), timeout_s)
        self.arrived.clear()
        ended, self.ended = self.ended, []
        return ended

    async def cancel(self) -> None:
        self.ended = []

    async def shutdown(self) -> None: ...

    def _answer(self, sampling: Any) -> Completion:
        self.count += 1
        token_ids, logprobs = self.drawn[self.count % DRAWN]
        return Completion(token_ids=token_ids, logprobs=logprobs, mask=self.mask, seed=sampling["seed"],
                          versions=integers([self.version]) * len(token_ids), engine=self.index,
                          text=f"{self.words} {self.index}-{self.count}\n#### {2 + self.count % 5}",
                          finish_reason=FinishReason.STOP)


class StandInRank(ZeroRank):
    """Takes its micro-batches and makes no step."""

    def train(self, micros: Sequence[MicroBatch], loss: LossSettings, learning_rate: float) -> StepTotals:
        tokens = float(sum(len(sample.token_ids) for micro in micros for sample in micro.samples))
        return StepTotals(loss=0.0, grad_norm=1.0, mismatch=MismatchSums(), sums={"tokens": tokens},
                          seconds=1e-3)

    def close(self) -> None:
        """Nothing is held."""


def resident_mib() -> float:
    """Of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MIB


def profile(mode: str) -> None:
    """Prints what each of the driver's threads spends processor time on, the busiest first."""
    profilers: dict[str, cProfile.Profile] = {}
    run_thread = threading.Thread.run

    def run_profiled(thread: threading.Thread) -> None:
        profilers[thread.name] = cProfile.Profile(time.thread_time)
        profilers[thread.name].runcall(run_thread, thread)

    own = cProfile.Profile(time.thread_time)
    with (mock.patch.object(threading.Thread, "run", run_profiled), local_ray(),
          stand_in_session(mode, 8 * PROMPTS * GROUP, prompts=PROMPTS, tokens=TOKENS) as session, settled()):
        state = train_step(session, LoopState())
        own.enable()
        for _ in range(8):
            state = train_step(session, state)
        own.disable()
    found = {name: pstats.Stats(profiler) for name, profiler in {"loop": own, **profilers}.items()}
    for name, stats in sorted(found.items(), key=lambda pair: -pair[1].total_tt):  # type: ignore[attr-defined]
        print(f"\n==== thread {name}")
        stats.sort_stats("tottime").print_stats(30)


if __name__ == "__main__":
    profile(*sys.argv[2:3] or ["sync"])
