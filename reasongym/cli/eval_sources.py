"""Where the answers of `reasongym eval` come from: engines on this machine, or an endpoint."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import click

from reasongym.evaluation.assembling import answer_of, engine_record
from reasongym.evaluation.endpoint import Endpoint, EndpointSettings, Served
from reasongym.evaluation.record import EngineRecord
from reasongym.evaluation.samples import Answer

if TYPE_CHECKING:
    from reasongym.cli.eval_job import Job
    from reasongym.config import RunConfig
    from reasongym.evaluation.journal import Journal
    from reasongym.planning import Plan
    from reasongym.rollout.pool import EnginePool
    from reasongym.rollout.requests import Request

__all__ = ["Source", "open_engines", "open_source"]

AT_ONE_TIME = 4096  # requests handed to Ray together: each wait for the next answer goes through all of them
SEED_BITS = (1 << 31) - 1  # some servers take a seed for a 32-bit number

Key = tuple[int, int]


class Source(Protocol):
    """What `answers` gives is in the journal already."""

    @property
    def served(self) -> tuple[str, ...]: ...

    def answers(self, job: Job, journal: Journal) -> Generator[tuple[Key, Answer], None, None]: ...

    def record(self, job: Job) -> EngineRecord: ...


@contextlib.contextmanager
def open_source(job: Job, options: Mapping[str, Any]) -> Iterator[Source]:
    """For all tasks of a call: engines are started once."""
    if isinstance(job.where, EndpointSettings):
        yield _Remote(options["concurrency"], options["deadline"])
        return
    click.echo("starting the engines")
    with open_engines(job.config, job.where.plan, job.where.model) as engines:
        yield _Engines(engines)


class _Engines:
    """Engines on this machine."""

    served: tuple[str, ...] = ()

    def __init__(self, engines: EnginePool) -> None:
        self._engines = engines

    def answers(self, job: Job, journal: Journal) -> Generator[tuple[Key, Answer], None, None]:
        requests = _requests(job, journal.known)
        for start in range(0, len(requests), AT_ONE_TIME):
            for request, completion in self._engines.stream(requests[start:start + AT_ONE_TIME]):
                answer = answer_of(completion, request.prompt)
                journal.keep(request.key, answer)
                yield request.key, answer

    def record(self, job: Job) -> EngineRecord:
        return engine_record(job.config)


class _Remote:
    """An endpoint."""

    def __init__(self, concurrency: int, deadline_s: float) -> None:
        self._concurrency, self._deadline_s = concurrency, deadline_s
        self._said = Served((), (), "")

    @property
    def served(self) -> tuple[str, ...]:
        return self._said.models

    def answers(self, job: Job, journal: Journal) -> Generator[tuple[Key, Answer], None, None]:
        from reasongym.evaluation.asking import Question, ask_all

        assert isinstance(job.where, EndpointSettings)
        endpoint = Endpoint(job.where)
        questions = [Question(request.key, request.prompt, request.seed & SEED_BITS)
                     for request in _requests(job, journal.known)]
        stream = ask_all(endpoint, questions, concurrency=self._concurrency,
                         deadline=time.monotonic() + self._deadline_s,
                         keep=lambda question, answer: journal.keep(question.key, answer))
        with contextlib.closing(stream):
            for question, answer in stream:
                yield question.key, answer
        self._said = endpoint.served

    def record(self, job: Job) -> EngineRecord:
        assert isinstance(job.where, EndpointSettings)
        return EngineRecord(kind="endpoint", api=job.where.api, server=self._said.server,
                            fingerprints=self._said.fingerprints,
                            settings={"sends_seed": job.where.sends_seed, "concurrency": self._concurrency})


def _requests(job: Job, known: Mapping[Key, Answer]) -> Sequence[Request]:
    """What is not known yet; seeds are those of an evaluation that was never cut off."""
    from reasongym.rollout.requests import requests_for

    decoding = job.decoding
    requests = requests_for(job.prompts, samples=decoding.samples, max_new_tokens=decoding.max_new_tokens,
                            temperature=decoding.temperature, seed=decoding.seed, step=0)
    return [request for request in requests if request.key not in known]


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
