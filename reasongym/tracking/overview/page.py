"""The pages of runs: all on one, and one a run. Strings out: no file, no server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reasongym.pages.answers import FILTERS, SCRIPTS, browser
from reasongym.pages.markup import flat, frame, marks, safe
from reasongym.tracking.overview.health import Health, health
from reasongym.tracking.overview.run import Run
from reasongym.tracking.overview.table import Line, runs_table

__all__ = ["run_facts", "run_head", "run_page", "runs_page"]

FOOTER = ("Held-out scores have 95 % Wilson intervals over the prompts. Where a curve has more points than fit, a "
          "point is the mean of several steps and the band their least and largest value. Made by reasongym.")
CONTROLS = """\
<div class="controls" id="controls" hidden><label for="filter">Filter</label>
<input type="search" id="filter" placeholder="name, task, state (press /)" autocomplete="off">
<span class="quiet" id="shown" role="status"></span></div>"""
COMPARISON = """\
<section id="comparison" hidden aria-labelledby="compared"><h2 id="compared">Side by side</h2>
<div class="controls"><label>Curve <select id="metric"></select></label>
<label>Over <select id="over"><option value="step">steps</option><option value="hours">hours of training</option>
</select></label><button type="button" id="none">Draw none</button>
<span class="quiet" id="drawn" role="status"></span></div>
<div id="overlay" class="charts one"></div></section>"""


def runs_page(lines: Sequence[Line], *, title: str, live: bool) -> str:
    """All runs. live: whether the page asks for news."""
    going = sum(one.state == "running" for one in lines)
    told = f"{len(lines):,} runs, {going:,} of them going on" if lines else "No runs yet."
    header = (f'<h1>{safe(title)}</h1><p class="quiet" id="count">{told}</p>{_live(live)}')
    return frame(title=title, header=header, main="\n".join([CONTROLS, runs_table(lines), COMPARISON]), footer=FOOTER,
                 depth=0, scripts=("page.js", "chart.js", "board.js", "runs.js"))


def run_page(run: Run, *, title: str, live: bool, kept: str = "") -> str:
    """One run. kept: what its answers leave out, where they are not all there."""
    header = f'<p><a href="../../index.html">{safe(title)}</a></p>{run_head(run, _live(live))}'
    answers = (f'{browser(FILTERS)}<p class="quiet">{safe(kept)}</p>' if run.files else
               '<h2>Answers</h2><p class="quiet">This run has kept no answers.</p>')
    main = "\n".join([
        '<h2>Curves</h2><noscript><p class="quiet">Curves are drawn by a script; report.html of the run has them '
        'without.</p></noscript><p class="quiet" id="lost" role="alert"></p><div id="charts" class="charts"></div>',
        answers, *(f"<h2>{name}</h2>{run_facts('All that is recorded', tree)}"
                   for name, tree in (("Configuration", run.config), ("Environment", run.environment)))])
    return frame(title=f"{run.name} - {title}", header=header, main=main, footer=FOOTER, depth=2,
                 scripts=("page.js", "chart.js", "run.js", *(SCRIPTS[1:] if run.files else ())))


def run_head(run: Run, live: str = "") -> str:
    """Name and facts of a run, what stands in for its data, its health. live: HTML below the facts."""
    facts = "".join(f"<span>{safe(fact)}</span>" for fact in run.facts)
    missing = ", ".join(run.substitutes)
    warning = "" if not missing else (
        f'<p class="warning" role="alert"><strong>This run did not train on {safe(missing)}.</strong> The data set was '
        "not found, and generated rows stood in for it. No number on this page is a result on that data set.</p>")
    return (f'<h1>{safe(run.name)}</h1><p class="facts">{facts}</p>{live}{warning}'
            f'<div id="health" data-run="{run.slug}">{_health(health(run))}</div>')


def run_facts(name: str, tree: Mapping[str, Any]) -> str:
    """A record as a table that opens."""
    rows = "".join(f'<tr><th scope="row">{safe(key)}</th><td>{safe(value)}</td></tr>' for key, value in flat(tree))
    body = (f'<div class="scroll"><table class="settings"><tbody>{rows}</tbody></table></div>' if rows else
            '<p class="quiet">Not recorded.</p>')
    return f"<details><summary>{name}</summary>{body}</details>"


def _health(told: Health) -> str:
    why = f'<p class="quiet">{safe(told.why)}</p>' if told.why else ""
    tiles = "".join(f"<div><dt>{safe(name)}</dt><dd>{safe(value)} <small>{safe(below)}</small></dd></div>"
                    for name, value, below in told.tiles)
    lines = "".join(f'<li>{safe(what)} <span class="quiet">{safe(remedy)}</span></li>'
                    for what, remedy in told.findings)
    troubles = f'<h2>Findings</h2><ul class="findings">{lines}</ul>' if lines else ""
    return (f'<p><span class="tag {told.state}">{told.state}</span> {marks(told.notes)}</p>{why}'
            f'<dl class="tiles">{tiles}</dl>{troubles}')


def _live(live: bool) -> str:
    return ('<p class="quiet" id="live" role="status" data-live="yes">renews itself while runs go on</p>' if live else
            '<p class="quiet" id="live">as of when it was written</p>')
