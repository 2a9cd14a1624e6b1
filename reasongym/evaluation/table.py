"""The figures of an evaluation as a table for people, and as the record that results.json holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reasongym.evaluation.summary import Estimate, Summary

__all__ = ["as_record", "table"]


def table(summary: Summary, *, sampling_s: float) -> str:
    """Several lines: an estimate a row with its 95 % interval, then shares, length and speed."""
    rows = dict(_estimates(summary))
    width = max(map(len, [*rows, "truncated"]))
    shares = ", ".join(f"{name} {100 * share:.1f} %" for name, share in summary.shares.items())
    left_out = summary.answers - summary.reward.answers
    lines = [f"{'':<{width}}   mean   95 % interval", *(f"{name:<{width}}  {text}" for name, text in rows.items()), "",
             f"answers: {summary.answers} to {summary.prompts} prompts; {shares}",
             f"length: {summary.mean_tokens:.1f} tokens on average; "
             f"{summary.tokens / max(sampling_s, 1e-9):,.0f} tokens/s"]
    if left_out:
        lines.append(f"{left_out} answers that a verifier failed on are in none of the means")
    return "\n".join(lines)


def as_record(summary: Summary) -> dict[str, Any]:
    """Plain JSON values: means with intervals, counts of answers by status, shares."""
    return {
        "rewards": {name: estimate._asdict() for name, estimate in summary.parts.items()},
        "reward": summary.reward._asdict(),
        "pass_at_k": {str(k): estimate._asdict() for k, estimate in summary.pass_at_k.items()},
        "counts": _counts(summary),
        "shares": summary.shares,
        "tokens": {"sampled": summary.tokens, "mean": summary.mean_tokens},
    }


def _counts(summary: Summary) -> Mapping[str, int]:
    statuses = {f"status_{status}": count for status, count in summary.statuses.items()}
    return {"prompts": summary.prompts, "answers": summary.answers, "scored": summary.reward.answers,
            "truncated": summary.truncated, "timeout": summary.timeouts, **statuses}


def _estimates(summary: Summary) -> Iterator[tuple[str, str]]:
    for name, found in summary.parts.items():
        yield name, _shown(found)
    if len(summary.parts) > 1:
        yield "reward", _shown(summary.reward)
    for k, found in summary.pass_at_k.items():
        yield f"pass@{k}", _shown(found)


def _shown(found: Estimate) -> str:
    how = "Wilson" if found.method == "wilson" else "bootstrap by prompt"
    return f"{found.mean:.4f}  [{found.low:.4f}, {found.high:.4f}]  {how}, {found.prompts} prompts"
