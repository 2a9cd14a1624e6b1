"""Answers with the columns that PPO's critic learns from."""

from __future__ import annotations

import torch

from reasongym.training.rows import Sample


def samples(*, poison: float = 0.0) -> list[Sample]:
    """Three prompts of three answers; the second token of each is not trainable and holds `poison`."""
    generator = torch.Generator().manual_seed(3)

    def draw(n: int) -> tuple[int, ...]:
        return tuple(torch.randint(0, 49000, (n,), generator=generator).tolist())

    found = []
    for prompt_length, lengths in ((9, (5, 12, 3)), (4, (8, 1, 20)), (15, (6, 6, 2))):
        prompt = draw(prompt_length)
        for k, n in enumerate(lengths):
            mask = tuple(t != 1 for t in range(n))
            columns = {name: tuple(value if kept else poison for kept in mask)
                       for name, value in (("returns", 0.3 * k + 0.1), ("old_values", 0.05), ("advantages", 0.0))}
            found.append(Sample(prompt_ids=prompt, token_ids=draw(n), mask=mask, columns=columns))
    return found
