"""Answers between `submit` and their verdicts: what waits, what is being checked, and who waits for the same."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter, deque
from collections.abc import Sequence
from concurrent.futures import Future

from reasongym.errors import ScoringError, message
from reasongym.scoring.cache import VerdictCache
from reasongym.verifiers import Status, Verdict

__all__ = ["AnswerQueue", "Job", "Verdicts", "closed_pool"]

Verdicts = dict[str, Verdict]  # by part name, in the order of the parts
MAX_BATCH_BYTES = 64 * 2**20


class Job:
    """An answer to check, once, for everyone who submitted it."""

    __slots__ = ("frame", "futures", "is_running", "key", "num_followers")

    def __init__(self, key: bytes, frame: bytes, future: Future[Verdicts]) -> None:
        self.key = key
        self.frame = frame
        self.futures = [future]
        self.num_followers = 0
        self.is_running = False


class AnswerQueue:
    """Answers in the order they came. Safe between threads.

    size: answers that may wait before `put` blocks; those that wait for an equal one's verdict count too. Where the
    cache remembers nothing, equal answers are checked apart as well: the verifier may depend on more than the answer.
    """

    def __init__(self, size: int, cache: VerdictCache) -> None:
        self._size = size
        self._cache = cache
        self._lock = threading.Lock()
        self._room, self._work = (threading.Condition(self._lock) for _ in range(2))  # what `put` and `take` wait for
        self._waiting: deque[Job] = deque()
        self._unfinished: dict[bytes, Job] = {}
        self._num_waiting = 0
        self._num_shared = 0
        self._counts: Counter[Status] = Counter()
        self._closed = False

    @property
    def is_closed(self) -> bool:
        return self._closed

    @property
    def counts(self) -> dict[Status, int]:
        with self._lock:
            return {status: self._counts[status] for status in Status}

    @property
    def num_shared(self) -> int:
        """Answers that needed no check of their own."""
        return self._num_shared

    def put(self, frame: bytes) -> Future[Verdicts]:
        """Raises ScoringError where the queue is closed."""
        key = hashlib.sha256(frame).digest()
        future: Future[Verdicts] = Future()
        with self._room:
            self._room.wait_for(lambda: self._closed or self._num_waiting < self._size or key in self._cache)
            if self._closed:
                raise closed_pool("submit")
            known = self._cache.get(key)
            if known is None:
                self._enter(key, frame, future)
                return future
            self._num_shared += 1
            self._counts[_gravest(known)] += 1
        future.set_result(dict(known))
        return future

    def _enter(self, key: bytes, frame: bytes, future: Future[Verdicts]) -> None:
        self._num_waiting += 1
        job = self._unfinished.get(key)
        if job is not None and self._cache.size:
            job.futures.append(future)
            job.num_followers += 1
            self._num_shared += 1
            if job.is_running:
                future.set_running_or_notify_cancel()
            return
        self._waiting.append(Job(key, frame, future))
        self._unfinished[key] = self._waiting[-1]
        self._work.notify()

    def take(self, most: int, *, among: int = 1) -> list[Job]:
        """What waits, at most `most`, and of `among` takers an even share; blocks while nothing does. Empty once the
        queue is closed."""
        with self._work:
            taken: list[Job] = []
            while not taken:
                self._work.wait_for(lambda: self._closed or self._waiting)
                if self._closed:
                    return []
                taken = self._take_waiting(min(most, -(-len(self._waiting) // among)))
                self._room.notify_all()
            return taken

    def _take_waiting(self, most: int) -> list[Job]:
        taken: list[Job] = []
        num_bytes = 0
        while self._waiting and len(taken) < most:
            num_bytes += len(self._waiting[0].frame)
            if taken and num_bytes > MAX_BATCH_BYTES:
                break
            job = self._waiting.popleft()
            self._num_waiting -= 1
            job.futures = [future for future in job.futures if job.is_running or future.set_running_or_notify_cancel()]
            job.is_running = True
            if job.futures:
                taken.append(job)
            else:
                self._forget(job)
        return taken

    def give_back(self, jobs: Sequence[Job]) -> None:
        """Taken, and not begun: to the front of what waits. They fail where the queue is closed."""
        with self._lock:
            if not self._closed:
                self._waiting.extendleft(reversed(jobs))
                self._num_waiting += len(jobs)
                self._work.notify(len(jobs))
                return
        for job in jobs:
            self.fail(job, closed_pool("check an answer"))

    def finish(self, job: Job, verdicts: Verdicts) -> None:
        """Gives the verdicts to everyone who submitted the answer. Those that are no failure are remembered."""
        with self._room:
            self._cache.put(job.key, verdicts)
            self._forget(job)
            self._counts[_gravest(verdicts)] += len(job.futures)
            self._room.notify_all()
        for future in job.futures:
            future.set_result(dict(verdicts))

    def fail(self, job: Job, error: Exception) -> None:
        with self._lock:
            self._forget(job)
        for future in job.futures:
            future.set_exception(error)

    def _forget(self, job: Job) -> None:
        """From here on an equal answer is a new job: nobody joins this one any more."""
        self._num_waiting -= job.num_followers
        if self._unfinished.get(job.key) is job:
            del self._unfinished[job.key]

    def close(self) -> None:
        """Wakes whoever is blocked and cancels what waits; what is being checked is left to its checker."""
        with self._lock:
            self._closed = True
            waiting = list(self._waiting)
            self._waiting.clear()
            self._work.notify_all()
            self._room.notify_all()
        for job in waiting:
            for future in job.futures:
                if not future.cancel():  # it was begun once, and given back
                    future.set_exception(closed_pool("check an answer"))


def _gravest(verdicts: Verdicts) -> Status:
    statuses = [verdict.status for verdict in verdicts.values()]
    return next((status for status in (Status.ERROR, Status.TIMEOUT) if status in statuses), statuses[0])


def closed_pool(action: str) -> ScoringError:
    return ScoringError(message(f"the scoring pool cannot {action}", got="a closed pool", expected="an open one",
                                remedy="take every result before the pool's `with` block ends"))
