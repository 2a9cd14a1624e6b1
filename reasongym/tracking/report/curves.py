"""The figures of a run as pictures that need no script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reasongym.pages.markup import safe
from reasongym.tracking.definitions import metric_info
from reasongym.tracking.overview.figures import Figure, figures, points
from reasongym.tracking.overview.run import Run
from reasongym.tracking.report.svg import CHART_STYLE, Series, chart

__all__ = ["curve_picture", "drawn_figures"]

COLOURS = 6
MAX_POINTS = 120
"""A narrow chart shows no more, and the page of 40 figures stays under 2 MB."""


def drawn_figures(run: Run) -> Iterator[str]:
    """Every figure as HTML: the first over the whole width, once for a wide screen and once for a narrow one."""
    for place, figure in enumerate(figures(run)):
        first = (("wide", 1120, 320), ("narrow", 440, 280))
        pictures = [_chart(run, figure)] if place else [
            f'<div class="{kind}">{_chart(run, figure, width, height)}</div>' for kind, width, height in first]
        info = metric_info(figure.curves[0][0])
        told = f'{safe(info.definition)} <span class="hint">{safe(info.bad_value_means)}</span>' if info else ""
        yield (f'<figure class="{"" if place else "first"}"><figcaption><h3>{safe(figure.title)}</h3></figcaption>'
               f'{"".join(pictures)}<p class="quiet">{told}</p></figure>')


def curve_picture(run: Run, title: str) -> str:
    """A picture for a document: the score of each reward part, training and held-out, as one SVG file. Empty where no
    reward is recorded."""
    curves = [(f"{prefix}{part}", f"{part}, {kind}") for part in run.parts
              for prefix, kind in (("reward/", "training"), ("eval/reward/", "held-out"))]
    series = _series(run, curves)
    return chart(title, series, width=760, height=340, heading=title, style=CHART_STYLE) if series else ""


def _chart(run: Run, figure: Figure, width: int = 440, height: int = 250) -> str:
    curves = sorted(figure.curves, key=lambda curve: curve[0].startswith("eval/"))  # in front, in the second colour
    return chart(figure.title, _series(run, curves), width=width, height=height, show=figure.show,
                 from_zero=figure.from_zero)


def _series(run: Run, curves: Sequence[tuple[str, str]]) -> list[Series]:
    """Those of the curves that the run has; the colours are the same whether it has the others or not."""
    return [Series(label=label, colour=place % COLOURS, dots=metric.startswith("eval/"),
                   smooth=metric.startswith("reward/"), **points(run, metric, MAX_POINTS))
            for place, (metric, label) in enumerate(curves) if run.curve(metric).steps]
