"""Numbers as people write them."""

from __future__ import annotations

__all__ = ["duration", "number", "percent"]


def duration(seconds: float) -> str:
    """`12 s`, `3 min 05 s`, `2 h 07 min`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def number(value: float) -> str:
    """Three digits that matter: 0.041, 12.3, 4,250, 1.2M, 3.0e-06."""
    size = abs(value)
    if value == 0:
        return "0"
    if size < 1e-3:
        mantissa, _, exponent = f"{value:.1e}".partition("e")
        return f"{mantissa.removesuffix('.0')}e{int(exponent)}"
    if size >= 1e9:
        return f"{value / 1e9:.3g}G"
    if size >= 1e6:
        return f"{value / 1e6:.3g}M"
    return f"{value:,.0f}" if size >= 1000 else f"{value:.3g}"


def percent(value: float) -> str:
    """A share as 41% or 4.1%."""
    return f"{100 * value:.3g}%" if abs(value) < 0.1 else f"{100 * value:.0f}%"
