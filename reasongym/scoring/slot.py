"""A worker's place in the pool: answers are checked here, by one process after another as verifiers bring them down."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from dataclasses import replace

from reasongym.scoring.answers import Verdicts, closed_pool
from reasongym.scoring.process import Setup, WorkerProcess
from reasongym.scoring.protocol import Channel, decode, encode, join_answers, verdict_from_record
from reasongym.verifiers import Verdict

__all__ = ["Slot"]


class Slot:
    """Belongs to one thread, but for `stop` and `pids`, which any may use.

    parts: names of the reward parts, in the order of the set-up's verifiers. timeout_s: for one answer in all parts
    that take single answers, and for one batch in all parts that take batches. start_timeout_s: for a new worker.
    """

    def __init__(self, setup: Setup, parts: Sequence[str], *, timeout_s: float, start_timeout_s: float) -> None:
        self._setup = setup
        self._parts = tuple(parts)
        self._timeout_s = timeout_s
        self._start_timeout_s = start_timeout_s
        self._batch_parts: tuple[int, ...] = ()
        self._single_parts: tuple[int, ...] = ()
        self._lock = threading.Lock()
        self._worker: WorkerProcess | None = None
        self._stopped = False
        self.num_replaced = 0

    @property
    def takes_batches(self) -> bool:
        """Known once the slot has started."""
        return bool(self._batch_parts)

    @property
    def pids(self) -> tuple[int, ...]:
        """The worker's process id, where there is one just now."""
        with self._lock:
            return () if self._worker is None else (self._worker.pid,)

    def start(self) -> WorkerProcess:
        """Raises what `WorkerProcess` raises, and ScoringError on a stopped slot."""
        worker = WorkerProcess()
        with self._lock:
            self._worker = worker
            stopped = self._stopped
        try:
            if stopped:
                raise closed_pool("start a worker")
            takes_batches = worker.shake_hands(self._setup, self._start_timeout_s)
        except BaseException:  # cleaned up, and raised again
            self.close()
            raise
        self._batch_parts = tuple(part for part, batch in enumerate(takes_batches) if batch)
        self._single_parts = tuple(part for part, batch in enumerate(takes_batches) if not batch)
        return worker

    def check(self, frames: Sequence[bytes]) -> list[Verdicts]:
        """One Verdict a part for each answer: first the parts that take single answers, then the others, all at once.

        Raises ScoringError where the slot is stopped meanwhile, and what `start` raises where a worker is needed.
        """
        checked: list[Verdicts] = [{} for _ in frames]
        if self._single_parts:
            for frame, verdicts in zip(frames, checked, strict=True):
                self._ask(self._single_parts, [frame], [verdicts])
        left = [i for i, verdicts in enumerate(checked) if len(verdicts) < len(self._parts)]
        if left:
            self._ask(self._batch_parts, [frames[i] for i in left], [checked[i] for i in left])
        return [{part: verdicts[part] for part in self._parts} for verdicts in checked]

    def _ask(self, parts: Sequence[int], frames: Sequence[bytes], checked: Sequence[Verdicts]) -> None:
        """Run `parts` on the answers. Where the worker does not live to the end, all that is left shares its fate."""
        worker = self._worker or self.start()
        begun = time.monotonic()
        try:
            usable = self._exchange(worker.channel, parts, frames, checked, begun + self._timeout_s)
        except TimeoutError:
            many = f" for {len(frames)} answers" if len(frames) > 1 else ""
            fate = Verdict.timeout(f"no verdict within {self._timeout_s:g} s{many}; the worker was killed")
        except (EOFError, OSError):
            fate = Verdict.error(worker.obituary())
        else:
            if not usable:
                self.discard()
            return
        self.discard()
        if self._stopped:
            raise closed_pool("check an answer")
        seconds = (time.monotonic() - begun) / len(frames)
        for verdicts in checked:
            self._complete(verdicts, [self._parts[part] for part in parts], replace(fate, seconds=seconds))

    def _exchange(self, channel: Channel, parts: Sequence[int], frames: Sequence[bytes], checked: Sequence[Verdicts],
                  deadline: float) -> bool:
        """Fill in the verdicts, a part at a time; whether the worker can take more. Raises what Channel does."""
        request = encode({"parts": parts, "num_answers": len(frames)})
        channel.send(request, join_answers(frames), deadline=deadline)
        usable = True
        for part in parts:
            reply = decode(channel.receive(deadline))
            for verdicts, record in zip(checked, reply["verdicts"], strict=True):
                verdicts[self._parts[part]] = verdict_from_record(record, reply["seconds"] / len(frames))
            usable = usable and not reply["retire"]
        return usable

    def _complete(self, verdicts: Verdicts, parts: Sequence[str], fate: Verdict) -> None:
        """Of `parts`, which were run, the first without a verdict gets `fate`; those behind it, without having run."""
        spent = sum(verdicts[part].seconds for part in parts if part in verdicts)
        running = next(part for part in parts if part not in verdicts)
        verdicts[running] = replace(fate, seconds=max(fate.seconds - spent, 0.0))
        not_run = replace(fate, reason=f"not run after part {running!r}: {fate.reason}", seconds=0.0)
        for part in self._parts:
            verdicts.setdefault(part, not_run)

    def renew(self) -> None:
        """A new worker where there is none, before it is asked for."""
        if self._worker is None:
            with contextlib.suppress(Exception):  # boundary: the next answer starts one too, and its verdict says why
                self.start()

    def stop(self) -> None:
        """Kill the worker and start none any more. What is being checked ends with an exception."""
        with self._lock:
            self._stopped = True
            worker = self._worker
        if worker is not None:
            worker.kill()

    def discard(self) -> None:
        """Kill the worker, if there is one, to be replaced."""
        self.num_replaced += self._worker is not None
        self.close()

    def close(self) -> None:
        """Kill the worker, if there is one, and release what it held."""
        with self._lock:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()
