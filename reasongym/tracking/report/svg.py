"""Line charts as plain SVG: no script, no font, no library; numbers on hover by `<title>`; light and dark by CSS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from statistics import fmean

from reasongym.tracking.numbers import number
from reasongym.tracking.report.axis import Axis, step_ticks

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
SMOOTH_FROM = 30
CHARACTER_WIDTH = 6.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One curve of at least one point: y over the steps x. low, high: a band around it, empty where there is none;
    interval: whether that is a 95 % interval, or the least and largest of so many `steps`. colour: 0..5. dots: mark
    every point (few, measured points). smooth: the line is a moving mean and the points stand behind it, faint."""

    label: str
    x: Sequence[int]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    interval: bool = False
    steps: int = 1
    colour: int = 0
    dots: bool = False
    smooth: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Where things lie in one picture, in pixels from its upper left corner. steps: those shown, in order. y: values to
    pixels. show: how a value is written. unit, show_x: what a step is called, and how its number is written."""

    width: int
    height: int
    top: int
    steps: Sequence[int]
    y: Axis
    show: Callable[[float], str]
    unit: str
    show_x: Callable[[int], str]

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
          show: Callable[[float], str] = number, from_zero: bool = True, heading: str = "", style: str = "",
          unit: str = "step", show_x: Callable[[int], str] = "{:,}".format) -> str:
    """An `<svg>` of the series, of which there is one or more, over the steps; `show` writes a value.

    title: what a screen reader says, before first and last values. heading, style: text above the curves and a style
    sheet, for a picture that stands in a file of its own. unit, show_x: for curves over something else than steps.
    """
    top = TOP + (26 if heading else 0) + LEGEND_ROW * (len(_legend_rows(series, width, show)) - 1)
    values = [value for s in series for value in (*s.y, *s.low, *s.high)]
    plot = Plot(width=width, height=height, top=top, steps=sorted({step for s in series for step in s.x}),
                y=Axis(values, height - BOTTOM, top, from_zero=from_zero), show=show, unit=unit, show_x=show_x)
    label = escape(" ".join([f"{title}.", *(_spoken(s, plot) for s in series)]), quote=True)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {width} {height}" role="img" '
            f'aria-label="{label}">{_backdrop(plot, heading, style)}{_frame(plot)}{_legend(series, plot)}'
            f'{"".join(_curve(s, plot) for s in series)}{_hovers(series, plot)}</svg>\n')


def _spoken(series: Series, plot: Plot) -> str:
    first, last = (f"{plot.show(series.y[place])} at {plot.unit} {plot.show_x(series.x[place])}" for place in (0, -1))
    return f"{series.label}: {first}, {last}."


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
                     f'<text x="{at:.1f}" y="{plot.base + 17}" text-anchor="middle">{escape(plot.show_x(step))}</text>')
    lines.append(f'<line class="axis" x1="{LEFT}" x2="{plot.right}" y1="{plot.base}" y2="{plot.base}"/>'
                 f'<text x="{(LEFT + plot.right) / 2:.0f}" y="{plot.height - 5}" text-anchor="middle">'
                 f'{escape(plot.unit)}</text>')
    return "".join(lines)


def _legend(series: Sequence[Series], plot: Plot) -> str:
    """Each curve's colour and name, with its last value, in as many rows as they take."""
    rows = _legend_rows(series, plot.width, plot.show)
    parts = []
    for up, row in enumerate(reversed(rows)):
        at, y = float(LEFT), plot.top - 14 - LEGEND_ROW * up
        for s, value in row:
            parts.append(f'<circle class="fill{s.colour}" cx="{at + 4:.0f}" cy="{y - 4}" r="4"/>'
                         f'<text x="{at + 13:.0f}" y="{y}">{escape(s.label)} '
                         f'<tspan class="name">{escape(value)}</tspan></text>')
            at += _legend_width(s.label, value)
    return "".join(parts)


def _legend_rows(series: Sequence[Series], width: int, show: Callable[[float], str]) -> list[list[tuple[Series, str]]]:
    """(series, its last value) of each row."""
    rows: list[list[tuple[Series, str]]] = [[]]
    room = width - LEFT
    for s in series:
        value = show(s.y[-1])
        room -= _legend_width(s.label, value)
        if room < 0 and rows[-1]:
            rows.append([])
            room = width - LEFT - _legend_width(s.label, value)
        rows[-1].append((s, value))
    return rows


def _legend_width(label: str, value: str) -> int:
    return round(25 + CHARACTER_WIDTH * (len(label) + len(value) + 1))


def _curve(series: Series, plot: Plot) -> str:
    values, parts = series.y, [_band(series, plot)]
    if series.smooth and len(values) >= SMOOTH_FROM:
        parts.append(f'<path class="raw line{series.colour}" d="M{_path(series.x, values, plot)}"/>')
        values = _moving_mean(values, max(3, len(values) // 12))
    parts.append(f'<path class="line{series.colour}" d="M{_path(series.x, values, plot)}"/>')
    if series.dots or len(values) == 1:
        parts += [_spot(series, step, value, plot) for step, value in zip(series.x, values, strict=True)]
    return "".join(parts)


def _band(series: Series, plot: Plot) -> str:
    if not series.low:
        return ""
    upper, lower = _path(series.x, series.high, plot), _path(series.x[::-1], series.low[::-1], plot)
    return f'<path class="band fill{series.colour}" d="M{upper}L{lower}Z"/>'


def _path(steps: Sequence[int], values: Sequence[float], plot: Plot) -> str:
    return "L".join(f"{plot.x(step):.1f} {plot.y.at(value):.1f}" for step, value in zip(steps, values, strict=True))


def _spot(series: Series, step: int, value: float, plot: Plot) -> str:
    return f'<circle class="spot fill{series.colour}" cx="{plot.x(step):.1f}" cy="{plot.y.at(value):.1f}" r="4"/>'


def _hovers(series: Sequence[Series], plot: Plot) -> str:
    """One column a step, unseen until the pointer is on it, with every value of the step in its title."""
    places = [(s, {step: place for place, step in enumerate(s.x)}) for s in series]
    edges = [LEFT, *((plot.x(a) + plot.x(b)) / 2 for a, b in pairwise(plot.steps)), plot.right]
    columns = []
    for step, (left, right) in zip(plot.steps, pairwise(edges), strict=True):
        here = [(s, known[step]) for s, known in places if step in known]
        said = "\n".join([f"{plot.unit} {plot.show_x(step)}", *(_hover_text(s, place, plot) for s, place in here)])
        at, spots = plot.x(step), "".join(_spot(s, step, s.y[place], plot) for s, place in here)
        columns.append(
            f'<g class="hover"><title>{escape(said)}</title><rect x="{left:.1f}" y="{plot.top}" '
            f'width="{right - left:.1f}" height="{plot.base - plot.top}"/><line class="axis" x1="{at:.1f}" '
            f'x2="{at:.1f}" y1="{plot.top}" y2="{plot.base}"/>{spots}</g>')
    return "".join(columns)


def _hover_text(series: Series, place: int, plot: Plot) -> str:
    told = f"{series.label}: {plot.show(series.y[place])}"
    if not series.low:
        return told
    span = f"{plot.show(series.low[place])} to {plot.show(series.high[place])}"
    return f"{told} (95%: {span})" if series.interval else f"{told} ({span} over {series.steps} steps)"


def _moving_mean(values: Sequence[float], window: int) -> list[float]:
    """Centred, over at most `window` neighbours; fewer, but as many on both sides, at the ends."""
    reaches = [min(window // 2, i, len(values) - 1 - i) for i in range(len(values))]
    return [fmean(values[i - reach:i + reach + 1]) for i, reach in enumerate(reaches)]
