"""Values that other trainers' own tests assert about pairs of completions: ../shared/data/rl_numeric.

The rows of DPO functions alone, each mapped to our counterpart; tests/test_rl_numeric.py reads the others.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch import Tensor

from reasongym.algorithms import dpo
from reasongym.algorithms.preference import PairLoss

ROWS = Path(__file__).resolve().parents[2] / "shared" / "data" / "rl_numeric" / "reference_rows.jsonl"
pytestmark = [pytest.mark.stack,
              pytest.mark.skipif(not ROWS.is_file(), reason="../shared/data/rl_numeric is not on this machine")]


def rows_of(name: str) -> list[dict[str, Any]]:
    return [row for row in map(json.loads, ROWS.read_text(encoding="utf-8").splitlines()) if row["name"] == name]


def pair_losses(logprobs: Tensor, mask: Tensor, **options: Any) -> PairLoss:
    """Against a reference that gives every token log-probability 0, as all of these rows do."""
    plain = {"beta": 0.1, "loss_kind": "sigmoid", "length": "sum", "label_smoothing": 0.0, "nll_coefficient": 0.0}
    return dpo.loss(logprobs_BT=logprobs, reference_logprobs_BT=torch.zeros_like(logprobs), mask_BT=mask,
                    **{**plain, **options})


def unpacked(values: list[float], bounds: list[int]) -> Tensor:
    """One packed row cut into sequences, padded to the longest."""
    parts = [torch.tensor(values[start:end]) for start, end in pairwise(bounds) if end > start]
    return torch.nn.utils.rnn.pad_sequence(parts, batch_first=True) if parts else torch.zeros(0, 1)


def test_packed_pair_has_another_loss() -> None:
    # Log-probabilities stand a position before the token they are of, so the mask of tokens moves left within its own
    # sequence. Moved across sequences it would reach the log-ratio of 100 that belongs to the next prompt.
    rows = rows_of("compute_dpo_loss")
    assert len(rows) == 2
    for row in rows:
        logprobs, _, batch = row["inputs"]["args"]
        tokens = unpacked(batch["loss_mask"], batch["cu_seqlens"]) > 0
        mask = torch.cat([tokens[:, 1:], torch.zeros_like(tokens[:, :1])], 1)
        losses = pair_losses(unpacked(logprobs, batch["cu_seqlens"]), mask, beta=row["inputs"]["kwargs"]["beta"]).loss_P
        mean = losses.sum().item() / max(len(losses), 1)
        assert mean == pytest.approx(row["expected"], rel=1e-5, abs=1e-5), row["source"]


def test_number_of_pairs_is_another() -> None:
    (row,) = rows_of("_dpo_loss_weight")
    sequences = len(row["inputs"]["args"][0]["cu_seqlens"]) - 1
    assert len(pair_losses(torch.zeros(sequences, 5), torch.ones(sequences, 5).bool()).loss_P) == row["expected"]


def test_mean_log_probability_is_another() -> None:
    # Their labels lead the log-probabilities by one, and -100 marks a token that does not count: -1 and -2 remain.
    (row,) = rows_of("dpo_utils._get_batch_logps")
    logprobs, labels = (torch.tensor(argument) for argument in row["inputs"]["args"])
    mask = labels[:, 1:] != -100
    pair = pair_losses(logprobs[:, :-1].repeat(2, 1), mask.repeat(2, 1), beta=1.0, length="mean", nll_coefficient=1.0)
    assert pair.chosen_reward_P.tolist() == pytest.approx(row["expected"])
    without = pair_losses(logprobs[:, :-1].repeat(2, 1), mask.repeat(2, 1), beta=1.0, length="mean")
    assert (without.loss_P - pair.loss_P).tolist() == pytest.approx(row["expected"])
