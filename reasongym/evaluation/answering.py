"""Where an evaluation's answers come from: engines on this machine, or an endpoint."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, Protocol

from reasongym.evaluation.asking import Question, ask_all
from reasongym.evaluation.assembling import answer_of, engine_record
from reasongym.evaluation.endpoint import Endpoint, EndpointSettings, Served
from reasongym.evaluation.job import Job, Request
from reasongym.evaluation.journal import Journal
from reasongym.evaluation.record import EngineRecord
from reasongym.evaluation.run import Key
from reasongym.evaluation.samples import Answer
from reasongym.records import Completion

__all__ = ["EndpointSource", "EngineSource", "Engines", "Source"]

AT_ONE_TIME = 4096  # requests handed to Ray together: each wait for the next answer goes through all of them
SEED_BITS = (1 << 31) - 1  # some servers take a seed for a 32-bit number


class Source(Protocol):
    """What `answers` gives is in the journal already; what the journal knew before is not asked for."""

    @property
    def served(self) -> tuple[str, ...]: ...

    def answers(self, job: Job, journal: Journal) -> Generator[tuple[Key, Answer], None, None]: ...

    def record(self, job: Job) -> EngineRecord: ...


class Engines(Protocol):
    """What an engine pool does; a pool's requests are of its own kind."""

    def stream(self, requests: Sequence[Any]) -> Iterator[tuple[Any, Completion]]: ...


class EngineSource:
    """Engines on this machine."""

    served: tuple[str, ...] = ()

    def __init__(self, engines: Engines) -> None:
        self._engines = engines

    def answers(self, job: Job, journal: Journal) -> Generator[tuple[Key, Answer], None, None]:
        requests = _unknown(job.requests, journal.known)
        for start in range(0, len(requests), AT_ONE_TIME):
            for request, completion in self._engines.stream(requests[start:start + AT_ONE_TIME]):
                answer = answer_of(completion, request.prompt)
                journal.keep(request.key, answer)
                yield request.key, answer

    def record(self, job: Job) -> EngineRecord:
        return engine_record(job.config)


class EndpointSource:
    """An endpoint. deadline_s: for all of a task's answers; what is not there by then is missing."""

    def __init__(self, concurrency: int, deadline_s: float) -> None:
        self._concurrency, self._deadline_s = concurrency, deadline_s
        self._said = Served((), (), "")

    @property
    def served(self) -> tuple[str, ...]:
        return self._said.models

    def answers(self, job: Job, journal: Journal) -> Generator[tuple[Key, Answer], None, None]:
        assert isinstance(job.where, EndpointSettings)
        endpoint = Endpoint(job.where)
        questions = [Question(request.key, request.prompt, request.seed & SEED_BITS)
                     for request in _unknown(job.requests, journal.known)]
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


def _unknown(requests: Sequence[Request], known: Mapping[Key, Answer]) -> list[Request]:
    return [request for request in requests if request.key not in known]
