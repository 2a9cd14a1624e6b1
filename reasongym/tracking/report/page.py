"""The report as one page: no script, nothing loaded, a content policy that forbids both."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from importlib import resources
from pathlib import Path
from statistics import median
from string import Template

from reasongym.tracking.definitions import metric_info
from reasongym.tracking.printable import printable
from reasongym.tracking.report.axis import number, percent
from reasongym.tracking.report.curves import health_figures, part_figures, reward_figure
from reasongym.tracking.report.run_data import RunData
from reasongym.tracking.report.samples import sample_sections
from reasongym.tracking.report.svg import CHART_STYLE
from reasongym.tracking.step_line import duration

__all__ = ["page"]


def page(run: RunData) -> str:
    """The whole document."""
    template = Template(resources.files("reasongym.tracking").joinpath("page.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=_safe(run.path.resolve().name), chart_style=CHART_STYLE, facts=_facts(run), warning=_warning(run),
        headline=_headline(run), reward=reward_figure(run), parts=part_figures(run), health=health_figures(run),
        evaluations=_evaluations(run), samples=sample_sections(run.path / "rollouts"),
        config=_safe(run.config_text) or "(not recorded)", environment=_environment(run), glossary=_glossary(run))


def _facts(run: RunData) -> str:
    task, model = run.setting("task", "name"), run.setting("model", "path")
    algorithm, total = run.setting("algorithm", "name"), run.config.get("steps")
    done = max((step for step, _ in run.series("reward/mean")), default=0)
    steps = f"{done:,} of {total:,} steps" if isinstance(total, int) else f"{done:,} steps"
    return " ".join(f"<span>{_safe(fact)}</span>" for fact in (task, Path(model).name, algorithm, steps) if fact)


def _warning(run: RunData) -> str:
    missing = ", ".join(run.substitutes())
    return "" if not missing else (
        f'<div class="warning" role="alert"><strong>This run did not train on {_safe(missing)}.</strong> The data set '
        "was not found, and generated rows stood in for it. No number on this page is a result on that data set.</div>")


def _headline(run: RunData) -> str:
    evaluated, trained = run.series("eval/reward/mean"), run.series("reward/mean")
    tiles = [_change_tile("Held-out reward", evaluated), _change_tile("Training reward", trained)]
    if evaluated:
        step, best = max(evaluated, key=lambda point: point[1])
        tiles.append(_tile("Best held-out", f"{best:.3f}", f"at step {step:,}"))
    tokens, seconds = run.series("rollout/tokens"), run.series("step/seconds")
    if seconds:
        middle = median(value for _, value in seconds)
        tiles.append(_tile("Time", duration(sum(value for _, value in seconds)), f"{number(middle)} s a step"))
    if tokens:
        rate = run.series("rollout/tokens_per_second")
        below = f"{number(median(value for _, value in rate))} a second" if rate else ""
        tiles.append(_tile("Tokens sampled", number(sum(value for _, value in tokens)), below))
    truncated = run.series("rollout/truncated_share")
    if truncated:
        tiles.append(_tile("Cut off at the end", percent(truncated[-1][1]), "of the last step's answers"))
    return "".join(tiles)


def _change_tile(label: str, points: tuple[tuple[int, float], ...]) -> str:
    if not points:
        return ""
    (first, start), (last, end) = points[0], points[-1]
    return _tile(label, f"{start:.3f} &rarr; {end:.3f}", f"{end - start:+.3f}, steps {first:,} to {last:,}")


def _tile(label: str, value: str, below: str) -> str:
    return f"<div class=\"tile\"><dt>{label}</dt><dd>{value}<small>{below}</small></dd></div>"


def _evaluations(run: RunData) -> str:
    """The held-out numbers as a table: what the curves show, for those who read or copy them."""
    points, parts = run.series("eval/reward/mean"), run.parts()
    if not points:
        return '<p class="empty">This run was not evaluated.</p>'
    intervals = {part: run.intervals(part) for part in parts}
    scores = {part: dict(run.series(f"eval/reward/{part}")) for part in parts}
    lines = []
    for step, reward in points:
        cells = [f"{step:,}", f"{reward:.3f}"]
        for part in parts:
            score = f"{scores[part][step]:.3f}" if step in scores[part] else "-"
            interval = intervals[part].get(step)
            span = f' <span class="quiet">{interval.low:.3f} to {interval.high:.3f}</span>' if interval else ""
            cells.append(score + span)
        lines.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    heads = "".join(f"<th>{_safe(head)}</th>" for head in ("step", "reward", *parts))
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'


def _environment(run: RunData) -> str:
    rows = "".join(f"<tr><th>{_safe(name)}</th><td>{_safe(value)}</td></tr>"
                   for name, value in _flat(run.environment).items())
    return f"<table>{rows}</table>" if rows else '<p class="empty">Not recorded.</p>'


def _flat(node: Mapping[str, object], above: str = "") -> dict[str, str]:
    """A tree as dotted name -> text."""
    flat: dict[str, str] = {}
    for name, value in node.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{above}{name}.")
        else:
            flat[f"{above}{name}"] = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    return flat


def _glossary(run: RunData) -> str:
    known = [(name, info) for name in run.names("") if (info := metric_info(name))]
    rows = "".join(f"<tr><th><code>{_safe(name)}</code></th>" + "".join(f"<td>{escape(text)}</td>" for text in info)
                   + "</tr>" for name, info in known)
    heads = "<thead><tr><th>metric</th><th>what it is</th><th>formula</th><th>a bad value</th></tr></thead>"
    return f'<div class="scroll"><table class="glossary">{heads}<tbody>{rows}</tbody></table></div>'


def _safe(text: str) -> str:
    return escape(printable(text), quote=True)
