"""A session from a configuration: everything started, cheap and likely to fail first, and taken down in the opposite
order whatever happens."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from reasongym.config import RunConfig
from reasongym.config.policy_gradient import PpoConfig
from reasongym.evaluation.judging import open_judges
from reasongym.models import load_tokenizer, model_folder
from reasongym.planning import Plan
from reasongym.planning.placement import num_critic_ranks
from reasongym.records import Prompt
from reasongym.rollout.elastic import Elastic
from reasongym.rollout.orders import OrderBook
from reasongym.rollout.pool import EnginePool
from reasongym.rollout.prompts import PromptSource
from reasongym.rollout.requests import engine_settings, settings_of_kind
from reasongym.sync.transports import backend_name
from reasongym.tasks import RewardPart, Task
from reasongym.tracking import MetricsLog, Progress, RunFolder
from reasongym.tracking.loggers import Loggers
from reasongym.training.checkpoints import Checkpoints
from reasongym.training.cluster import Cluster, ray_cluster
from reasongym.training.critic import CriticRank, critic_settings
from reasongym.training.group import RankGroup
from reasongym.training.machines import check_machines
from reasongym.training.model_files import model_fingerprint
from reasongym.training.offline import OfflineSource
from reasongym.training.rank import Rank
from reasongym.training.session import Session, Stop
from reasongym.training.sharing import may_share_rows
from reasongym.training.zero import ZeroSettings
from reasongym.training.zero_rank import RankSettings

__all__ = ["open_session", "run_checkpoints", "shares_prompt"]


@contextlib.contextmanager
def open_session(config: RunConfig, plan: Plan, folder: RunFolder, progress: Progress, loggers: Loggers, *,
                 task: Task, parts: Sequence[RewardPart], examples: OfflineSource | None = None) -> Iterator[Session]:
    """Start everything, cheap and likely to fail first. Engines and ranks load side by side."""
    model = model_folder(config.model.path)
    tokenizer = load_tokenizer(model, trust_remote_code=config.model.trust_remote_code)
    prompts = PromptSource(task, config.task.split, tokenizer=tokenizer, seed=config.seed,
                           max_tokens=config.rollout.max_prompt_tokens)
    held_out = _held_out(config, task, tokenizer)
    with contextlib.ExitStack() as stack:
        scoring, judges = stack.enter_context(open_judges(parts, config.scoring))
        metrics = MetricsLog(folder, "tensorboard" in config.tracking.loggers, loggers.row, progress.note)
        stack.callback(metrics.close)
        for note in metrics.notes:
            progress.note(note)
        progress.note("starting Ray, the engines and the training ranks")
        cluster = stack.enter_context(ray_cluster(config, plan))
        check_machines(cluster.machines, folder.path, model)
        engines = EnginePool(engine_settings(config, plan, model, transport=backend_name(plan.transport)),
                             cluster.engines,
                             start_timeout_s=config.rollout.start_timeout_s,
                             completion_timeout_s=config.rollout.completion_timeout_s,
                             restarts=config.rollout.max_restarts, on_loss=progress.note)
        stack.callback(cluster.head.unless_gone, engines.close)
        settings = _rank_settings(config, plan, model)
        if config.trainer.share_prompt and not settings.share_prompt:
            progress.note("every answer is read in a row of its own: not all of the model's layers see a whole prompt "
                          "and its answer")
        ranks = RankGroup(Rank, settings, cluster.ranks, watch=cluster.head.check,
                          start_timeout_s=config.trainer.start_timeout_s, step_timeout_s=config.trainer.step_timeout_s)
        stack.callback(cluster.head.unless_gone, ranks.close)
        if plan.shares_gpus:
            # The engine measures the GPU's free memory as it starts, so the ranks come after it, while it sleeps.
            engines.wait_ready()
            engines.call("sleep")
        counts = ranks.build()
        critic = _critic(config, ranks.settings, cluster, stack)
        engines.wait_ready()
        checkpoints = run_checkpoints(config, folder, task, examples)
        session = Session(config=config, plan=plan, model=model, task=task, parts=tuple(parts), judges=judges,
                      prompts=prompts, held_out=held_out, engines=engines, ranks=ranks, critic=critic,
                      scoring=scoring, folder=folder, metrics=metrics, progress=progress, checkpoints=checkpoints,
                      weight_bytes=counts["bytes"], examples=examples, loggers=loggers,
                      stop=Stop(watch=cluster.head.check))
        session.elastic = _elastic(session, cluster)
        stack.callback(cluster.head.unless_gone, session.stop_sampling)
        yield session


def _elastic(session: Session, cluster: Cluster) -> Elastic | None:
    """What changes the engines as the run's user asks; None for a run without engines."""
    if not session.engines.engines:
        return None
    config, plan = session.config, session.plan
    groups = [settings_of_kind(kind, config, plan, session.model, transport=backend_name(plan.transport))
              for kind in config.rollout.kinds]
    fixed = "engines and ranks take turns on the same GPUs (resources.placement=shared)" if plan.shares_gpus else ""
    return Elastic(session.engines, OrderBook(session.folder.path), cluster.room, groups, fixed=fixed,
                   tell=session.progress.note)


def _critic(config: RunConfig, policy: RankSettings, cluster: Cluster,
            stack: contextlib.ExitStack) -> RankGroup | None:
    """PPO's critic, loaded; None for other algorithms."""
    if not isinstance(config.algorithm, PpoConfig):
        return None
    critic = RankGroup(CriticRank, critic_settings(policy, config.algorithm.critic), cluster.critic,
                       watch=cluster.head.check, start_timeout_s=config.trainer.start_timeout_s,
                       step_timeout_s=config.trainer.step_timeout_s)
    stack.callback(cluster.head.unless_gone, critic.close)
    critic.build()
    return critic


def _held_out(config: RunConfig, task: Task, tokenizer: Any) -> list[Prompt]:
    """The same held-out prompts throughout the run and between runs of one seed."""
    if not config.evaluation.every:
        return []
    source = PromptSource(task, config.evaluation.split, tokenizer=tokenizer, seed=config.seed,
                          max_tokens=config.rollout.max_prompt_tokens)
    taken = source.take(min(config.evaluation.prompts, source.rows or config.evaluation.prompts))
    # In the order of `reasongym eval`; each once, where rows that were too long had the walk begin again.
    return sorted({prompt.example.index: prompt for prompt in taken}.values(), key=lambda prompt: prompt.example.index)


def run_checkpoints(config: RunConfig, folder: RunFolder, task: Task,
                    examples: OfflineSource | None = None) -> Checkpoints:
    """The run's checkpoints, which fit runs of the same model, ranks, data and seed only."""
    fits = {"model": config.model.path, "model_files": model_fingerprint(config.model.path),
            "ranks": config.trainer.ranks, "zero_stage": config.trainer.zero_stage,
            "tensor_parallel": config.trainer.tensor_parallel,
            "critic_ranks": num_critic_ranks(config) or None, "task": config.task.name,
            "data": task.provenance()["fingerprint"], "seed": config.seed,
            "examples": examples.provenance["fingerprint"] if examples else None,
            "lora": config.model.lora.model_dump(mode="json") if config.model.lora.rank else None}
    return Checkpoints(folder.checkpoints, keep_last=config.checkpoint.keep_last,
                       keep_best=config.checkpoint.keep_best, fits=fits)


def _rank_settings(config: RunConfig, plan: Plan, model: str) -> RankSettings:
    t = config.trainer
    zero = ZeroSettings(stage=t.zero_stage, dtype=plan.dtype, device=plan.device, learning_rate=t.learning_rate,
                        weight_decay=t.weight_decay, betas=(t.beta1, t.beta2), max_grad_norm=t.max_grad_norm,
                        offload_optimizer=t.offload_optimizer, offload_parameters=t.offload_parameters,
                        tensor_parallel=t.tensor_parallel)
    return RankSettings(
        model=model, zero=zero, world=t.ranks,
        temperature=config.rollout.temperature if config.algorithm.samples else 1.0,  # of a file: nothing was scaled
        chunk_tokens=t.logprob_chunk_tokens, gradient_checkpointing=t.gradient_checkpointing,
        trust_remote_code=config.model.trust_remote_code, reference=config.algorithm.needs_reference,
        bucket_bytes=config.sync.bucket_mib * 2**20, threads=_threads(config, plan),
        timeout_s=t.step_timeout_s, seed=config.seed, lora=config.model.lora,
        entropy_gradient=getattr(config.algorithm, "entropy_coefficient", 0.0) > 0,
        share_prompt=shares_prompt(config, model), sequence_parallel=t.sequence_parallel)


def _threads(config: RunConfig, plan: Plan) -> int:
    """Of each rank, on the fullest machine: an even part of its cores."""
    return max(1, plan.hardware.cores // -(-config.trainer.ranks // config.resources.nodes))


def shares_prompt(config: RunConfig, model: str) -> bool:
    """Where it was asked for and the model's layers allow it."""
    longest = config.rollout.max_prompt_tokens + config.rollout.max_new_tokens
    return config.trainer.share_prompt and may_share_rows(model, longest=longest,
                                                          trust_remote_code=config.model.trust_remote_code)
