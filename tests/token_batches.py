"""Random micro-batches for the tests of token losses, and how one is hidden, padded or cut."""

from __future__ import annotations

import math

import torch
from torch import Tensor

POISON = (1e4, -1e4, math.inf, -math.inf, math.nan)
"""What may lie under a mask."""

TokenBatch = dict[str, Tensor]
"""The tensors that every policy loss takes, by the names of its arguments."""


def random_batch(seed: int, *, rows: int | None = None) -> TokenBatch:
    """In float64, up to 8 positions: masks with holes (tool turns), some rows empty, advantages that vary by token."""
    generator = torch.Generator().manual_seed(seed)
    width = int(torch.randint(1, 9, (), generator=generator))
    shape = (rows or int(torch.randint(1, 7, (), generator=generator)), width)

    def noise() -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    return {"logprobs_BT": -noise().abs(), "old_logprobs_BT": -noise().abs(), "advantages_BT": noise(),
            "weights_BT": noise().abs(), "mask_BT": torch.rand(shape, generator=generator) < 0.6}


def poisoned(batch: TokenBatch, poison: float) -> TokenBatch:
    """The same with `poison` in every tensor wherever the mask is off."""
    mask_BT = batch["mask_BT"]
    return {name: value if name == "mask_BT" else torch.where(mask_BT, value, poison) for name, value in batch.items()}


def padded(batch: TokenBatch, left: int, right: int) -> TokenBatch:
    """The same with masked positions before and after; 1.0 lies in them."""
    return {name: torch.nn.functional.pad(value, (left, right), value=name != "mask_BT")
            for name, value in batch.items()}


def one_token_rows(ratios: list[float], advantages: list[float], *, old_logprob: float = -1.0) -> TokenBatch:
    """One token a row, with the given ratios against the same old log-probability, and weights of 1."""
    ratio_BT = torch.tensor(ratios, dtype=torch.float64)[:, None]
    return {"logprobs_BT": ratio_BT.log() + old_logprob, "old_logprobs_BT": torch.full_like(ratio_BT, old_logprob),
            "advantages_BT": torch.tensor(advantages, dtype=torch.float64)[:, None],
            "weights_BT": torch.ones_like(ratio_BT), "mask_BT": torch.ones_like(ratio_BT, dtype=torch.bool)}
