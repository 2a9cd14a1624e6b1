"""An interval as a picture."""

from __future__ import annotations

from reasongym.leaderboard.entry import Metric

__all__ = ["interval"]

WIDTH, HEIGHT = 200.0, 20.0


def interval(metric: Metric, low: float, high: float) -> str:
    """Interval and mean on a scale from `low` to `high`, as SVG; its text for those who do not see it."""
    def at(value: float) -> float:
        share = (value - low) / (high - low) if high > low else 0.5
        return 6 + (WIDTH - 12) * min(max(share, 0.0), 1.0)

    middle = HEIGHT / 2
    told = f"{100 * metric.mean:.1f} %, 95 % interval {100 * metric.low:.1f} to {100 * metric.high:.1f}"
    return (f'<svg class="interval" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" preserveAspectRatio="none" role="img" '
            f'aria-label="{told}"><title>{told}</title>'
            f'<line class="scale" x1="0" x2="{WIDTH:g}" y1="{middle:g}" y2="{middle:g}"/>'
            f'<line class="span" x1="{at(metric.low):.1f}" x2="{at(metric.high):.1f}" y1="{middle:g}" y2="{middle:g}"/>'
            f'<circle class="mean" cx="{at(metric.mean):.1f}" cy="{middle:g}" r="5"/></svg>')
