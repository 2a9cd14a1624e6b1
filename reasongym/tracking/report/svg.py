"""Line charts as plain SVG: no script, no font, no library; numbers on hover by `<title>`; light and dark by CSS."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from statistics import fmean

from reasongym.evaluation import Interval
from reasongym.tracking.report.axis import Axis, number, step_ticks

__all__ = ["CHART_STYLE", "Series", "chart"]

CHART_STYLE = """
.chart{--ink:#1f2937;--quiet:#6b7280;--grid:#e5e7eb;--c0:#2563eb;--c1:#d9480f;--c2:#0d9488;--c3:#9333ea;--c4:#b45309;--c5:#be185d;--paper:#fff}
@media (prefers-color-scheme:dark){
.chart{--ink:#e5e7eb;--quiet:#9ca3af;--grid:#2c3442;--c0:#6ea8fe;--c1:#ff9f5a;--c2:#4fd1c5;--c3:#c79bff;--c4:#f2c14e;--c5:#f78fb3;--paper:#161b22}}
.chart text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--quiet)}
.chart .name{fill:var(--ink);font-weight:600}
.chart .heading{fill:var(--ink);font-size:16px;font-weight:650}
.chart .grid{stroke:var(--grid);stroke-width:1}
.chart .axis{stroke:var(--quiet);stroke-width:1}
.chart path{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.chart .raw{stroke-width:1;opacity:.35}
.chart .band{stroke:none;opacity:.16}
.chart .spot{stroke:var(--paper);stroke-width:1.5}
.chart .hover{opacity:0}
.chart .hover:hover{opacity:1}
.chart .hover rect{fill:transparent}
.chart .paper{fill:var(--paper)}
""" + "".join(f".chart .line{i}{{stroke:var(--c{i})}}.chart .fill{i}{{fill:var(--c{i})}}\n" for i in range(6))

LEFT, RIGHT, TOP, BOTTOM = 52, 14, 34, 38
LEGEND_ROW = 18
MAX_POINTS = 150
"""More steps than this are averaged into that many: a narrow chart shows no more, and the page stays under 1 MB."""
SMOOTH_FROM = 30
CHARACTER_WIDTH = 6.9

Points = Sequence[tuple[int, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One curve. colour: 0..5. dots: mark every point (few, measured points). smooth: the line is a moving mean and the
    points stand behind it, faint. intervals: step -> 95% interval, drawn as a band."""

    label: str
    points: Points
    colour: int = 0
    dots: bool = False
    smooth: bool = False
    intervals: Mapping[int, Interval] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Where things lie in one picture, in pixels from its upper left corner. steps: those shown, in order. y: values to
    pixels. show: how a value is written."""

    width: int
    height: int
    top: int
    steps: Sequence[int]
    y: Axis
    show: Callable[[float], str]

    @property
    def base(self) -> int:
        return self.height - BOTTOM

    @property
    def right(self) -> int:
        return self.width - RIGHT

    def x(self, step: float) -> float:
        span = max(1, self.steps[-1] - self.steps[0])
        return LEFT + (step - self.steps[0]) / span * (self.right - LEFT)


def chart(title: str, series: Sequence[Series], *, width: int = 440, height: int = 250,
          show: Callable[[float], str] = number, from_zero: bool = True, heading: str = "", style: str = "") -> str:
    """An `<svg>` of the series over the steps; `show` writes a value. Empty where no series has points.

    title: what a screen reader says, before first and last values. heading, style: text above the curves and a style
    sheet, for a picture that stands in a file of its own.
    """
    drawn = [s for s in series if s.points]
    if not drawn:
        return ""
    top = TOP + (26 if heading else 0) + LEGEND_ROW * (len(_legend_rows(drawn, width, show)) - 1)
    values = [value for s in drawn for _, value in s.points]
    bounds = [bound for s in drawn for interval in s.intervals.values() for bound in interval]
    plot = Plot(width=width, height=height, top=top, steps=sorted({step for s in drawn for step, _ in s.points}),
                y=Axis(values + bounds, height - BOTTOM, top, from_zero=from_zero), show=show)
    label = escape(" ".join([f"{title}.", *(_spoken(s, show) for s in drawn)]), quote=True)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {width} {height}" role="img" '
            f'aria-label="{label}">{_backdrop(plot, heading, style)}{_frame(plot)}{_legend(drawn, plot)}'
            f'{"".join(_curve(s, plot) for s in drawn)}{_hovers(drawn, plot)}</svg>\n')


def _spoken(series: Series, show: Callable[[float], str]) -> str:
    (first, start), (last, end) = series.points[0], series.points[-1]
    return f"{series.label}: {show(start)} at step {first}, {show(end)} at step {last}."


def _backdrop(plot: Plot, heading: str, style: str) -> str:
    """A picture in a file has its own paper, since it cannot know the colour of the page around it."""
    paper = f'<rect class="paper" width="{plot.width}" height="{plot.height}" rx="8"/>'
    text = f'<text class="heading" x="14" y="26">{escape(heading)}</text>'
    return (f"<style>{style}</style>{paper}" if style else "") + (text if heading else "")


def _frame(plot: Plot) -> str:
    lines = []
    for tick in plot.y.ticks:
        at = plot.y.at(tick)
        lines.append(f'<line class="grid" x1="{LEFT}" x2="{plot.right}" y1="{at:.1f}" y2="{at:.1f}"/>'
                     f'<text x="{LEFT - 7}" y="{at + 4:.1f}" text-anchor="end">{plot.show(tick)}</text>')
    for step in step_ticks(plot.steps[0], plot.steps[-1]):
        at = plot.x(step)
        lines.append(f'<line class="axis" x1="{at:.1f}" x2="{at:.1f}" y1="{plot.base}" y2="{plot.base + 4}"/>'
                     f'<text x="{at:.1f}" y="{plot.base + 17}" text-anchor="middle">{step:,}</text>')
    lines.append(f'<line class="axis" x1="{LEFT}" x2="{plot.right}" y1="{plot.base}" y2="{plot.base}"/>'
                 f'<text x="{(LEFT + plot.right) / 2:.0f}" y="{plot.height - 5}" text-anchor="middle">step</text>')
    return "".join(lines)


def _legend(drawn: Sequence[Series], plot: Plot) -> str:
    """Each curve's colour and name, with its last value, in as many rows as they take."""
    rows = _legend_rows(drawn, plot.width, plot.show)
    parts = []
    for up, row in enumerate(reversed(rows)):
        at, y = float(LEFT), plot.top - 14 - LEGEND_ROW * up
        for s, value in row:
            parts.append(f'<circle class="fill{s.colour}" cx="{at + 4:.0f}" cy="{y - 4}" r="4"/>'
                         f'<text x="{at + 13:.0f}" y="{y}">{escape(s.label)} '
                         f'<tspan class="name">{escape(value)}</tspan></text>')
            at += _legend_width(s.label, value)
    return "".join(parts)


def _legend_rows(drawn: Sequence[Series], width: int, show: Callable[[float], str]) -> list[list[tuple[Series, str]]]:
    """(series, its last value) of each row."""
    rows: list[list[tuple[Series, str]]] = [[]]
    room = width - LEFT
    for s in drawn:
        value = show(s.points[-1][1])
        room -= _legend_width(s.label, value)
        if room < 0 and rows[-1]:
            rows.append([])
            room = width - LEFT - _legend_width(s.label, value)
        rows[-1].append((s, value))
    return rows


def _legend_width(label: str, value: str) -> int:
    return round(25 + CHARACTER_WIDTH * (len(label) + len(value) + 1))


def _curve(series: Series, plot: Plot) -> str:
    points = _thinned(series.points)
    parts = [_band(series, plot)]
    if series.smooth and len(points) >= SMOOTH_FROM:
        parts.append(f'<path class="raw line{series.colour}" d="{_path(points, plot)}"/>')
        points = _moving_mean(points, max(3, len(points) // 12))
    parts.append(f'<path class="line{series.colour}" d="{_path(points, plot)}"/>')
    if series.dots or len(points) == 1:
        parts += [_spot(series, step, value, plot) for step, value in points]
    return "".join(parts)


def _band(series: Series, plot: Plot) -> str:
    if not series.intervals:
        return ""
    steps = sorted(series.intervals)
    upper = [f"{plot.x(step):.1f} {plot.y.at(series.intervals[step].high):.1f}" for step in steps]
    lower = [f"{plot.x(step):.1f} {plot.y.at(series.intervals[step].low):.1f}" for step in reversed(steps)]
    return f'<polygon class="band fill{series.colour}" points="{" ".join([*upper, *lower])}"/>'


def _path(points: Points, plot: Plot) -> str:
    return "M" + "L".join(f"{plot.x(step):.1f} {plot.y.at(value):.1f}" for step, value in points)


def _spot(series: Series, step: int, value: float, plot: Plot) -> str:
    return f'<circle class="spot fill{series.colour}" cx="{plot.x(step):.1f}" cy="{plot.y.at(value):.1f}" r="4"/>'


def _hovers(series: Sequence[Series], plot: Plot) -> str:
    """One column a step, unseen until the pointer is on it, with every value of the step in its title."""
    thinned = [(s, dict(_thinned(s.points))) for s in series]
    steps = sorted({step for _, values in thinned for step in values})
    edges = [LEFT, *((plot.x(a) + plot.x(b)) / 2 for a, b in pairwise(steps)), plot.right]
    columns = []
    for step, (left, right) in zip(steps, pairwise(edges), strict=True):
        here = [(s, values[step]) for s, values in thinned if step in values]
        said = "\n".join([f"step {step:,}", *(_hover_text(s, step, value, plot) for s, value in here)])
        at, spots = plot.x(step), "".join(_spot(s, step, value, plot) for s, value in here)
        columns.append(
            f'<g class="hover"><title>{escape(said)}</title><rect x="{left:.1f}" y="{plot.top}" '
            f'width="{right - left:.1f}" height="{plot.base - plot.top}"/><line class="axis" x1="{at:.1f}" '
            f'x2="{at:.1f}" y1="{plot.top}" y2="{plot.base}"/>{spots}</g>')
    return "".join(columns)


def _hover_text(series: Series, step: int, value: float, plot: Plot) -> str:
    interval = series.intervals.get(step)
    return f"{series.label}: {plot.show(value)}" + (
        f" (95%: {plot.show(interval.low)} to {plot.show(interval.high)})" if interval else "")


def _thinned(points: Points) -> list[tuple[int, float]]:
    """At most MAX_POINTS points, each the mean of as many neighbours, at the last step of them."""
    size = -(-len(points) // MAX_POINTS)
    chunks = [points[i:i + size] for i in range(0, len(points), size)]
    return [(chunk[-1][0], fmean(value for _, value in chunk)) for chunk in chunks]


def _moving_mean(points: Points, window: int) -> list[tuple[int, float]]:
    """Centred, over at most `window` neighbours; fewer, but as many on both sides, at the ends."""
    smoothed = []
    for i, (step, _) in enumerate(points):
        reach = min(window // 2, i, len(points) - 1 - i)
        smoothed.append((step, fmean(value for _, value in points[i - reach:i + reach + 1])))
    return smoothed
