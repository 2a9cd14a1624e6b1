"""What the loop works with: engines, ranks, scoring, prompts, records on disk. Built from a configuration, taken down
in the opposite order whatever happens."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from reasongym.config import RunConfig
from reasongym.models import load_tokenizer, model_folder
from reasongym.planning import Plan
from reasongym.records import Prompt
from reasongym.rollout.pool import EnginePool
from reasongym.rollout.prompts import PromptSource
from reasongym.rollout.requests import engine_settings
from reasongym.scoring import ScoringPool
from reasongym.sync.checksums import compare
from reasongym.sync.transports import backend_name
from reasongym.tasks import RewardPart, Task
from reasongym.tracking import Diagnosis, MetricsLog, Progress, RunFolder
from reasongym.training.checkpoints import Checkpoints
from reasongym.training.cluster import ray_cluster
from reasongym.training.group import RankGroup
from reasongym.training.rank import RankSettings
from reasongym.training.zero import ZeroSettings

__all__ = ["Interrupted", "Session", "Stop", "open_session", "run_checkpoints"]


class Interrupted(Exception):
    """SIGTERM or Ctrl-C was received; raised where the run can be left with nothing half-done."""


@dataclass
class Stop:
    """Remembers a signal until the loop can act on it. A second one ends the process at once."""

    signal: int | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            os._exit(128 + number)
        self.signal = number

    def check(self) -> None:
        if self.signal is not None:
            raise Interrupted

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        before = {number: signal.signal(number, self) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@dataclass(kw_only=True)
class Session:
    """One run's parts. `model`: a path for loaders; `parts`: reward parts with the run's verifier and weights."""

    config: RunConfig
    plan: Plan
    model: str
    task: Task
    parts: tuple[RewardPart, ...]
    prompts: PromptSource
    held_out: list[Prompt]
    engines: EnginePool
    ranks: RankGroup
    scoring: ScoringPool
    folder: RunFolder
    checkpoints: Checkpoints
    metrics: MetricsLog
    progress: Progress
    weight_bytes: int
    diagnosis: Diagnosis = field(default_factory=Diagnosis)
    stop: Stop = field(default_factory=Stop)
    verified: bool = False

    def push_weights(self, version: int) -> dict[str, float]:
        """The policy to every engine as `version`, checked as sync.verify says. Raises SyncError."""
        started = time.monotonic()
        verify = self.config.sync.verify == "always" or (self.config.sync.verify == "first" and not self.verified)
        if self.plan.shares_gpus:
            self.engines.call("wake_up")
        digests = self.ranks.call("send_weights", version, verify)[0]
        values = {"sync/seconds": time.monotonic() - started, "sync/bytes": float(self.weight_bytes)}
        if verify and self.config.rollout.tensor_parallel == 1:
            for index, got in enumerate(self.engines.call("checksums")):
                compare(digests, got, engine=index, version=version)
            values["sync/verify_seconds"] = time.monotonic() - started - values["sync/seconds"]
            self.verified = True
        return values

    def release_engines(self) -> None:
        """Where engine and trainer share a GPU: the engine sleeps while the trainer works."""
        if self.plan.shares_gpus:
            self.engines.call("sleep")


@contextlib.contextmanager
def open_session(config: RunConfig, plan: Plan, folder: RunFolder, progress: Progress, *, task: Task,
                 parts: Sequence[RewardPart]) -> Iterator[Session]:
    """Start everything, cheap and likely to fail first. Engines and ranks load side by side."""
    model = model_folder(config.model.path)
    tokenizer = load_tokenizer(model, trust_remote_code=config.model.trust_remote_code)
    prompts = PromptSource(task, config.task.split, tokenizer=tokenizer, seed=config.seed,
                           max_tokens=config.rollout.max_prompt_tokens)
    held_out = _held_out(config, task, tokenizer)
    with contextlib.ExitStack() as stack:
        scoring = stack.enter_context(ScoringPool(parts, workers=config.scoring.workers,
                                                  timeout_s=config.scoring.timeout_s,
                                                  memory_mib=config.scoring.memory_mib))
        metrics = MetricsLog(folder, config.tracking.tensorboard)
        stack.callback(metrics.close)
        for note in metrics.notes:
            progress.note(note)
        progress.note("starting Ray, the engines and the training ranks")
        cluster = stack.enter_context(ray_cluster(config, plan))
        engines = EnginePool(engine_settings(config, plan, model, transport=backend_name(plan.transport)),
                             cluster.engines,
                             start_timeout_s=config.rollout.start_timeout_s,
                             completion_timeout_s=config.rollout.completion_timeout_s)
        stack.callback(engines.close)
        ranks = RankGroup(_rank_settings(config, plan, model), cluster.ranks,
                          start_timeout_s=config.trainer.start_timeout_s, step_timeout_s=config.trainer.step_timeout_s)
        stack.callback(ranks.close)
        if plan.shares_gpus:
            # The engine measures the GPU's free memory as it starts, so the ranks come after it, while it sleeps.
            engines.wait_ready()
            engines.call("sleep")
        counts = ranks.build()
        engines.wait_ready()
        ranks.call("connect", plan.transport, engines.engines, config.rollout.tensor_parallel, config.sync.timeout_s)
        checkpoints = run_checkpoints(config, folder, task)
        yield Session(config=config, plan=plan, model=model, task=task, parts=tuple(parts), prompts=prompts,
                      held_out=held_out, engines=engines, ranks=ranks, scoring=scoring, folder=folder, metrics=metrics,
                      progress=progress, checkpoints=checkpoints, weight_bytes=counts["bytes"])


def _held_out(config: RunConfig, task: Task, tokenizer: Any) -> list[Prompt]:
    """The same held-out prompts throughout the run and between runs of one seed."""
    if not config.evaluation.every:
        return []
    source = PromptSource(task, config.evaluation.split, tokenizer=tokenizer, seed=config.seed,
                          max_tokens=config.rollout.max_prompt_tokens)
    return source.take(min(config.evaluation.prompts, source.rows or config.evaluation.prompts))


def run_checkpoints(config: RunConfig, folder: RunFolder, task: Task) -> Checkpoints:
    """The run's checkpoints, which fit runs of the same model, ranks, data and seed only."""
    fits = {"model": config.model.path, "ranks": config.trainer.ranks, "zero_stage": config.trainer.zero_stage,
            "task": config.task.name, "data": task.provenance()["fingerprint"], "seed": config.seed}
    return Checkpoints(folder.checkpoints, keep_last=config.checkpoint.keep_last,
                       keep_best=config.checkpoint.keep_best, fits=fits)


def _rank_settings(config: RunConfig, plan: Plan, model: str) -> RankSettings:
    t = config.trainer
    zero = ZeroSettings(stage=t.zero_stage, dtype=plan.dtype, device=plan.device, learning_rate=t.learning_rate,
                        weight_decay=t.weight_decay, betas=(t.beta1, t.beta2), max_grad_norm=t.max_grad_norm,
                        offload_optimizer=t.offload_optimizer)
    return RankSettings(
        model=model, zero=zero, world=t.ranks, temperature=config.rollout.temperature,
        chunk_tokens=t.logprob_chunk_tokens, gradient_checkpointing=t.gradient_checkpointing,
        trust_remote_code=config.model.trust_remote_code, reference=config.algorithm.kl.coefficient > 0,
        bucket_bytes=config.sync.bucket_mib * 2**20, threads=max(1, plan.hardware.cores // t.ranks),
        timeout_s=t.step_timeout_s, seed=config.seed)
