"""Pieces of a page: escaped text, the frame around it, heads and cells of tables, trees as lists of facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib import resources
from string import Template
from typing import Any

from reasongym.printable import printable

__all__ = ["asset", "cell", "flat", "frame", "heads", "marks", "safe", "single"]


def safe(text: object) -> str:
    """Text for an element or an attribute: no character of it is markup, moves a cursor or reorders a line."""
    return escape(printable(str(text)), quote=True)


def asset(name: str) -> str:
    """A file of assets/."""
    return resources.files("reasongym.pages").joinpath("assets", name).read_text(encoding="utf-8")


def frame(*, title: str, header: str, main: str, footer: str, depth: int, scripts: Sequence[str]) -> str:
    """A page. header, main, footer: HTML. depth: folders below the first page. scripts: of assets/, in their order."""
    root = "../" * depth
    loaded = [f'<link rel="stylesheet" href="{root}assets/style.css">',
              *(f'<script src="{root}assets/{name}" defer></script>' for name in scripts)]
    return _document(title, "script-src 'self'; style-src 'self'", "\n".join(loaded), header, main, footer)


def single(*, title: str, header: str, main: str, footer: str, style: str) -> str:
    """A page in one file, without a script. style: CSS beside that of assets/."""
    sheet = f"<style>\n{asset('style.css')}{style}</style>"
    return _document(title, "style-src 'unsafe-inline'", sheet, header, main, footer)


def _document(title: str, policy: str, head: str, header: str, main: str, footer: str) -> str:
    return Template(asset("page.html")).substitute(title=safe(title), policy=policy, head=head, header=header,
                                                   main=main, footer=footer)


def marks(texts: Iterable[str]) -> str:
    """What to mind of a line."""
    return "".join(f'<span class="mark">{safe(text)}</span>' for text in texts)


def cell(html: str, kind: str = "", value: object = None) -> str:
    """kind: classes. value: what the column is sorted by, where that is not the text."""
    classes = f' class="{kind}"' if kind else ""
    sorted_by = "" if value is None else f' data-value="{safe(value)}"'
    return f"<td{classes}{sorted_by}>{html}</td>"


def heads(columns: Iterable[tuple[str, str, str]]) -> str:
    """A row of heads from (text, classes, first): the way a first click sorts, `up` or `down`; empty: not sorted."""
    cells = "".join(f'<th scope="col"{f" class={chr(34)}{kind}{chr(34)}" if kind else ""}'
                    f'{f" data-first={chr(34)}{first}{chr(34)}" if first else ""}>{safe(text)}</th>'
                    for text, kind, first in columns)
    return f"<thead><tr>{cells}</tr></thead>"


def flat(node: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """A tree as dotted names with their texts; what is empty is left out."""
    for name, value in node.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{above}{name}.")
        elif isinstance(value, Sequence) and not isinstance(value, str):
            if value and all(isinstance(one, Mapping) for one in value):
                for number, one in enumerate(value):
                    yield from flat(one, f"{above}{name}.{number}.")
            elif value:
                yield f"{above}{name}", _listed(value)
        elif value not in (None, ""):
            yield f"{above}{name}", str(value)


def _listed(values: Sequence[object]) -> str:
    shown = ", ".join(map(str, values[:40]))
    return shown if len(values) <= 40 else f"{shown}, and {len(values) - 40:,} more"
