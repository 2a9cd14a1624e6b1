"""What real ranks are given to train on, in tests."""

from __future__ import annotations

import torch

from reasongym.training.rows import Sample


def samples() -> list[Sample]:
    """Groups with shared prompts, of odd lengths, so that no part of a row is as long as another by itself."""
    generator = torch.Generator().manual_seed(3)

    def draw(n: int) -> tuple[int, ...]:
        return tuple(torch.randint(0, 49000, (n,), generator=generator).tolist())

    found = []
    for prompt_length, lengths in ((9, (5, 12, 3)), (4, (8, 1, 20)), (15, (6, 6, 2))):
        prompt = draw(prompt_length)
        found += [Sample(prompt_ids=prompt, token_ids=draw(n), mask=(True,) * n,
                         columns={"engine_logprobs": (-10.8,) * n, "advantages": ((-1.0) ** k * (k + 1) / 2,) * n})
                  for k, n in enumerate(lengths)]
    return found
