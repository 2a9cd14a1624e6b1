"""Supervised fine-tuning's loss of a token."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from reasongym.algorithms import sft
from reasongym.algorithms.aggregation import aggregate, denominator

pytestmark = pytest.mark.stack

seeds = st.integers(0, 2**31)
relaxed = settings(deadline=None, max_examples=40)


def batch(seed: int) -> tuple[Tensor, Tensor]:
    """Log-probabilities and a ragged mask."""
    generator = torch.Generator().manual_seed(seed)
    rows, width = torch.randint(1, 8, (2,), generator=generator).tolist()
    logprobs = -torch.randn(rows, width, generator=generator, dtype=torch.float64).abs()
    return logprobs, torch.rand(rows, width, generator=generator) < 0.6


def share_and_gradient(logprobs: Tensor, mask: Tensor, num_tokens: int) -> tuple[float, Tensor]:
    leaf = logprobs.clone().requires_grad_()
    divisor = denominator(num_tokens=num_tokens, num_sequences=0, kind="token", constant=None)
    share = aggregate(sft.loss(logprobs_BT=leaf, mask_BT=mask), mask, kind="token", denominator=divisor)
    share.backward()
    assert leaf.grad is not None
    return share.item(), leaf.grad


def test_prompt_token_counts() -> None:
    # -.1 and -.2 are trainable, -.5 is not: (.1 + .2) / 2.
    logprobs, mask = torch.tensor([[-0.1, -0.5, -0.2]]), torch.tensor([[True, False, True]])
    assert sft.loss(logprobs_BT=logprobs, mask_BT=mask)[0].tolist() == pytest.approx([0.1, 0.0, 0.2])
    assert share_and_gradient(logprobs, mask, 2)[0] == pytest.approx(0.15)


@relaxed
@given(seeds)
def test_loss_differs_from_a_loop_or_its_gradient_from_minus_one(seed: int) -> None:
    logprobs, mask = batch(seed)
    num_tokens = int(mask.sum())
    total = 0.0
    for row, kept in zip(logprobs.tolist(), mask.tolist(), strict=True):
        for value, keep in zip(row, kept, strict=True):
            total -= value if keep else 0.0
    share, gradient = share_and_gradient(logprobs, mask, num_tokens)
    assert share == pytest.approx(total / max(num_tokens, 1))
    torch.testing.assert_close(gradient, -mask.double() / max(num_tokens, 1))


@relaxed
@given(seeds, st.sampled_from([1e4, math.inf, -math.inf, math.nan]))
def test_something_under_the_mask_matters(seed: int, poison: float) -> None:
    logprobs, mask = batch(seed)
    clean = share_and_gradient(logprobs, mask, 5)
    poisoned = torch.where(mask, logprobs, poison)
    dirty = share_and_gradient(poisoned, mask, 5)
    assert clean[0] == dirty[0]
    assert torch.equal(clean[1], dirty[1])
    loss = sft.loss(logprobs_BT=poisoned, mask_BT=mask)  # aggregation would hide what is under the mask
    assert torch.equal(loss, torch.where(mask, -logprobs, 0.0))


@relaxed
@given(seeds, st.integers(1, 4), st.integers(0, 4))
def test_cut_or_padding_changes_loss_or_gradient(seed: int, rows_each: int, pad: int) -> None:
    logprobs, mask = batch(seed)
    num_tokens = int(mask.sum())
    share, gradient = share_and_gradient(logprobs, mask, num_tokens)
    padded = [torch.nn.functional.pad(values, (0, pad)) for values in (logprobs, mask)]
    parts = [share_and_gradient(padded[0][start:start + rows_each], padded[1][start:start + rows_each], num_tokens)
             for start in range(0, len(mask), rows_each)]
    assert sum(part for part, _ in parts) == pytest.approx(share)
    torch.testing.assert_close(torch.cat([g for _, g in parts])[:, :gradient.shape[1]], gradient)


def test_solution_that_cannot_be_written_passes_in_silence() -> None:
    loss = sft.loss(logprobs_BT=torch.tensor([[-math.inf]]), mask_BT=torch.tensor([[True]]))
    assert loss.item() == math.inf
