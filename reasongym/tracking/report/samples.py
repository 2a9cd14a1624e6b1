"""Rollouts in a report: at the first, a middle and the last step the best, the worst and the longest answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from reasongym.errors import DataError
from reasongym.tracking.printable import printable, shorten
from reasongym.tracking.rollouts import read_rollouts, rollout_files

__all__ = ["chosen", "sample_sections"]

PROMPT_CHARACTERS = 3000
COMPLETION_CHARACTERS = 5000
PER_KIND = 2

Row = Mapping[str, Any]


def sample_sections(rollouts: Path) -> str:
    """Sections of HTML, one a step; all text of prompts and completions is escaped."""
    files = rollout_files(rollouts)
    steps = list(files)
    shown = dict.fromkeys([steps[0], steps[len(steps) // 2], steps[-1]]) if steps else {}
    if not shown:
        return '<p class="empty">This run kept no rollouts.</p>'
    return "".join(_section(step, files[step], is_open=step == steps[-1]) for step in shown)


def chosen(rows: Sequence[Row]) -> list[tuple[str, Row]]:
    """(kind, row) of the best and worst answers, each of another prompt, and of the longest; no answer twice.

    Of equal rewards the first prompt's counts, so that a report is the same each time it is written.
    """
    scored = [row for row in rows if row["reward"] is not None]
    picks: list[tuple[str, Row]] = []
    best = _other_prompts(sorted(scored, key=lambda row: -row["reward"]))
    worst = _other_prompts(sorted(scored, key=lambda row: row["reward"]))
    longest = sorted(rows, key=lambda row: -row["num_tokens"])[:1]
    for kind, candidates in (("best", best), ("worst", worst), ("longest", longest)):
        picks += [(kind, row) for row in candidates if not any(row is other for _, other in picks)]
    return picks


def _other_prompts(rows: Sequence[Row]) -> list[Row]:
    first: dict[int, Row] = {}
    for row in rows:
        first.setdefault(row["group"], row)
    return list(first.values())[:PER_KIND]


def _section(step: int, path: Path, *, is_open: bool) -> str:
    try:
        rows = read_rollouts(path)
    except DataError as error:
        return f'<p class="empty">{escape(printable(str(error)))}</p>'
    cards = "".join(_card(kind, row) for kind, row in chosen(rows))
    return (f'<details class="step"{" open" if is_open else ""}><summary>Step {step:,} <span class="quiet">'
            f"{len(rows):,} rollouts</span></summary><div class=\"cards\">{cards}</div></details>")


def _card(kind: str, row: Row) -> str:
    reward = "no reward" if row["reward"] is None else f"reward {row['reward']:.3g}"
    cut = ", cut off" if row["finish_reason"] == "length" else ""
    status, address = escape(row["status"]), f"{row['task']}/{row['split']}/{row['index']}"
    return (f'<article class="card"><header><span class="tag">{kind}</span><span class="tag {status}">{status}</span>'
            f'<strong>{reward}</strong><span class="quiet">{row["num_tokens"]:,} tokens{cut}</span>'
            f'<span class="quiet id">{_safe(address)}</span></header>'
            f"<h4>Prompt</h4>{_block(row['prompt'], PROMPT_CHARACTERS, 'prompt')}"
            f"<h4>Answer</h4>{_block(row['completion'], COMPLETION_CHARACTERS, 'answer')}"
            f"<p class=\"quiet\">reference <code>{_safe(shorten(row['reference'], 400))}</code></p>"
            f"{_verdicts(row)}</article>")


def _verdicts(row: Row) -> str:
    parts = [name.removeprefix("score_") for name in row if name.startswith("score_") and row[name] is not None]
    lines = []
    for part in parts:
        extracted = row[f"extracted_{part}"]
        answer = "" if extracted is None else f"<code>{_safe(shorten(extracted, 400))}</code>"
        reason = _safe(shorten(row[f"reason_{part}"] or "", 400))
        lines.append(f"<tr><th>{_safe(part)}</th><td>{row[f'score_{part}']:.3g}</td>"
                     f"<td>{_safe(row[f'status_{part}'])}</td><td>{answer}</td><td>{reason}</td></tr>")
    heads = "".join(f"<th>{head}</th>" for head in ("part", "score", "status", "extracted", "reason"))
    return (f'<div class="scroll"><table class="verdicts"><thead><tr>{heads}</tr></thead>'
            f"<tbody>{''.join(lines)}</tbody></table></div>")


def _block(text: str, limit: int, kind: str) -> str:
    return f'<pre class="{kind}" dir="auto">{_safe(shorten(text, limit)) or "(empty)"}</pre>'


def _safe(text: str) -> str:
    """A model writes what it likes: markup, control characters, marks that reverse the line."""
    return escape(printable(text), quote=True)
