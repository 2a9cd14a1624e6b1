"""A worker's place in the pool: answers are checked here, by one process after another as verifiers bring them down."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

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

AHEAD_BYTES = 1 << 16
"""What a worker is sent beyond the answer that it checks; less where its socket has less room: sending must never wait
for a worker that waits to be heard."""
MOST_IN_TURN = 32
TURN_S = 0.01
"""Single answers are taken in turns, these many at most, where all of them take about this time: long against the
wake-up of a thread for each, short for whoever waits behind them. Where they turn out slower, other slots have theirs:
none takes more than its share of what waits (`AnswerQueue.take`)."""
KEPT = 0.9
"""Of the time an answer took in a slow turn, what those of the next turn are taken to need at least."""
_Answer = tuple[bytes, Verdicts]
"""An answer as it is sent, and its verdicts so far."""
_Done = Callable[[int, Verdicts], None]


class _End(NamedTuple):
    """Of a request. fate: of what has no verdict; None where all has one. was_killed: the worker, and not by us."""

    fate: Verdict | None = None
    was_killed: bool = False


class _NoRecord(Exception):
    """A frame that is no reply."""


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
        self._num_ahead = 0  # requests of single answers that the worker has, beyond the one whose verdicts are read
        self._answer_s = TURN_S
        self.num_replaced = 0

    @property
    def takes_many(self) -> bool:
        """Whether some part takes several answers at once. Known once the slot has started."""
        return bool(self._parts_by_way[TOGETHER] or self._parts_by_way[BATCH])

    def appetite(self, batch_size: int) -> int:
        """How many answers to check next. Where some part takes several at once a batch; else as many as are checked in
        `TURN_S`, going by what earlier ones took."""
        return batch_size if self.takes_many else max(1, min(MOST_IN_TURN, int(TURN_S / self._answer_s)))

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

    def check(self, frames: Sequence[bytes], done: _Done) -> None:
        """One Verdict a part for each answer, which `done` is given with the answer's place as soon as it has them all.

        Where all parts take single answers, those behind one that costs the worker are left, and so is what was not
        sent ahead of a turn that takes longer than it should: `done` hears nothing of them, and another slot may take
        them. Otherwise the parts that take single answers come first, then those that take several.

        Raises ScoringError where the slot is stopped meanwhile, and what `start` raises where a worker is needed.
        """
        if self.takes_many:
            self._check_batch(frames, done)
        else:
            self._check_turn(frames, done)

    def _check_turn(self, frames: Sequence[bytes], done: _Done) -> None:
        begun, num_replaced = time.monotonic(), self.num_replaced
        for place, frame in enumerate(frames):
            verdicts: Verdicts = {}
            self._ask(SINGLE, [(frame, verdicts)], following=frames[place + 1:])
            done(place, self._in_order(verdicts))
            spent_s = time.monotonic() - begun
            each_s = spent_s / (place + 1)
            if self.num_replaced > num_replaced or (spent_s > TURN_S and not self._num_ahead):
                break
        self._answer_s = max(each_s, KEPT * self._answer_s + (1 - KEPT) * each_s)

    def _check_batch(self, frames: Sequence[bytes], done: _Done) -> None:
        """Where answers taken together bring the worker down, each is asked alone: a coroutine that blocks or dies is
        the fate of its own answer. A batch is one question, and shares its fate."""
        left: dict[int, _Answer] = {place: (frame, {}) for place, frame in enumerate(frames)}
        for place, answer in left.items():
            self._ask(SINGLE, [answer], following=frames[place + 1:])
        self._hand_over(left, done)
        if not self._ask(TOGETHER, list(left.values()), is_final=len(left) == 1):
            for answer in left.values():
                if len(answer[1]) < len(self._parts):
                    self._ask(TOGETHER, [answer])
        self._hand_over(left, done)
        self._ask(BATCH, list(left.values()))
        self._hand_over(left, done)

    def _hand_over(self, left: dict[int, _Answer], done: _Done) -> None:
        """What has all its verdicts."""
        for place in [place for place, (_, verdicts) in left.items() if len(verdicts) == len(self._parts)]:
            done(place, self._in_order(left.pop(place)[1]))

    def _in_order(self, verdicts: Verdicts) -> Verdicts:
        return {part: verdicts[part] for part in self._parts}

    def _ask(self, way: str, answers: Sequence[_Answer], *, following: Sequence[bytes] = (),
             is_final: bool = True) -> bool:
        """Run the parts that take answers this way. Where the worker does not live to the end, all that is left shares
        its fate where that is final; otherwise nothing is said. One that was killed by others is replaced, and what is
        left is asked once more. following: what will be asked next in this way. Whether the verdicts are there."""
        parts = self._parts_by_way[way]
        if not parts or not answers:
            return True
        begun = time.monotonic()
        end = self._run(parts, answers, following)
        if end.was_killed and not self._stopped:
            # By the machine, short of memory, or by somebody; perhaps before it had begun: the answer may do for it.
            end = self._run([part for part in parts if self._parts[part] not in answers[0][1]], answers, ())
        if end.fate is None:
            return True
        if self._stopped:
            raise closed_pool("check an answer")
        if not is_final:
            return False
        seconds = (time.monotonic() - begun) / len(answers)
        for _, verdicts in answers:
            self._complete(verdicts, [self._parts[part] for part in parts], replace(end.fate, seconds=seconds))
        return True

    def _run(self, parts: Sequence[int], answers: Sequence[_Answer], following: Sequence[bytes]) -> _End:
        """Ask the worker, or a new one where there is none, and part with it where it is of no more use."""
        worker = self._worker or self.start()
        frames, checked = zip(*answers, strict=True)
        try:
            deadline = time.monotonic() + self._timeout_s
            self._send(worker, parts, frames, following, deadline)
            usable = self._receive(worker.channel, parts, checked, deadline)
        except TimeoutError:
            many = f" for {len(frames)} answers" if len(frames) > 1 else ""
            end = _End(Verdict.timeout(f"no verdict within {self._timeout_s:g} s{many}; the worker was killed"))
        except (EOFError, OSError):
            end = _End(Verdict.error(worker.obituary()), worker.was_killed)
        except _NoRecord as error:
            end = _End(Verdict.error(f"the worker sent what is no record: {error}: does the verifier write to "
                                     "descriptors it did not open?"))
        else:
            if not usable:
                self.discard()
            return _End()
        self.discard()
        return end

    def _send(self, worker: WorkerProcess, parts: Sequence[int], frames: Sequence[bytes], following: Sequence[bytes],
              deadline: float) -> None:
        """A request, unless the worker has it already, and requests of those that follow. Raises what Channel does."""
        if self._num_ahead:
            self._num_ahead -= 1
            return
        request = encode({"parts": parts, "num_answers": len(frames)})
        sent, room = [request, join_answers(frames)], min(AHEAD_BYTES, worker.room_bytes)
        for frame in following:
            room -= len(frame) + len(request)
            if room < 0:
                break
            sent += [request, join_answers([frame])]
            self._num_ahead += 1
        worker.channel.send(*sent, deadline=deadline)

    def _receive(self, channel: Channel, parts: Sequence[int], checked: Sequence[Verdicts], deadline: float) -> bool:
        """Fill in the verdicts, a part at a time; whether the worker can take more. Raises what Channel does, and
        _NoRecord."""
        usable = True
        for part in parts:
            found, retires = _reply(channel.receive(deadline), len(checked))
            for verdicts, verdict in zip(checked, found, strict=True):
                verdicts[self._parts[part]] = verdict
            usable = usable and not retires
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
        if self._worker is None and not self._stopped:
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
        self._num_ahead = 0
        if worker is not None:
            worker.close()


def _reply(frame: bytes, num_answers: int) -> tuple[list[Verdict], bool]:
    """Verdicts, one an answer, and whether the worker is to be replaced. Raises _NoRecord."""
    try:
        reply = decode(frame)
        seconds, retires = reply["seconds"] / num_answers, bool(reply["retire"])
        found = [verdict_from_record(record, seconds) for record in reply["verdicts"]]
    except (AssertionError, AttributeError, KeyError, OverflowError, RecursionError, TypeError, ValueError) as error:
        raise _NoRecord(f"{type(error).__name__}: {error}") from error
    if len(found) != num_answers:
        raise _NoRecord(f"{len(found)} verdicts for {num_answers} answers")
    return found, retires
