"""All loggers of a run but TensorBoard: what is told to one is told to each."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from reasongym.records import Group
from reasongym.tracking.loggers.courier import Courier
from reasongym.tracking.loggers.messages import Outcome, RunInfo

__all__ = ["Loggers"]

COLUMNS = ("step", "task", "index", "prompt", "completion", "reference", "reward", "status")
MOST_CHARACTERS = 2000
"""Of a cell; the middle of a longer text is left out."""


class Loggers:
    """A context manager around a run. `outcome` is how it ended; what is raised through it makes that `failed`."""

    def __init__(self, names: Sequence[str], run: RunInfo, *, timeout_s: float, answers: int = 0,
                 tell: Callable[[str], None]) -> None:
        """timeout_s: of one call to a service, and of all at the end. answers: of a step, for services that have
        tables; 0 for none. tell: takes a line for people, in the thread that calls."""
        self.outcome: Outcome = "finished"
        self._tell, self._timeout_s, self._answers = tell, timeout_s, answers
        self._couriers = [Courier(name, run, timeout_s=timeout_s) for name in names if name != "tensorboard"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close(self.outcome if kind is None else "stopped" if kind is KeyboardInterrupt else "failed")

    def row(self, row: Mapping[str, Any]) -> None:
        """A row of metrics.jsonl: `step`, `time`, values."""
        values = {name: value for name, value in row.items() if name not in {"step", "time"}}
        self._send({"call": "row", "step": row["step"], "time": row["time"], "values": values})

    def answers(self, step: int, groups: Sequence[Group]) -> None:
        """Some of a step's rollouts: the first of each group, then the second, as many as are configured."""
        if not self._answers or not self._couriers:
            return
        rows = _rows(step, groups)[:self._answers]
        self._send({"call": "table", "step": step, "columns": COLUMNS, "rows": rows})

    def close(self, outcome: Outcome) -> None:
        """End the run in every service, all at the same time, within the time-out."""
        couriers, self._couriers = self._couriers, []
        for courier in couriers:
            courier.begin_close(outcome)
        deadline = time.monotonic() + self._timeout_s
        for courier in couriers:
            courier.end_close(deadline)
            self._pass_on(courier)

    def _send(self, call: Mapping[str, Any]) -> None:
        for courier in self._couriers:
            courier.send(call)
            self._pass_on(courier)

    def _pass_on(self, courier: Courier) -> None:
        for line in courier.words():
            self._tell(line)


def _rows(step: int, groups: Sequence[Group]) -> list[list[Any]]:
    longest = max((len(group.rollouts) for group in groups), default=0)
    in_turn = [group.rollouts[place] for place in range(longest) for group in groups if place < len(group.rollouts)]
    return [[step, one.prompt.example.task, one.prompt.example.index, _short(one.prompt.text),
             _short(one.completion.text), _short(str(one.prompt.example.reference)), one.reward, str(one.status)]
            for one in in_turn]


def _short(text: str) -> str:
    sound = text.encode("utf-8", "backslashreplace").decode("utf-8")  # lone surrogates, which no service takes
    if len(sound) <= MOST_CHARACTERS:
        return sound
    half = MOST_CHARACTERS // 2
    return f"{sound[:half]} ... {sound[-half:]}"
