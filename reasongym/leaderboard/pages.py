"""The pages: all boards on one, and one a result with its answers. Strings in, strings out: no file, no server."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from reasongym.leaderboard.board import PUBLISHED, Board, Boards, Line, Overall
from reasongym.leaderboard.formats import place
from reasongym.leaderboard.markup import interval
from reasongym.leaderboard.store import Stored
from reasongym.pages.answers import SCRIPTS, VERDICTS, browser, call
from reasongym.pages.markup import cell, flat, frame, heads, marks, safe

__all__ = ["CHUNK", "answers_index", "board_page", "result_page"]

CHUNK = 100
"""Answers to a file."""
FILTER = """\
<div class="controls" id="controls" hidden><label for="filter">Filter</label>
<input type="search" id="filter" placeholder="model, settings, notes (press /)" autocomplete="off">
<label><input type="checkbox" id="ranked"> ranked only</label>
<span class="quiet" id="shown" role="status"></span></div>"""
FOOTER = ("Intervals are 95 %. Results that share a place cannot be told apart from the best of it: paired tests over "
          "the same rows, with Holm's correction for their number. Made by reasongym.")


def board_page(boards: Boards, *, title: str) -> str:
    """All boards."""
    several = len(boards.boards) > 1
    links = "".join(f'<a href="#{_anchor(number)}">{safe(board.name)}</a>'
                    for number, board in enumerate(boards.boards))
    navigation = f'<nav aria-label="Boards"><a href="#all">All tasks</a>{links}</nav>' if several else ""
    count = sum(len(board.lines) for board in boards.boards)
    header = f"<h1>{safe(title)}</h1><p class=\"quiet\">{count:,} results</p>{navigation}"
    sections = [_board(board, _anchor(number)) for number, board in enumerate(boards.boards)]
    main = "\n".join([FILTER, *([_overall(boards)] if several else []), *sections])
    return frame(title=title, header=header, main=main, footer=FOOTER, depth=0, scripts=("board.js",))


def result_page(line: Line, record: str, *, title: str) -> str:
    """One result: its figures, all that is recorded of it, its answers. record: JSON."""
    result, entry = line.result, line.result.entry
    facts = (entry.task, entry.split, entry.label, entry.engine, entry.created_at[:10],
             f"{entry.prompts:,} prompts, {entry.answers:,} answers")
    ranked = f"place {place(line)}" if line.rank else "not ranked"
    header = (f'<p><a href="../../index.html">{safe(title)}</a></p><h1>{safe(entry.model)}</h1><p class="facts">'
              + "".join(f"<span>{safe(fact)}</span>" for fact in (ranked, *facts) if fact)
              + f"</p><p>{marks(line.marks)}</p>")
    counts = {"cut off at the limit": entry.truncated, "unparsable": entry.unparsable, "timed out": entry.timeouts,
              "verifier failed": entry.errors, "missing": entry.missing}
    told = ", ".join(f"{name} {count:,}" for name, count in counts.items())
    main = "\n".join([
        f'<h2>Figures</h2><div class="scroll"><table>{_figure_heads()}<tbody>{_figures(result)}</tbody></table></div>',
        f'<p class="quiet">Of {entry.answers:,} answers: {told}. {_spent(result)}</p>',
        browser() if result.num_samples else '<h2>Answers</h2><p class="quiet">Came without its answers.</p>',
        '<h2>Settings</h2><details><summary>All that is recorded</summary><div class="scroll">'
        f'<table class="settings"><tbody>{_settings(result, record)}</tbody></table></div></details>'])
    return frame(title=f"{entry.model} on {entry.task} - {title}", header=header, main=main, footer=FOOTER,
                 depth=2, scripts=SCRIPTS if result.num_samples else ())


def answers_index(statuses: Sequence[str]) -> str:
    """index.js of a result: the verdict of each answer as a digit."""
    digits = "".join(str(VERDICTS.index(status)) for status in statuses)
    return call("answersIndex", {"statuses": digits, "chunk": CHUNK})


def _anchor(number: int) -> str:
    return f"board-{number}"


def _link(result: Stored, text: str) -> str:
    return f'<a href="results/{result.name}/index.html">{safe(text)}</a>'


def _board(board: Board, anchor: str) -> str:
    low, high = board.scale
    columns = (("place", "number", "up"), ("model", "", "up"), ("settings", "wide", "up"),
               (board.reference.headline, "number", "down"), (f"{100 * low:.0f} to {100 * high:.0f} %", "", ""),
               ("rows", "number wide", "down"), ("cut off", "number wide", "up"), ("unparsable", "number wide", "up"),
               ("tokens", "number wide", "up"), ("date", "date wide", "down"))
    places = [line.rank.place if line.rank else 0 for line in board.lines]
    groups = {number: index % 2 == 1 for index, number in enumerate(sorted(set(places)))}
    rows = "".join(_row(line, low, high, groups[number]) for line, number in zip(board.lines, places, strict=True))
    data = board.reference.data_fingerprint
    named = "the published data" if data == PUBLISHED else f"data {safe(data[:12])}"
    about = (f"{safe(board.split)} split; ranked are results on {named} "
             f"judged by {safe(board.reference.verifier)} {safe(board.reference.verifier_version[:12])}")
    return (f'<section id="{anchor}"><h2>{safe(board.name)}</h2><p class="quiet">{about}</p><div class="scroll" '
            f'tabindex="0" role="region" aria-label="{safe(board.name)}"><table class="board">{heads(columns)}'
            f"<tbody>{rows}</tbody></table></div></section>")


def _row(line: Line, low: float, high: float, odd: bool) -> str:
    result, entry, main = line.result, line.result.entry, line.result.main
    answers = max(entry.answers, 1)
    kind = "unranked" if line.rank is None else "odd" if odd else "even"
    notes = f'<div class="marks">{marks(line.marks)}</div>' if line.marks else ""
    return f'<tr class="{kind}">' + "".join([
        cell(place(line), "number", line.rank.place if line.rank else ""),
        cell(_link(result, entry.model) + notes, "model", entry.model), cell(safe(entry.label), "label wide"),
        cell(f"{100 * main.mean:.1f}", "number", main.mean), cell(interval(main, low, high)),
        cell(f"{entry.prompts:,}", "number wide", entry.prompts),
        *(cell(f"{100 * count / answers:.1f} %", "number wide", count / answers)
          for count in (entry.truncated, entry.unparsable)),
        cell(f"{entry.tokens / answers:,.0f}", "number wide", entry.tokens / answers),
        cell(safe(entry.created_at[:10]), "date wide")]) + "</tr>"


def _overall(boards: Boards) -> str:
    names = [board.name for board in boards.boards]
    macros = [one.macro for one in boards.overall if one.macro]
    low, high = (min(macro.low for macro in macros), max(macro.high for macro in macros)) if macros else (0.0, 1.0)
    columns = (("model", "", "up"), ("settings", "wide", "up"), ("macro", "number", "down"),
               (f"{100 * low:.0f} to {100 * high:.0f} %", "", ""), *((name, "number", "down") for name in names))
    rows = "".join(_overall_row(one, names, low, high) for one in boards.overall)
    return ('<section id="all"><h2>All tasks</h2><p class="quiet">macro: the mean over all tasks, each counting alike; '
            'only for models with a ranked result on each, under the same settings</p><div class="scroll" tabindex="0" '
            f'role="region" aria-label="All tasks"><table class="board">{heads(columns)}<tbody>{rows}</tbody></table>'
            "</div></section>")


def _overall_row(one: Overall, names: Sequence[str], low: float, high: float) -> str:
    mean = "" if one.macro is None else f"{100 * one.macro.mean:.1f}"
    drawn = "" if one.macro is None else interval(one.macro, low, high)
    found = [one.by_board.get(name) for name in names]
    return '<tr class="even">' + "".join([
        cell(safe(one.model), "model"), cell(safe(one.label), "label wide"),
        cell(mean, "number", "" if one.macro is None else one.macro.mean), cell(drawn),
        *(cell("", "number", "") if result is None else
          cell(_link(result, f"{100 * result.main.mean:.1f}"), "number", result.main.mean) for result in found),
    ]) + "</tr>"


def _figure_heads() -> str:
    return heads((("metric", "", ""), ("mean", "number", ""), ("95 % interval", "", ""), ("0 to 100 %", "wide", ""),
                  ("prompts", "number wide", ""), ("interval by", "wide", "")))


def _figures(result: Stored) -> str:
    first = result.entry.headline
    ordered = sorted(result.metrics.values(), key=lambda metric: (metric.name != first, metric.name))
    return "".join("<tr>" + "".join([
        cell(safe(metric.name)), cell(f"{100 * metric.mean:.1f}", "number"),
        cell(f"{100 * metric.low:.1f} to {100 * metric.high:.1f}"), cell(interval(metric, 0.0, 1.0), "wide"),
        cell(f"{metric.prompts:,}", "number wide"), cell(safe(metric.method), "wide")]) + "</tr>" for metric in ordered)


def _spent(result: Stored) -> str:
    entry = result.entry
    cost = "" if entry.cost is None else f", cost {entry.cost:,.4f} in the currency of its prices"
    return f"{entry.tokens:,} tokens sampled in {entry.seconds:,.0f} s{cost}."


def _settings(result: Stored, record: str) -> str:
    return "".join(f'<tr><th scope="row">{safe(name)}</th><td>{safe(value)}</td></tr>'
                   for name, value in _recorded(result, record))


def _recorded(result: Stored, record: str) -> Iterator[tuple[str, str]]:
    yield "digest", result.digest
    yield "entered", f"{result.added_at:%Y-%m-%d %H:%M} UTC"
    for name, value in flat(json.loads(record)):
        if not name.startswith("metrics."):
            yield name, value
