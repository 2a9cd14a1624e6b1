"""The report as one page in one file: no script, nothing loaded, a content policy that forbids both."""

from __future__ import annotations

import yaml

from reasongym.pages.markup import cell, heads, safe, single
from reasongym.tracking.definitions import metric_info
from reasongym.tracking.overview.page import run_facts, run_head
from reasongym.tracking.overview.run import Run
from reasongym.tracking.report.curves import drawn_figures
from reasongym.tracking.report.samples import sample_sections
from reasongym.tracking.report.svg import CHART_STYLE

__all__ = ["page"]

SECTIONS = {"curves": "Curves", "evaluations": "Held-out evaluations", "answers": "Answers",
            "configuration": "Configuration", "metrics": "Metrics explained"}
STYLE = """
.charts{grid-template-columns:repeat(auto-fill,minmax(min(100%,420px),1fr))}
svg.chart{display:block;width:100%;height:auto}
figure.first{grid-column:1/-1}
.narrow{display:none}
.glossary td{min-width:190px}
@media (max-width:720px){.narrow{display:block}}
"""
FOOTER = ("Written by <code>reasongym report</code> from the files of the run's folder. Hover a chart for its numbers: "
          "ranges of held-out scores are Wilson's 95% interval over the prompts of one evaluation; the same prompts "
          "are used each time, so two evaluations of one run differ less by chance than their ranges suggest.")


def page(run: Run) -> str:
    """The whole document."""
    links = "".join(f'<a href="#{name}">{title}</a>' for name, title in SECTIONS.items())
    curves = "".join(drawn_figures(run)) or '<p class="quiet">No numbers are recorded yet.</p>'
    bodies = {"curves": f'<div class="charts">{curves}</div>', "evaluations": _evaluations(run),
              "answers": sample_sections(run.files), "metrics": _glossary(run),
              "configuration": _configuration(run) + run_facts("Environment", run.environment)}
    main = "".join(f'<section id="{name}"><h2>{title}</h2>{bodies[name]}</section>' for name, title in SECTIONS.items())
    header = f'{run_head(run)}<nav aria-label="Sections">{links}</nav>'
    return single(title=f"{run.name} - reasongym report", header=header, main=main, footer=FOOTER,
                  style=CHART_STYLE + STYLE)


def _evaluations(run: Run) -> str:
    """The held-out numbers as a table: what the curves show, for those who read or copy them."""
    columns = {part: run.curve(f"eval/reward/{part}") for part in ("mean", *run.parts)}
    if not columns["mean"].steps:
        return '<p class="quiet">This run was not evaluated.</p>'
    scores = {part: dict(zip(curve.steps, curve.values, strict=True)) for part, curve in columns.items()}
    intervals = {part: run.intervals(f"eval/reward/{part}") for part in run.parts}
    rows = []
    for step in columns["mean"].steps:
        cells = [cell(f"{step:,}", "number")]
        for part in columns:
            score = f"{scores[part][step]:.3f}" if step in scores[part] else "-"
            interval = intervals.get(part, {}).get(step)
            span = f' <span class="quiet">{interval.low:.3f} to {interval.high:.3f}</span>' if interval else ""
            cells.append(cell(score + span, "number"))
        rows.append(f'<tr>{"".join(cells)}</tr>')
    return _table([("step", "number", ""), *(("reward" if part == "mean" else part, "number", "") for part in columns)],
                  rows)


def _configuration(run: Run) -> str:
    text = yaml.safe_dump(dict(run.config), sort_keys=False, allow_unicode=True) if run.config else "(not recorded)"
    return f"<details><summary>config.yaml</summary><pre>{safe(text)}</pre></details>"


def _glossary(run: Run) -> str:
    known = [(name, info) for name in run.names if (info := metric_info(name))]
    rows = [f"<tr><th><code>{safe(name)}</code></th>{''.join(cell(safe(text)) for text in info)}</tr>"
            for name, info in known]
    table = _table([(head, "", "") for head in ("metric", "what it is", "formula", "a bad value")], rows, "glossary")
    return f"<details><summary>Every metric of this run</summary>{table}</details>"


def _table(columns: list[tuple[str, str, str]], rows: list[str], kind: str = "") -> str:
    return (f'<div class="scroll"><table class="{kind}">{heads(columns)}<tbody>{"".join(rows)}</tbody></table></div>')
