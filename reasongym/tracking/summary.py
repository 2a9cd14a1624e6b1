"""What a finished run has to show: held-out reward before and after, best step, time; and the commands to type next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from reasongym.tracking.step_line import duration

__all__ = ["next_commands", "summary_rows"]

Rows = Sequence[Mapping[str, Any]]


def summary_rows(metrics: Rows) -> dict[str, str]:
    """Label -> text, from the rows of metrics.jsonl; a run that was never evaluated shows its training reward."""
    evaluated = [row for row in metrics if row.get("eval/reward/mean") is not None]
    prefix, rows = ("eval/reward/", evaluated) if evaluated else ("reward/", metrics)
    label = "held-out" if evaluated else "training"
    shown = {f"{label} {_label(name, prefix)}": _change(rows, name) for name in _names(rows, prefix)}
    if evaluated:
        best = max(evaluated, key=lambda row: row["eval/reward/mean"])
        shown["best step"] = f"{best['step']} (held-out reward {best['eval/reward/mean']:.3f})"
    if "reward/mean" not in _names(metrics, "reward/"):  # learnt from a file
        shown["loss"] = _change(metrics, "train/loss")
    steps = [row["step/seconds"] for row in metrics if row.get("step/seconds") is not None]
    if steps:
        shown["time"] = f"{duration(sum(steps))} in {len(steps)} steps"
    return shown


def next_commands(folder: Path, task: str) -> list[str]:
    """Lines for a shell, and for Python where they say so."""
    run, final = quote(str(folder)), folder / "final"
    return [
        f"reasongym report {run}",
        f"tensorboard --logdir {quote(str(folder / 'tensorboard'))}",
        f"reasongym eval --model {quote(str(final))} --task {quote(task)}",
        "python:",
        "  from transformers import AutoModelForCausalLM, AutoTokenizer",
        f"  model = AutoModelForCausalLM.from_pretrained({str(final)!r})",
        f"  tokenizer = AutoTokenizer.from_pretrained({str(final)!r})",
    ]


def _label(name: str, prefix: str) -> str:
    part = name.removeprefix(prefix)
    return "reward" if part == "mean" else part


def _names(rows: Rows, prefix: str) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row if name.startswith(prefix)))


def _change(rows: Rows, name: str) -> str:
    values = [row[name] for row in rows if row.get(name) is not None]
    if not values:
        return "no number"
    first, last = values[0], values[-1]
    return f"{first:.3f} -> {last:.3f} ({last - first:+.3f})"
