"""The engines or the endpoint of `reasongym eval`, started once for all its tasks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from reasongym.config import RunConfig
    from reasongym.evaluation.answering import Source
    from reasongym.evaluation.job import Job
    from reasongym.planning import Plan
    from reasongym.rollout.pool import EnginePool

__all__ = ["open_engines", "open_source"]


@contextlib.contextmanager
def open_source(job: Job, options: Mapping[str, Any]) -> Iterator[Source]:
    """job: any of the call's, for all have the same engines."""
    from reasongym.evaluation.answering import EndpointSource, EngineSource
    from reasongym.evaluation.job import Local

    if not isinstance(job.where, Local):
        yield EndpointSource(options["concurrency"], options["deadline"])
        return
    click.echo("starting the engines")
    with open_engines(job.config, job.where.plan, job.where.model) as engines:
        yield EngineSource(engines)


@contextlib.contextmanager
def open_engines(config: RunConfig, plan: Plan, model: str) -> Iterator[EnginePool]:
    """The engines of a training run, without ranks and without weight transfer."""
    from reasongym.rollout.pool import EnginePool
    from reasongym.rollout.requests import engine_settings
    from reasongym.training.cluster import ray_cluster

    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(ray_cluster(config, plan))
        engines = EnginePool(engine_settings(config, plan, model, transport=None), cluster.engines,
                             start_timeout_s=config.rollout.start_timeout_s,
                             completion_timeout_s=config.rollout.completion_timeout_s,
                             restarts=config.rollout.max_restarts, on_loss=click.echo)
        stack.callback(engines.close)
        engines.wait_ready()
        yield engines
