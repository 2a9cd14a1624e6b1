"""Templates of `reasongym new`, as text: @name@ is the name that was chosen, @Name@ the same as a class's name."""

from __future__ import annotations

from pathlib import Path

__all__ = ["template"]


def template(which: str) -> str:
    """which: verifier, test_verifier, task or test_task."""
    return Path(__file__).with_name(f"{which}.py.txt").read_text(encoding="utf-8")
