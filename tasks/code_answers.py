"""What the code tasks share: how an answer is asked for and written, and the reward part that tests it."""

from __future__ import annotations

from reasongym.tasks.base import Message, RewardPart

__all__ = ["CODE_REWARDS", "ask", "fenced"]

CODE_REWARDS = (RewardPart(name="correct", verifier="code", weight=1.0),)

_INSTRUCTION = "Reply with the whole {what} in one fenced block:\n```python\n...\n```"


def fenced(code: str) -> str:
    """The block that the prompts ask for. Its fence is longer than any in the code."""
    fence = "```"
    while fence in code:
        fence += "`"
    return f"{fence}python\n{code.rstrip()}\n{fence}"


def ask(problem: str, what: str) -> tuple[Message, ...]:
    """what: `function`, `program`."""
    content = f"{problem.strip()}\n\n{_INSTRUCTION.format(what=what)}"
    return (Message(role="user", content=content),)
