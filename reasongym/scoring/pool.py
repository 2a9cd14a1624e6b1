"""The pool: answers in, Verdicts out, as they finish; verifiers run in processes that can be killed at any moment."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from types import TracebackType
from typing import NamedTuple, Self

from reasongym.errors import ConfigError, ScoringError, message
from reasongym.scoring.cache import VerdictCache
from reasongym.scoring.process import WorkerProcess, make_setup
from reasongym.scoring.protocol import IN_WORKER, decode, encode_answer, verdict_from_record
from reasongym.tasks import Example, RewardPart
from reasongym.verifiers import Status, Verdict

__all__ = ["ScoringPool"]

Verdicts = dict[str, Verdict]
MAX_TIMEOUT_S = 86_400.0


class _Job(NamedTuple):
    frame: bytes
    key: bytes
    future: Future[Verdicts]


class _Outcome(NamedTuple):
    verdicts: Verdicts
    usable: bool  # whether the worker can take the next answer


class ScoringPool:
    """Runs the verifiers of `parts` on answers, in `workers` processes.

    timeout_s: wall time one answer may take, all parts together; then the worker is killed. memory_mib: address space a
    worker may map beyond what it has mapped once its verifiers are loaded. queue_size: answers that may wait before
    `submit` blocks. cache_size: verdicts of that many answers are remembered (0: none).

    A verifier that raises, crashes, runs out of memory or returns no verdict gives ERROR; one that takes too long gives
    TIMEOUT. Parts finished before a crash or time-out keep their verdict, those not begun share the fate. Any thread
    may submit; a future's callback may not, for it runs in the thread that would have to take the answer.
    Raises UnknownNameError for a verifier that is not found, ConfigError for a wrong number, ScoringError where a
    worker does not start.
    """

    def __init__(self, parts: Sequence[RewardPart], *, workers: int, timeout_s: float, memory_mib: int,
                 queue_size: int = 256, cache_size: int = 4096) -> None:
        _check_arguments(parts, workers=workers, timeout_s=timeout_s, memory_mib=memory_mib, queue_size=queue_size,
                         cache_size=cache_size)
        self._parts = tuple(part.name for part in parts)
        self._setup = make_setup([part.verifier for part in parts], memory_mib)
        self._timeout_s = timeout_s
        self._queue_size = queue_size
        self._cache = VerdictCache(cache_size)
        self._changed = threading.Condition()
        self._jobs: deque[_Job] = deque()
        self._closed = False
        self._running: dict[int, WorkerProcess] = {}
        self._counts: Counter[Status] = Counter()
        self._num_cached = 0
        self._num_replaced = 0
        self._threads = self._start(workers)

    def _start(self, workers: int) -> list[threading.Thread]:
        started: list[Future[None]] = [Future() for _ in range(workers)]
        # Daemons: a program that forgets to close the pool still ends, and its workers end with it.
        threads = [threading.Thread(target=self._serve, args=(slot, ready), name=f"scoring-{slot}", daemon=True)
                   for slot, ready in enumerate(started)]
        for thread in threads:
            thread.start()
        try:
            for ready in started:
                ready.result()
        except BaseException:  # cleaned up, and raised again
            self._stop(threads)
            raise
        return threads

    def submit(self, response: str, example: Example) -> Future[Verdicts]:
        """Check one answer: a Verdict a part, keyed by part name, in the order of parts. Blocks on a full queue.

        Raises DataError where the row's reference or fields are not plain JSON values, ScoringError on a closed pool.
        """
        frame = encode_answer(response, example)
        job = _Job(frame, hashlib.sha256(frame).digest(), Future())
        known = self._cache.get(job.key)
        with self._changed:
            self._changed.wait_for(lambda: self._closed or known or len(self._jobs) < self._queue_size)
            if self._closed:
                raise _closed("submit")
            if known is None:
                self._jobs.append(job)
                self._changed.notify_all()
                return job.future
            self._num_cached += 1
        self._finish(job, known)
        return job.future

    @property
    def counts(self) -> dict[Status, int]:
        """Answers so far by status: ERROR when any part failed, TIMEOUT when any was killed, else the first part's."""
        with self._changed:
            return {status: self._counts[status] for status in Status}

    @property
    def num_cached(self) -> int:
        """Answers so far that were known already."""
        return self._num_cached

    @property
    def num_replaced(self) -> int:
        """Workers so far that were killed or crashed."""
        return self._num_replaced

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of the workers now running."""
        with self._changed:
            return tuple(worker.pid for worker in self._running.values())

    def close(self) -> None:
        """Cancel what waits, kill and reap every worker. An answer being checked gets ScoringError. May be repeated."""
        self._stop(self._threads)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def _stop(self, threads: Sequence[threading.Thread]) -> None:
        with self._changed:
            self._closed = True
            waiting, workers = list(self._jobs), list(self._running.values())
            self._jobs.clear()
            self._changed.notify_all()
        for job in waiting:
            job.future.cancel()
        for worker in workers:
            worker.kill()
        for thread in threads:
            thread.join()

    def _serve(self, slot: int, started: Future[None]) -> None:
        """One thread a worker: it starts the worker, feeds it, and replaces it. It lives until the pool is closed."""
        try:
            self._launch(slot)
        except Exception as error:  # boundary: the constructor raises it
            started.set_exception(error)
            return
        started.set_result(None)
        while (job := self._take()) is not None:
            if job.future.set_running_or_notify_cancel():
                self._run(slot, job)
        self._discard(slot)

    def _take(self) -> _Job | None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._jobs)
            if self._closed:
                return None
            self._changed.notify_all()
            return self._jobs.popleft()

    def _run(self, slot: int, job: _Job) -> None:
        try:
            outcome = self._check(self._running.get(slot) or self._launch(slot), job.frame)
        except Exception as error:  # boundary: no future is left without a result
            failed = Verdict.error(f"no worker could check it: {type(error).__name__}: {error}")
            outcome = _Outcome(dict.fromkeys(self._parts, failed), usable=False)
        if not outcome.usable:
            self._discard(slot)
        if not outcome.usable and self._closed:
            job.future.set_exception(_closed("check an answer"))
            return
        self._cache.put(job.key, outcome.verdicts)
        self._finish(job, outcome.verdicts)
        if not outcome.usable:
            with self._changed:
                self._num_replaced += 1
            with contextlib.suppress(ScoringError, OSError):  # tried again with the next answer, whose verdict says why
                self._launch(slot)

    def _check(self, worker: WorkerProcess, frame: bytes) -> _Outcome:
        begun = time.monotonic()
        verdicts: Verdicts = {}
        usable = True
        try:
            worker.channel.send(frame, begun + self._timeout_s)
            for part in self._parts:
                reply = decode(worker.channel.receive(begun + self._timeout_s))
                verdicts[part] = verdict_from_record(reply["verdict"])
                usable = usable and not reply["retire"]
            return _Outcome(verdicts, usable)
        except TimeoutError:
            fate = Verdict.timeout(f"no verdict within {self._timeout_s:g} s; the worker was killed")
        except (EOFError, OSError):
            fate = Verdict.error(worker.obituary())
        return _Outcome(self._complete(verdicts, fate, time.monotonic() - begun), usable=False)

    def _complete(self, verdicts: Verdicts, fate: Verdict, seconds: float) -> Verdicts:
        """The part that was running gets `fate`, those behind it get it without having run."""
        running, *behind = self._parts[len(verdicts):]
        spent = sum(verdict.seconds for verdict in verdicts.values())
        not_run = replace(fate, reason=f"not run after part {running!r}: {fate.reason}")
        return {**verdicts, running: replace(fate, seconds=max(seconds - spent, 0.0)), **dict.fromkeys(behind, not_run)}

    def _finish(self, job: _Job, verdicts: Verdicts) -> None:
        statuses = [verdict.status for verdict in verdicts.values()]
        gravest = next((status for status in (Status.ERROR, Status.TIMEOUT) if status in statuses), statuses[0])
        with self._changed:
            self._counts[gravest] += 1
        job.future.set_result(dict(verdicts))

    def _launch(self, slot: int) -> WorkerProcess:
        worker = WorkerProcess(self._setup)
        with self._changed:
            if not self._closed:
                self._running[slot] = worker
                return worker
        worker.close()
        raise _closed("start a worker")

    def _discard(self, slot: int) -> None:
        with self._changed:
            worker = self._running.pop(slot, None)
        if worker is not None:
            worker.close()


def _closed(action: str) -> ScoringError:
    return ScoringError(message(f"the scoring pool cannot {action}", got="a closed pool", expected="an open one",
                                remedy="take every result before the pool's `with` block ends"))


def _check_arguments(parts: Sequence[RewardPart], **numbers: float) -> None:
    names = [part.name for part in parts]
    if not names or len(set(names)) < len(names):
        raise ConfigError(message("a scoring pool needs reward parts of different names", got=names,
                                  expected="one part or more, each with a name of its own", remedy="rename the parts"))
    least = {"workers": 1, "memory_mib": 1, "queue_size": 1, "cache_size": 0}
    for name, value in numbers.items():
        if name == "timeout_s" and not 0 < value <= MAX_TIMEOUT_S:
            raise ConfigError(message("timeout_s is out of range", got=value,
                                      expected=f"above 0, at most {MAX_TIMEOUT_S:g}",
                                      remedy="give the seconds one answer may take"))
        if value < least.get(name, value):
            raise ConfigError(message(f"{name} is out of range", got=value, expected=f"at least {least[name]}",
                                      remedy=f"raise {name}"))
    if os.environ.get(IN_WORKER) == str(os.getpid()):
        raise ScoringError(message("a scoring worker tries to start a pool of its own",
                                   got="a verifier's file that does so",
                                   expected="a file that only defines things when it is imported",
                                   remedy='put what runs under `if __name__ == "__main__":`'))
