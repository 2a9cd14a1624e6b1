"""A worker's place in the pool: answers are checked here, by one process after another as verifiers bring them down."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from dataclasses import replace

from reasongym.scoring.answers import Verdicts, closed_pool
from reasongym.scoring.process import Setup, WorkerProcess
from reasongym.scoring.protocol import (
    BATCH,
    SINGLE,
    TOGETHER,
    Channel,
    decode,
    encode,
    join_answers,
    verdict_from_record,
)
from reasongym.verifiers import Verdict

__all__ = ["Slot"]

_Answer = tuple[bytes, Verdicts]
"""An answer as it is sent, and its verdicts so far."""


class Slot:
    """Belongs to one thread, but for `stop` and `pids`, which any may use.

    parts: names of the reward parts, in the order of the set-up's verifiers. timeout_s: for one answer in all parts
    that take single answers, for the answers taken together in all such parts, and for one batch in all parts that take
    batches. start_timeout_s: for a new worker.
    """

    def __init__(self, setup: Setup, parts: Sequence[str], *, timeout_s: float, start_timeout_s: float) -> None:
        self._setup = setup
        self._parts = tuple(parts)
        self._timeout_s = timeout_s
        self._start_timeout_s = start_timeout_s
        self._parts_by_way: dict[str, tuple[int, ...]] = {}
        self._lock = threading.Lock()
        self._worker: WorkerProcess | None = None
        self._stopped = False
        self.num_replaced = 0

    @property
    def takes_many(self) -> bool:
        """Whether some part takes several answers at once. Known once the slot has started."""
        return bool(self._parts_by_way[TOGETHER] or self._parts_by_way[BATCH])

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
            ways = worker.shake_hands(self._setup, self._start_timeout_s)
        except BaseException:  # cleaned up, and raised again
            self.close()
            raise
        self._parts_by_way = {way: tuple(part for part, its in enumerate(ways) if its == way)
                              for way in (SINGLE, TOGETHER, BATCH)}
        return worker

    def check(self, frames: Sequence[bytes]) -> list[Verdicts]:
        """One Verdict a part for each answer: first the parts that take single answers, then those that take several.

        Where answers taken together bring the worker down, each is asked alone: a coroutine that blocks or dies is the
        fate of its own answer. A batch is one question, and shares its fate.

        Raises ScoringError where the slot is stopped meanwhile, and what `start` raises where a worker is needed.
        """
        checked: list[Verdicts] = [{} for _ in frames]
        answers = list(zip(frames, checked, strict=True))
        for answer in answers:
            self._ask(SINGLE, [answer])
        if not self._ask(TOGETHER, self._unfinished(answers), is_final=len(answers) == 1):
            for answer in answers:
                self._ask(TOGETHER, self._unfinished([answer]))
        self._ask(BATCH, self._unfinished(answers))
        return [{part: verdicts[part] for part in self._parts} for verdicts in checked]

    def _unfinished(self, answers: Sequence[_Answer]) -> list[_Answer]:
        return [answer for answer in answers if len(answer[1]) < len(self._parts)]

    def _ask(self, way: str, answers: Sequence[_Answer], *, is_final: bool = True) -> bool:
        """Run the parts that take answers this way. Where the worker does not live to the end, all that is left shares
        its fate where that is final; otherwise nothing is said. Whether the verdicts are there."""
        parts = self._parts_by_way[way]
        if not parts or not answers:
            return True
        worker = self._worker or self.start()
        frames, checked = zip(*answers, strict=True)
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
            return True
        self.discard()
        if self._stopped:
            raise closed_pool("check an answer")
        if not is_final:
            return False
        seconds = (time.monotonic() - begun) / len(frames)
        for verdicts in checked:
            self._complete(verdicts, [self._parts[part] for part in parts], replace(fate, seconds=seconds))
        return True

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
