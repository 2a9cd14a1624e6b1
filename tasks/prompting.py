"""What the worded tasks share: the instruction on how to answer, and the reward parts that check it."""

from __future__ import annotations

from reasongym.tasks.base import Message, RewardPart

__all__ = ["FINAL_LINE_REWARDS", "final_line_messages"]

# Short, and the example line last: a model of 135M parameters follows what it read last.
_INSTRUCTION = "Reason step by step. End with one last line of this form:\n#### <number>"

FINAL_LINE_REWARDS = (RewardPart(name="correct", verifier="gsm8k", weight=1.0),
                      RewardPart(name="format", verifier="gsm8k_format", weight=0.1))


def final_line_messages(question: str) -> tuple[Message, ...]:
    """One user message: the question, then how to end the answer."""
    return ({"role": "user", "content": f"{question.strip()}\n\n{_INSTRUCTION}"},)
