"""GSM8K as lm-evaluation-harness asks it: its task `gsm8k`, version 3, prompt for prompt.

`Question: ...`, below it `Answer:`, and before that solved rows of the train split in the same form, with blank lines
between them and the calculator's marks `<<8*9=72>>` left in. Which rows are shown differs from row to row: the harness
draws them row after row from one random generator, so that row 7 has those of seven draws before it. The prompts
are the harness's where it asks all rows of the split or the first ones (`--limit`), not where it picks (`--samples`).
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from reasongym.errors import ConfigError, message
from reasongym.tasks.gsm8k_files import Row

__all__ = ["DEFAULT_SHOTS", "MOST_SHOTS", "draw_shown", "worded"]

DEFAULT_SHOTS = 5
MOST_SHOTS = 32
"""Of about 150 tokens each."""
SEED = 1234
"""The harness's own, of its option `--seed`."""


def draw_shown(pool: Sequence[Row], asked: Sequence[Row], count: int, *, of_the_pool: bool) -> list[tuple[Row, ...]]:
    """For each row that is asked, `count` rows of the pool. of_the_pool: the rows asked are the pool's own, and none is
    shown before itself. Raises ConfigError where the pool has too few rows."""
    if len(pool) < count + of_the_pool:
        raise ConfigError(message("task gsm8k: there are too few rows to show some", got=f"{len(pool)} rows in train",
                                  expected=f"at least {count + of_the_pool}",
                                  remedy="give data with a train split, or set shots=0"))
    generator = random.Random(SEED)
    if not of_the_pool:
        return [tuple(generator.sample(pool, count)) for _ in asked]
    drawn = []
    for own in asked:
        others = [row for row in generator.sample(pool, count + 1) if row != own][:count]
        # Only where the pool holds the row twice.
        drawn.append(tuple(others if len(others) == count else generator.sample(
            [row for row in pool if row != own], count)))
    return drawn


def worded(question: str, shown: Sequence[Row]) -> str:
    """One text, for the harness knows no turns here."""
    return "".join(f"{_ask(row.question)} {row.answer}\n\n" for row in shown) + _ask(question)


def _ask(question: str) -> str:
    return f"Question: {question}\nAnswer:"
