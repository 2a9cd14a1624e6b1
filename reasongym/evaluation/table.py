"""A result as a table for people."""

from __future__ import annotations

from reasongym.evaluation.record import Estimate, Result

__all__ = ["table"]


def table(result: Result) -> str:
    """Several lines: an estimate a row with its 95 % interval, then shares, length, speed and cost."""
    counts, tokens = result.counts, result.tokens
    width = max(map(len, [*result.metrics, "accuracy"]))
    shares = ", ".join(f"{name} {100 * share:.1f} %" for name, share in result.shares.items() if name != "missing")
    lines = [f"{'':<{width}}   mean   95 % interval",
             *(f"{name:<{width}}  {_shown(found)}" for name, found in result.metrics.items()), "",
             f"answers: {counts['answers']} to {counts['prompts']} prompts; {shares}"]
    if tokens.counted:
        speed = tokens.completion / max(result.seconds["sampling"], 1e-9)
        lines.append(f"length: {tokens.mean:.1f} tokens on average; {speed:,.0f} tokens/s")
    if result.cost:
        lines.append(f"cost: {result.cost.total:,.4f} for {tokens.prompt:,} tokens in, {tokens.completion:,} out")
    if counts["status_error"]:
        lines.append(f"{counts['status_error']} answers that a verifier failed on are in none of the means")
    if result.partial:
        lines.append(f"PARTIAL: {counts['missing']} of {counts['answers']} answers did not come and are in none of the "
                     "means")
    return "\n".join(lines)


def _shown(found: Estimate) -> str:
    how = "Wilson" if found.method == "wilson" else "bootstrap by prompt"
    return f"{found.mean:.4f}  [{found.low:.4f}, {found.high:.4f}]  {how}, {found.prompts} prompts"
