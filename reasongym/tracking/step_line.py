"""The line of one step: columns of fixed width, as many as the terminal has room for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from reasongym.tracking.numbers import duration

__all__ = ["StepLine"]


class Column(NamedTuple):
    """metric: its name in metrics.jsonl. rank: columns of a higher rank go first where room is short."""

    heading: str
    metric: str
    width: int
    rank: int
    shown: Callable[[float], str]


class StepLine:
    """The heading and the rows of a run; the first heading or row fixes the columns."""

    def __init__(self, total_steps: int, *, width: int) -> None:
        self._total, self._width = total_steps, width
        self._step_width = max(4, 2 * len(str(total_steps)) + 1)
        self._columns: tuple[Column, ...] = ()

    def heading(self, values: Mapping[str, float]) -> str:
        headings = [f"{column.heading:>{column.width}}" for column in self._fitted(values)]
        return "  ".join([f"{'step':>{self._step_width}}", *headings, "time left"])

    def row(self, step: int, values: Mapping[str, float], *, eta: float) -> str:
        """eta: seconds left. A metric the step lacks is a dash."""
        cells = [f"{f'{step}/{self._total}':>{self._step_width}}"]
        for column in self._fitted(values):
            cell = column.shown(values[column.metric]) if column.metric in values else "-"
            cells.append(f"{cell:>{column.width}}")
        return "  ".join([*cells, duration(eta)])

    def _fitted(self, values: Mapping[str, float]) -> tuple[Column, ...]:
        if not self._columns:
            columns = list(_columns(values))
            while len(columns) > 1 and self._room(columns) > self._width:
                columns.remove(max(columns, key=lambda column: column.rank))
            self._columns = tuple(columns)
        return self._columns

    def _room(self, columns: list[Column]) -> int:
        return self._step_width + sum(2 + column.width for column in columns) + 2 + len("59 min 59 s")


def _columns(values: Mapping[str, float]) -> tuple[Column, ...]:
    """What the algorithm has to show: a step that sampled nothing has no rewards, but a loss that means something."""
    training = (Column("train tok/s", "train/tokens_per_second", 11, 7, "{:,.0f}".format),
                Column("grad", "train/grad_norm", 6, 6, "{:.3g}".format))
    if "reward/mean" not in values:
        preferences = (Column("pairs right", "train/pair_accuracy", 11, 1, "{:.0%}".format),
                       Column("chosen", "train/reward_chosen", 7, 2, _three_digits),
                       Column("rejected", "train/reward_rejected", 8, 3, _three_digits),
                       Column("wanted", "train/reward_desirable", 7, 2, _three_digits),
                       Column("unwanted", "train/reward_undesirable", 8, 3, _three_digits))
        return (Column("loss", "train/loss", 7, 0, "{:.4f}".format),
                *(column for column in preferences if column.metric in values), *training)
    names = [name.removeprefix("reward/") for name in values if name.startswith("reward/") and name != "reward/mean"]
    parts = [Column(name[:12], f"reward/{name}", max(5, len(name[:12])), 2, _three_digits) for name in names]
    return (
        Column("reward", "reward/mean", 6, 0, _three_digits),
        *parts,
        Column("length", "rollout/length_mean", 6, 1, "{:.0f}".format),
        Column("cut", "rollout/truncated_share", 4, 3, "{:.0%}".format),
        Column("flat", "rollout/flat_group_share", 4, 4, "{:.0%}".format),
        Column("gen tok/s", "rollout/tokens_per_second", 9, 5, "{:,.0f}".format),
        training[0],
        Column("mismatch", "mismatch/kl", 8, 8, "{:.1e}".format),
        training[1],
    )


def _three_digits(value: float) -> str:
    return f"{value:.3f}"
