"""Answers in a report: at the first, a middle and the last step the best, the worst and the longest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reasongym.pages.markup import safe
from reasongym.printable import shorten
from reasongym.tracking.overview.samples import answers_of_step

__all__ = ["chosen", "sample_sections"]

CHARACTERS = {"prompt": 3000, "completion": 5000, "extracted": 400, "reference": 400, "reason": 400, "parts": 5000}
"""Of each text; the middle of a longer one is left out."""
PER_KIND = 2

Answer = Mapping[str, Any]


def sample_sections(files: Mapping[int, Path]) -> str:
    """Sections of HTML, one a step; all text of prompts and completions is escaped. files: by step, in order."""
    steps = list(files)
    shown = dict.fromkeys([steps[0], steps[len(steps) // 2], steps[-1]]) if steps else {}
    if not shown:
        return '<p class="quiet">This run has kept no answers.</p>'
    return "".join(_section(step, answers_of_step(files[step]), is_open=step == steps[-1]) for step in shown)


def chosen(answers: Sequence[Answer]) -> list[tuple[str, Answer]]:
    """(kind, answer) of the best and worst answers, each of another prompt, and of the longest; no answer twice.

    Of equal rewards the first prompt's counts, so that a report is the same each time it is written.
    """
    scored = [answer for answer in answers if answer["score"] is not None]
    picks: list[tuple[str, Answer]] = []
    best = _other_prompts(sorted(scored, key=lambda answer: -answer["score"]))
    worst = _other_prompts(sorted(scored, key=lambda answer: answer["score"]))
    longest = sorted(answers, key=lambda answer: -(answer["tokens"] or 0))[:1]
    for kind, candidates in (("best", best), ("worst", worst), ("longest", longest)):
        picks += [(kind, answer) for answer in candidates if not any(answer is other for _, other in picks)]
    return picks


def _other_prompts(answers: Sequence[Answer]) -> list[Answer]:
    first: dict[str, Answer] = {}
    for answer in answers:
        first.setdefault(answer["row"], answer)
    return list(first.values())[:PER_KIND]


def _section(step: int, answers: Sequence[Answer], *, is_open: bool) -> str:
    cards = "".join(_card(kind, answer) for kind, answer in chosen(answers))
    return (f'<details{" open" if is_open else ""}><summary>Step {step:,} <span class="quiet">{len(answers):,} answers'
            f"</span></summary>{cards}</details>")


def _card(kind: str, answer: Answer) -> str:
    shown = dict(answer) | {name: shorten(answer[name] or "", limit) for name, limit in CHARACTERS.items()}
    score = None if answer["score"] is None else f"{answer['score']:.3g}"
    told = {"score": score, "extracted": shown["extracted"], "reference": shown["reference"],
            "reason": shown["reason"], "ended": shown["finish_reason"], "tokens": shown["tokens"]}
    facts = "".join(f"<dt>{name}</dt><dd>{safe(value)}</dd>" for name, value in told.items() if value not in (None, ""))
    parts = f'<details><summary>All reward parts</summary>{_block(shown["parts"])}</details>' if shown["parts"] else ""
    return (f'<article class="answer"><h3><span class="tag">{kind}</span> <span class="tag {safe(shown["status"])}">'
            f'{safe(shown["status"])}</span> <span class="quiet">{safe(shown["row"])}</span></h3><dl>{facts}</dl>'
            f'<h3>Prompt</h3>{_block(shown["prompt"])}<h3>Answer</h3>{_block(shown["completion"])}{parts}</article>')


def _block(text: str) -> str:
    return f'<pre dir="auto">{safe(text) or "(empty)"}</pre>'
