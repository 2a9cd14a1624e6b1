"""The pool: answers in, Verdicts out, as they finish; verifiers run in processes that can be killed at any moment."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING, Self

from reasongym.errors import ConfigError, ScoringError, message
from reasongym.scoring.answers import AnswerQueue, Job, Verdicts
from reasongym.scoring.cache import VerdictCache
from reasongym.scoring.process import make_setup
from reasongym.scoring.protocol import IN_WORKER, encode_answer
from reasongym.scoring.slot import Slot
from reasongym.tasks import Example, RewardPart
from reasongym.verifiers import Status, Verdict

if TYPE_CHECKING:
    from reasongym.config.sections import ScoringConfig

__all__ = ["ScoringPool"]

MAX_TIMEOUT_S = 86_400.0


class ScoringPool:
    """Runs the verifiers of `parts` on answers, in `workers` processes.

    timeout_s: wall time one answer may take, all parts together; then the worker is killed. memory_mib: address space a
    worker may map beyond what it has mapped once its verifiers are loaded. queue_size: answers that may wait before
    `submit` blocks. cache_size: verdicts of that many answers are remembered, and equal answers in flight are checked
    once (0: neither). start_timeout_s: wall time a worker may take to import its verifiers.

    Verifiers of batches get what waits when a worker is free, at most `batch_size` answers and never waiting for more;
    a coroutine function gets as many at once, each in a task of its own. Others get one after another; of answers that
    take a few milliseconds several are sent ahead, and go to another worker where the first one is lost.
    Such a batch has `timeout_s` too, for all those parts together, after each of its answers had `timeout_s` for the
    parts that take single answers. A batch that is killed is TIMEOUT for each of its answers; one that fails, ERROR.

    A verifier that raises, crashes, runs out of memory or returns no verdict gives ERROR; one that takes too long gives
    TIMEOUT. Parts finished before a crash or time-out keep their verdict, those not begun share the fate. Any thread
    may submit; a future's callback may not, for it runs in the thread that would have to take the answer.
    Raises UnknownNameError for a verifier that is not found or whose file does not import, ConfigError for a wrong
    number, ScoringError where a worker does not start.
    """

    def __init__(self, parts: Sequence[RewardPart], *, workers: int, timeout_s: float, memory_mib: int,
                 queue_size: int = 256, cache_size: int = 4096, batch_size: int = 32,
                 start_timeout_s: float = 120.0) -> None:
        _check_arguments(parts, workers=workers, timeout_s=timeout_s, memory_mib=memory_mib, queue_size=queue_size,
                         cache_size=cache_size, batch_size=batch_size, start_timeout_s=start_timeout_s)
        self._parts = tuple(part.name for part in parts)
        self._batch_size = batch_size
        self._queue = AnswerQueue(queue_size, VerdictCache(cache_size))
        setup = make_setup([part.verifier for part in parts], memory_mib=memory_mib, timeout_s=timeout_s)
        self._slots = [Slot(setup, self._parts, timeout_s=timeout_s, start_timeout_s=start_timeout_s)
                       for _ in range(workers)]
        self._threads: list[threading.Thread] = []
        self._start()

    @classmethod
    def configured(cls, parts: Sequence[RewardPart], config: ScoringConfig) -> Self:
        """A pool by the section `scoring` of a configuration."""
        return cls(parts, workers=config.workers, timeout_s=config.timeout_s, memory_mib=config.memory_mib,
                   batch_size=config.batch_size, start_timeout_s=config.start_timeout_s)

    def _start(self) -> None:
        started: list[Future[None]] = [Future() for _ in self._slots]
        # Daemons: a program that forgets to close the pool still ends, and its workers end with it.
        self._threads = [threading.Thread(target=self._serve, args=pair, name=f"scoring-{number}", daemon=True)
                         for number, pair in enumerate(zip(self._slots, started, strict=True))]
        for thread in self._threads:
            thread.start()
        try:
            for ready in started:
                ready.result()
        except BaseException:  # cleaned up, and raised again
            self.close()
            raise

    def submit(self, response: str, example: Example) -> Future[Verdicts]:
        """Check one answer: a Verdict a part, keyed by part name, in the order of parts. Blocks on a full queue.

        Raises DataError where the row's reference or fields are not plain JSON values, ScoringError on a closed pool.
        """
        return self._queue.put(encode_answer(response, example))

    @property
    def counts(self) -> dict[Status, int]:
        """Answers so far by status: ERROR when any part failed, TIMEOUT when any was killed, else the first part's."""
        return self._queue.counts

    @property
    def num_cached(self) -> int:
        """Answers so far that needed no check of their own: an equal one was known, or on its way."""
        return self._queue.num_shared

    @property
    def num_replaced(self) -> int:
        """Workers so far that were killed or crashed."""
        return sum(slot.num_replaced for slot in self._slots)

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of the workers now running."""
        return tuple(pid for slot in self._slots for pid in slot.pids)

    def close(self) -> None:
        """Cancel what waits, kill and reap every worker. An answer being checked gets ScoringError. May be repeated."""
        self._queue.close()
        for slot in self._slots:
            slot.stop()
        for thread in self._threads:
            thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def _serve(self, slot: Slot, started: Future[None]) -> None:
        """One thread a slot: it starts the worker, feeds it, and replaces it. It lives until the pool is closed."""
        try:
            slot.start()
        except Exception as error:  # boundary: the constructor raises it
            started.set_exception(error)
            return
        started.set_result(None)
        among = 1 if slot.takes_many else len(self._slots)
        while jobs := self._queue.take(slot.appetite(self._batch_size), among=among):
            self._run(slot, jobs)
        slot.close()

    def _run(self, slot: Slot, jobs: list[Job]) -> None:
        left = dict(enumerate(jobs))

        def done(place: int, verdicts: Verdicts) -> None:
            self._queue.finish(left.pop(place), verdicts)

        try:
            slot.check([job.frame for job in jobs], done)
        except Exception as error:  # boundary: no future is left without a result
            with contextlib.suppress(ScoringError):  # what cannot be killed is left to itself
                slot.discard()
            if not self._queue.is_closed:
                failed = Verdict.error(f"no worker could check it: {type(error).__name__}: {error}")
                # A batch shares it; of a turn it is that of the answer whose turn it was.
                for place in list(left) if slot.takes_many else list(left)[:1]:
                    done(place, dict.fromkeys(self._parts, failed))
        if left:
            self._queue.give_back(list(left.values()))
        slot.renew()


def _check_arguments(parts: Sequence[RewardPart], **numbers: float) -> None:
    names = [part.name for part in parts]
    if not names or len(set(names)) < len(names):
        raise ConfigError(message("a scoring pool needs reward parts of different names", got=names,
                                  expected="one part or more, each with a name of its own", remedy="rename the parts"))
    least = {"workers": 1, "memory_mib": 1, "queue_size": 1, "cache_size": 0, "batch_size": 1}
    for name, value in numbers.items():
        if name.endswith("timeout_s") and not 0 < value <= MAX_TIMEOUT_S:
            raise ConfigError(message(f"{name} is out of range", got=value, remedy="give seconds",
                                      expected=f"above 0, at most {MAX_TIMEOUT_S:g}"))
        if value < least.get(name, value):
            raise ConfigError(message(f"{name} is out of range", got=value, expected=f"at least {least[name]}",
                                      remedy=f"raise {name}"))
    if os.environ.get(IN_WORKER) == str(os.getpid()):
        raise ScoringError(message("a scoring worker tries to start a pool of its own",
                                   got="a verifier's file that does so",
                                   expected="a file that only defines things when it is imported",
                                   remedy='put what runs under `if __name__ == "__main__":`'))
