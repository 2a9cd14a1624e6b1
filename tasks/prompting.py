"""What the worded tasks share: the instruction on how to answer, and the reward parts that check it."""

from __future__ import annotations

from reasongym.tasks.base import Message, RewardPart

__all__ = ["FINAL_LINE_REWARDS", "MAX_SHOTS", "final_line_messages"]

# Short, and the example line last: a model of 135M parameters follows what it read last.
_INSTRUCTION = "Reason step by step. End with one last line of this form:\n#### <number>"

FINAL_LINE_REWARDS = (RewardPart(name="correct", verifier="gsm8k", weight=1.0),
                      RewardPart(name="format", verifier="gsm8k_format", weight=0.1))


_SHOWN = (
    ("A shelf holds 4 boxes of 6 candles. Mira lights 5 of the candles. How many candles are not lit?",
     "There are 4 * 6 = 24 candles.\nOf these 24 - 5 = 19 are not lit.\n#### 19"),
    ("A bus ticket costs $3. Omar buys 2 tickets and pays with $10. How much money does he get back?",
     "The tickets cost 2 * 3 = 6 dollars.\nHe gets back 10 - 6 = 4 dollars.\n#### 4"),
    ("Lena reads 12 pages on Monday and twice as many on Tuesday. How many pages does she read in all?",
     "On Tuesday she reads 12 * 2 = 24 pages.\nIn all she reads 12 + 24 = 36 pages.\n#### 36"),
    ("Five friends share 40 cherries equally. Noor eats 3 of hers. How many cherries has she left?",
     "Each friend gets 40 / 5 = 8 cherries.\nNoor has 8 - 3 = 5 left.\n#### 5"),
)
MAX_SHOTS = len(_SHOWN)


def final_line_messages(question: str, *, shots: int = 0) -> tuple[Message, ...]:
    """The question and how to end the answer, after `shots` problems of our own that are answered in that form.

    Each shown problem is a turn of the user and one of the assistant. A small model that never writes the last line by
    itself gets no reward to learn it from; with one shown it does so often enough.
    """
    shown = [turn for asked, answered in _SHOWN[:shots]
             for turn in (_ask(asked), Message(role="assistant", content=answered))]
    return (*shown, _ask(question))


def _ask(question: str) -> Message:
    return Message(role="user", content=f"{question.strip()}\n\n{_INSTRUCTION}")
