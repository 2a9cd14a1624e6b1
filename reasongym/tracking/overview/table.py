"""The table of runs: a line a run, the same for the page and for what keeps it up to date."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from reasongym.pages.answers import call
from reasongym.pages.markup import cell, heads, safe
from reasongym.printable import printable
from reasongym.tracking.numbers import number
from reasongym.tracking.overview.run import Run

__all__ = ["Line", "line", "runs_table", "table_script"]

COLUMNS = (("show", "pick", ""), ("run", "", "up"), ("state", "", "up"), ("task", "wide", "up"),
           ("algorithm", "wide", "up"), ("model", "wide", "up"), ("steps", "number", "down"),
           ("best held-out, 95 %", "number", "down"), ("reward", "number wide", "down"),
           ("tokens", "number wide", "down"), ("hours", "number wide", "down"), ("begun", "date wide", "down"))


class Field(NamedTuple):
    """text: as shown. kind: classes. value: what the column is sorted by, where that is not the text."""

    text: str
    kind: str = ""
    value: float | str | None = None


class Line(NamedTuple):
    """What the table shows of a run, kept where the run itself is not. version: as `glance` gave it."""

    slug: str
    version: str
    state: str
    begun: float
    fields: tuple[Field, ...]


def line(run: Run) -> Line:
    """As the run is now."""
    times = run.curve("time").values
    return Line(run.slug, run.version, run.ending.state, times[0] if times else 0.0, tuple(_fields(run)))


def runs_table(lines: Sequence[Line]) -> str:
    """The whole table, as HTML."""
    rows = "".join(map(_row, lines))
    return ('<div class="scroll" tabindex="0" role="region" aria-label="Runs"><table class="board" id="runs">'
            f"{heads(COLUMNS)}<tbody>{rows}</tbody></table></div>")


def table_script(version: str, lines: Sequence[Line]) -> str:
    """table.js: every line again, for a page that is open."""
    return call("given", "table", {"version": version, "going": sum(one.state == "running" for one in lines), "rows": [
        {"slug": one.slug, "fields": [list(field) for field in one.fields]} for one in lines]})


def _row(one: Line) -> str:
    first, *others = one.fields
    tick = f'<input type="checkbox" class="pick" value="{one.slug}" aria-label="Draw {safe(first.text)}">'
    link = f'<a href="runs/{one.slug}/index.html">{safe(first.text)}</a>'
    return f'<tr data-run="{one.slug}">' + cell(tick, "pick") + cell(link, first.kind, first.text) + "".join(
        cell(f'<span class="tag {field.text}">{field.text}</span>' if field.kind == "state" else safe(field.text),
             field.kind, field.value) for field in others) + "</tr>"


def _fields(run: Run) -> list[Field]:
    times = run.curve("time").values
    best, reward, tokens = run.best, run.curve("reward/mean").values, sum(run.curve("rollout/tokens").values)
    interval = best.interval if best else None
    span = f" [{interval.low:.3f}, {interval.high:.3f}]" if interval else ""
    planned = f" of {run.planned:,}" if run.planned else ""
    return [
        Field(printable(run.name), "model"), Field(run.ending.state, "state"),
        *(Field(printable(text), "wide") for text in (
            run.setting("task", "name"), run.setting("algorithm", "name"), run.setting("model", "path"))),
        Field(f"{run.steps:,}{planned}", "number", run.steps),
        Field(f"{best.value:.3f}{span}" if best else "", "number", best.value if best else ""),
        Field(f"{reward[-1]:.3f}" if reward else "", "number wide", reward[-1] if reward else ""),
        Field(number(tokens) if tokens else "", "number wide", tokens or ""),
        Field(f"{run.seconds / 3600:.2f}" if run.seconds else "", "number wide", run.seconds or ""),
        Field(_begun(run), "date wide", times[0] if times else "")]


def _begun(run: Run) -> str:
    times = run.curve("time").values
    try:
        return f"{datetime.fromtimestamp(times[0], UTC):%Y-%m-%d}" if times else ""
    except (OverflowError, ValueError, OSError):
        return ""
