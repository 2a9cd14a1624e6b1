"""Boards as text: a table for a terminal, Markdown, JSON, CSV."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from reasongym.leaderboard.board import Board, Boards, Line
from reasongym.leaderboard.entry import Metric
from reasongym.leaderboard.storable import one_line

__all__ = ["FORMATS", "as_csv", "as_json", "as_markdown", "as_table", "place"]

BAR = 22  # characters of an interval in the terminal
NEW_TABLE_WIDTH = 160  # where the output is no terminal
COLUMNS = ("rank", "model", "settings", "headline", "interval", "prompts", "date", "notes")
Formatter = Callable[[Boards], str]


def as_table(boards: Boards) -> str:
    """For a terminal; intervals drawn from the lowest bound on a board to the highest."""
    console = Console(width=None if Console().is_terminal else NEW_TABLE_WIDTH, highlight=False)
    with console.capture() as captured:
        for board in boards.boards:
            console.print(_table(board))
        if len(boards.boards) > 1:
            console.print(_overall_table(boards))
    return captured.get() + _legend(boards)


def as_markdown(boards: Boards) -> str:
    """GitHub's tables; every character of a name that Markdown or HTML would act on is escaped."""
    blocks = []
    for board in boards.boards:
        lines = [["rank", "model", "settings", f"{board.reference.headline} (95 % interval)", "prompts", "notes"]]
        for line in board.lines:
            entry = line.result.entry
            lines.append([place(line), _escaped(entry.model), _escaped(entry.label), percent(line.result.main),
                          f"{entry.prompts:,}", _escaped("; ".join(line.marks))])
        blocks.append(f"## {_escaped(board.name)}\n\n{_grid(lines)}")
    if len(boards.boards) > 1:
        names = [board.name for board in boards.boards]
        lines = [["model", "settings", *map(_escaped, names), "macro"]]
        for one in boards.overall:
            cells = [percent(one.by_board[name].main) if name in one.by_board else "" for name in names]
            lines.append([_escaped(one.model), _escaped(one.label), *cells, percent(one.macro) if one.macro else ""])
        blocks.insert(0, f"## All tasks\n\n{_grid(lines)}")
    return "\n\n".join([*blocks, _legend(boards)])


def as_json(boards: Boards) -> str:
    """`{"boards": [{"task", "split", "results": [...]}], "overall": [...]}`, all that is known of each result."""
    return json.dumps({"boards": [_board_record(board) for board in boards.boards],
                       "overall": [{"model": one.model, "settings": one.label,
                                    "macro": one.macro._asdict() if one.macro else None,
                                    "results": {name: result.digest for name, result in one.by_board.items()}}
                                   for one in boards.overall]}, indent=2) + "\n"


def as_csv(boards: Boards) -> str:
    """One line a result. A text that a spreadsheet would take for a formula begins with an apostrophe."""
    sink = io.StringIO()
    rows = [row for board in boards.boards for row in _board_record(board)["results"]]
    heads = ("task", "split", "rank", "tied", "model", "settings", "metric", "mean", "low", "high", "prompts",
             "answers", "truncated", "unparsable", "timeouts", "errors", "missing", "tokens", "seconds", "cost",
             "notes", "engine", "commit", "data_fingerprint", "verifier", "verifier_version", "created_at", "digest")
    writer = csv.DictWriter(sink, heads, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        cells = row | {"notes": "; ".join(row["notes"])}
        writer.writerow({name: _cell(value) for name, value in cells.items()})
    return sink.getvalue()


FORMATS: Mapping[str, Formatter] = {"table": as_table, "markdown": as_markdown, "json": as_json, "csv": as_csv}


def place(line: Line) -> str:
    """`3`, `3=` for a tie, `-` for a result that is not ranked."""
    return "-" if line.rank is None else f"{line.rank.place}{'=' * line.rank.tied}"


def percent(metric: Metric) -> str:
    """`41.2 [38.6, 43.9]`, in percent."""
    return f"{100 * metric.mean:.1f} [{100 * metric.low:.1f}, {100 * metric.high:.1f}]"


def _table(board: Board) -> Table:
    low, high = board.scale
    heads = (*COLUMNS[:3], board.reference.headline, f"{100 * low:.0f} to {100 * high:.0f} %", *COLUMNS[5:])
    table = Table(title=Text(one_line(board.name)), title_justify="left", title_style="bold", padding=0)
    for head in heads:
        table.add_column(_spaced(head))
    for line in board.lines:
        entry, main = line.result.entry, line.result.main
        cells = (place(line), entry.model, entry.label, percent(main))
        rest = (f"{entry.prompts:,}", entry.created_at[:10], "; ".join(line.marks))
        table.add_row(*map(_spaced, cells), Text(f" {_bar(main, low, high)} "), *map(_spaced, rest),
                      style="" if line.rank else "dim")
    return table


def _spaced(cell: str) -> Text:
    """With its padding in it: rich renders cells of a padded table twice, a tenth of a second for 200 results."""
    return Text(f" {one_line(cell)} ")


def _bar(metric: Metric, low: float, high: float) -> str:
    """`  ───●───   `: the interval and its mean, on a scale from `low` to `high`."""
    def at(value: float) -> int:
        share = (value - low) / (high - low) if high > low else 0.5
        return round(min(max(share, 0.0), 1.0) * (BAR - 1))

    mean, left, right = at(metric.mean), at(metric.low), at(metric.high)
    return "".join("●" if x == mean else "─" if left <= x <= right else "\u00a0" for x in range(BAR))


def _overall_table(boards: Boards) -> Table:
    names = [board.name for board in boards.boards]
    table = Table("model", "settings", *(escape(one_line(name)) for name in names), "macro", title="All tasks",
                  title_justify="left", title_style="bold")
    for one in boards.overall:
        cells = [percent(one.by_board[name].main) if name in one.by_board else "" for name in names]
        row = (one.model, one.label, *cells, percent(one.macro) if one.macro else "")
        table.add_row(*(Text(one_line(cell)) for cell in row))
    return table


def _legend(boards: Boards) -> str:
    told = ["Intervals: 95 %. `=`: not to be told apart from the best of its place (paired test, Holm's correction)."]
    if any(line.rank is None for board in boards.boards for line in board.lines):
        told.append("`-`: shown beside the ranking and not in it, for what its notes say.")
    if len(boards.boards) > 1:
        told.append("macro: mean over all tasks, for models that have a ranked result on each.")
    return "\n".join(told) + "\n"


def _grid(lines: Sequence[Sequence[str]]) -> str:
    rows = [f"| {' | '.join(cells)} |" for cells in lines]
    return "\n".join([rows[0], "|---" * len(lines[0]) + "|", *rows[1:]])


def _escaped(text: str) -> str:
    """`<` would begin a tag, `|` end a cell; the others begin a link, code or emphasis."""
    return re.sub(r"([\\`*_{}\[\]<>#|!~&])", r"\\\1", one_line(text))


def _board_record(board: Board) -> dict[str, Any]:
    return {"task": board.task, "split": board.split, "results": list(_result_records(board))}


def _result_records(board: Board) -> Iterator[dict[str, Any]]:
    for line in board.lines:
        result, entry = line.result, line.result.entry
        yield {"task": entry.task, "split": entry.split, "rank": line.rank.place if line.rank else None,
               "tied": line.rank.tied if line.rank else None, "model": entry.model, "settings": entry.label,
               "metric": entry.headline, "mean": result.main.mean, "low": result.main.low, "high": result.main.high,
               "metrics": {name: metric._asdict() for name, metric in sorted(result.metrics.items())},
               "notes": list(line.marks), "digest": result.digest, "num_samples": result.num_samples,
               **{name: getattr(entry, name) for name in (
                   "prompts", "answers", "truncated", "unparsable", "timeouts", "errors", "missing", "tokens",
                   "seconds", "cost", "engine", "commit", "data_fingerprint", "verifier", "verifier_version",
                   "created_at", "split_rows", "overlap")}}


def _cell(value: object) -> object:
    text = one_line(value) if isinstance(value, str) else value
    return f"'{text}" if isinstance(text, str) and text[:1] in ("=", "+", "-", "@") else text
