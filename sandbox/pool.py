"""A pool of workers behind one kind of walls: the Sandbox of every backend."""

from __future__ import annotations

import contextlib
import os
import threading
from types import TracebackType
from typing import Self

from reasongym.sandbox.jobs import Job, Result, SandboxError
from reasongym.sandbox.running import RunningJob
from reasongym.sandbox.worker import Walls, Worker

__all__ = ["Pool", "PoolSession"]

TRIES = 2


class Pool:
    """Workers are built when first needed, at most `workers` of them, and reused while they prove clean."""

    def __init__(self, walls: Walls, *, workers: int) -> None:
        if workers < 1:
            raise ValueError(f"a sandbox needs workers: got {workers}, expected at least 1")
        self.name = walls.name
        self._walls = walls
        self._process = os.getpid()
        self._lock = threading.Condition()
        self._idle: list[Worker] = []
        self._free = workers  # how many more may be built
        self._busy: set[Worker] = set()
        self._closed = False

    def layers(self) -> tuple[str, ...]:
        """As every result of this pool says."""
        return self._walls.layers

    def run(self, job: Job) -> Result:
        """As Sandbox.run."""
        for remaining in reversed(range(TRIES)):
            with contextlib.ExitStack() as stack:
                try:
                    worker = self._take()
                    stack.callback(self.release, worker, keep=False)
                    running = worker.start(job, with_channel=False)
                    result = running.finish(stop=False)
                except SandboxError:
                    if not remaining or self._closed:
                        raise
                    continue
                stack.pop_all()
                self.release(worker, keep=running.worker_is_clean)
                return result
        raise AssertionError("a try returns or raises")

    def open(self, job: Job) -> PoolSession:
        """As Sandbox.open. A worker that takes no job is replaced once."""
        for remaining in reversed(range(TRIES)):
            worker = self._take()
            try:
                return PoolSession(self, worker, worker.start(job, with_channel=True))
            except BaseException as error:  # any: the worker must come back, or the pool would shrink
                self.release(worker, keep=False)
                if not remaining or not isinstance(error, SandboxError) or self._closed:
                    raise
        raise AssertionError("a try returns or raises")

    def check(self) -> None:
        """Build the first worker. Raises SandboxError."""
        self.release(self._take(), keep=True)

    def close(self) -> None:
        """As Sandbox.close. Whoever runs a job meanwhile gets SandboxError."""
        with self._lock:
            self._closed = True
            workers = [*self._idle, *self._busy]
            self._idle = []
            self._lock.notify_all()
        for worker in workers:
            worker.kill()
        self._walls.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def _take(self) -> Worker:
        if os.getpid() != self._process:  # its sockets lead to the same workers: two would speak at once
            raise SandboxError(f"the {self.name} sandbox belongs to process {self._process}, which this one was forked "
                               "from; expected one of its own; remedy: open a sandbox after the fork")
        with self._lock:
            while not (self._closed or self._idle or self._free):
                self._lock.wait()
            if self._closed:
                raise SandboxError(f"the {self.name} sandbox is closed; expected an open one; remedy: open another")
            if self._idle:
                worker = self._idle.pop()
                self._busy.add(worker)
                return worker
            self._free -= 1
        return self._build()

    def _build(self) -> Worker:
        try:
            worker = Worker(self._walls)
        except BaseException:  # any: the place of the worker must not be lost
            with self._lock:
                self._free += 1
                self._lock.notify()
            raise
        with self._lock:
            closed = self._closed
            self._busy.add(worker)
        if closed:
            worker.kill()
        return worker

    def release(self, worker: Worker, *, keep: bool) -> None:
        """A worker that is not kept is killed, and another built when one is needed."""
        with self._lock:
            self._busy.discard(worker)
            keep = keep and not self._closed
            if keep:
                self._idle.append(worker)
            else:
                self._free += 1
            self._lock.notify()
        if not keep:
            worker.kill()


class PoolSession:
    """Holds a worker until it is finished."""

    def __init__(self, pool: Pool, worker: Worker, running: RunningJob) -> None:
        self._pool = pool
        self._worker: Worker | None = worker
        self._running = running

    def send(self, frame: bytes, *, timeout_s: float) -> None:
        """As Session.send."""
        self._running.send(frame, timeout_s=timeout_s)

    def receive(self, *, timeout_s: float, limit_bytes: int) -> bytes:
        """As Session.receive."""
        return self._running.receive(timeout_s=timeout_s, limit_bytes=limit_bytes)

    def finish(self) -> Result:
        """As Session.finish."""
        try:
            return self._running.finish(stop=True)
        finally:
            worker, self._worker = self._worker, None
            if worker is not None:
                self._pool.release(worker, keep=self._running.worker_is_clean)
